#include "shapes.cuh"

__device__ int scale = 4;
__constant__ int factors[8] = {1, 2, 3};
extern __device__ int elsewhere(int);

__global__ void used(int* data)
{
    __shared__ float own[32];
    own[threadIdx.x & 31] = data[0];
    __syncthreads();
    data[1] = choose(data[2]) + through_pointers(data[3]) + elsewhere(data[4]) + int(own[3]);
}

__global__ void unused(int* data)
{
    __shared__ int lost[8];
    lost[threadIdx.x & 7] = data[0];
    __syncthreads();
    data[1] = shared_sum(lost[3]) + counted(data[2]);
}

void launch() { used<<<1, 1>>>(nullptr); }
