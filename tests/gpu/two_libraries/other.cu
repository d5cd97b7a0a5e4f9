// What this library has beside the unit that both have.
extern __device__ int doubled(int x);

static __global__ void kernel(int *out) { *out = doubled(*out); }

// Doubles 2 on the GPU; what came out, or a negative number.
extern "C" int second_library() {
    int value = 2, *device;
    if (cudaMalloc(&device, sizeof value) != cudaSuccess) return -1;
    cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice);
    kernel<<<1, 1>>>(device);
    if (cudaGetLastError() != cudaSuccess) return -2;
    return cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess ? value : -3;
}
