// Calls a function of another unit on the GPU, and says whether the result is right.
#include "cuda.h"
#include <stdio.h>

extern __device__ int scale(int x);

__global__ void kernel(int *data) {
    *data = scale(*data);
}

int main() {
    int *data;
    if (cudaMallocManaged(reinterpret_cast<void **>(&data), sizeof *data, 1) != 0) {
        puts("there is no GPU");
        return 2;
    }
    *data = 14;
    void *arguments[] = {&data};
    int status = cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(), dim3(), arguments, 0, nullptr);
    if (status != 0 || cudaDeviceSynchronize() != 0 || *data != 42) {
        printf("FAIL: status %d, %d is not 42\n", status, *data);
        return 1;
    }
    puts("PASS");
}
