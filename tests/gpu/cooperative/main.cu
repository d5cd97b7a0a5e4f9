// A grid that waits for all of itself; the waiting is done by a function of another unit.
#include "../check.h"

extern __device__ void wait_for_grid();

__global__ void run(int *data, int *results, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 10; round += 1) {
        int other = data[(index + blockDim.x) % count];
        wait_for_grid();
        data[index] = other + 1;
        wait_for_grid();
    }
    results[index] = data[index];
}

int main() {
    const int blocks = 8, threads = 32;
    int count = blocks * threads, *data = nullptr;
    int *results = host_visible<int>(count);
    CHECK(cudaMalloc(&data, count * sizeof(int)));
    CHECK(cudaMemset(data, 0, count * sizeof(int)));
    void *arguments[] = {&data, &results, &count};
    CHECK(cudaLaunchCooperativeKernel((void *)run, dim3(blocks), dim3(threads), arguments, 0, nullptr));
    CHECK_LAUNCH();
    Verdict verdict;
    for (int index = 0; index < count; index += 1)
        verdict.expect("rounds", results[index], 10);
    return verdict.end();
}
