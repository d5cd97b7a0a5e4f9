// Units that are optimised together at link time; one of them brings a kernel launched from the device, so the link is a partial one.
#include "../check.h"

extern __device__ float weigh(float value, int index);
extern __constant__ float weights[4];
extern __global__ void child(int *results);
__global__ void run(float *results, int *counts) {
    results[threadIdx.x] = weigh(1.0f + threadIdx.x, threadIdx.x % 4);
    if (threadIdx.x == 0)
        child<<<1, 4>>>(counts);
}

int main() {
    float *results = host_visible<float>(32);
    int *counts = host_visible<int>(4);
    float host_weights[4] = {1, 2, 4, 8};
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
    run<<<1, 32>>>(results, counts);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int index = 0; index < 32; index += 1)
        verdict.expect("weighed", results[index], (1.0f + index) * host_weights[index % 4]);
    for (int index = 0; index < 4; index += 1)
        verdict.expect("child", counts[index], index + 7);
    return verdict.end();
}
