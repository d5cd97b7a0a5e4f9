// A kernel that calls a device function of another unit and reads its constant.
extern __constant__ float factor;
extern __device__ float scale(float value);

__global__ void scale_all(float *values, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count)
        values[index] = scale(values[index]) + factor;
}
