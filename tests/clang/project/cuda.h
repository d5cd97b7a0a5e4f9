// What the sources need of CUDA. Headers of a toolkit that is newer than clang can not be used.
#pragma once
#include <stddef.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

extern "C" {
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, struct CUstream_st *stream);
int cudaMallocManaged(void **memory, size_t size, unsigned flags);
int cudaDeviceSynchronize(void);
}
