// A program that shares memory with those on other GPUs: the library was built by another compiler than the program.

#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void ring(int *target)
{
    int self = nvshmem_my_pe();
    nvshmem_int_p(target, self, (self + 1) % nvshmem_n_pes());
    nvshmem_quiet();
    nvshmem_barrier_all();
}

__global__ void put(float *target, const float *source, int count)
{
    nvshmemx_float_put_block(target, source, count, 0);
    nvshmem_fence();
}

int main()
{
    ring<<<1, 1>>>(nullptr);
    put<<<1, 1>>>(nullptr, nullptr, 1);
    return 0;
}
