#include "shapes.cuh"

__constant__ int small[4] = {1, 2, 3, 4};

__device__ int elsewhere(int x) { return choose(float(x)) + choose(x) + through_pointers(x) + small[x & 3]; }

__global__ void used_as_well(int* data)
{
    scratch[threadIdx.x] = data[0];
    __syncthreads();
    data[1] = shared_sum(data[2]) + counted(data[3]);
}

void launch_as_well() { used_as_well<<<1, 1, 64>>>(nullptr); }
