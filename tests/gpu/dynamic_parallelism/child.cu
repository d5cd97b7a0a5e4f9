// The kernel that is launched from the device.
__device__ int add(int a, int b) { return a + b; }

__global__ void child(int *results, int first) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    results[index] = add(first, index);
}
