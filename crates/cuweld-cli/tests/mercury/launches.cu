// Kernels that launch kernels, and groups of blocks and of grids: the device runtime library takes part in the link.

#include <cooperative_groups.h>

namespace groups = cooperative_groups;

__device__ int counter;

__global__ void child(int count) { atomicAdd(&counter, count); }

__global__ void parent(int count)
{
    if (threadIdx.x == 0) {
        child<<<count, 32>>>(count);
    }
    __syncthreads();
}

__global__ void last(int count) { child<<<1, 32, 0, cudaStreamTailLaunch>>>(count); }

__global__ void whole_grid(int *values)
{
    groups::grid_group grid = groups::this_grid();
    atomicAdd(values, 1);
    grid.sync();
    if (grid.thread_rank() == 0) {
        values[1] = values[0];
    }
}

__global__ void cluster(int *values)
{
    groups::cluster_group blocks = groups::this_cluster();
    blocks.sync();
    values[blocks.block_rank()] = 1;
}

int main()
{
    parent<<<1, 1>>>(3);
    last<<<1, 1>>>(3);
    whole_grid<<<1, 1>>>(nullptr);
    cluster<<<1, 1>>>(nullptr);
    return 0;
}
