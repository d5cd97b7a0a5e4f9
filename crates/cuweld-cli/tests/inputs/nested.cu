// A kernel that launches another, which takes the device runtime library.
extern __device__ int helper(int);
__device__ int counter = 3;
__global__ void child(int *out) { *out = helper(*out) + counter; }
__global__ void parent(int *out) { child<<<1, 1>>>(out); }
void launch_parent(int *out) {
    parent<<<1, 1>>>(out);
    cudaMemcpyFromSymbol(out, counter, sizeof(int));
}
