// One half of a program: a kernel that calls a function of the other half.
extern "C" __device__ int step(int value);

__device__ int offsets[4] = {10, 20, 30, 40};

extern "C" __global__ void apply(int *values, int count)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count)
        values[index] = step(values[index]) + offsets[index % 4];
}
