// A block of two groups that wait for themselves by named barriers, in a function of another unit.
#include "../check.h"

extern __device__ int exchange(int *memory, int group, int value);

__global__ void run(int *results) {
    __shared__ int memory[128];
    int group = threadIdx.x / 64;
    results[threadIdx.x] = exchange(memory, group, threadIdx.x);
}

int main() {
    int *results = host_visible<int>(128);
    run<<<1, 128>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int thread = 0; thread < 128; thread += 1)
        verdict.expect("value of the other end", results[thread], thread / 64 * 64 + 63 - thread % 64);
    return verdict.end();
}
