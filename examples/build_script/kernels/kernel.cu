extern __device__ float scale(float x);

__global__ void scale_all(float *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = scale(values[i]);
}

// Doubles numbers on the GPU; 0 if that worked.
extern "C" int double_all(float *values, int count) {
    float *device;
    if (cudaMalloc(&device, count * sizeof *values)) return 1;
    cudaMemcpy(device, values, count * sizeof *values, cudaMemcpyHostToDevice);
    scale_all<<<(count + 255) / 256, 256>>>(device, count);
    int failed = cudaMemcpy(values, device, count * sizeof *values, cudaMemcpyDeviceToHost) != cudaSuccess;
    cudaFree(device);
    return failed;
}
