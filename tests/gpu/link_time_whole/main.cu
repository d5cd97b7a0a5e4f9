// Units that are optimised together at link time.
#include "../check.h"

extern __device__ float weigh(float value, int index);
extern __constant__ float weights[4];

__global__ void run(float *results) {
    results[threadIdx.x] = weigh(1.0f + threadIdx.x, threadIdx.x % 4);
}

int main() {
    float *results = host_visible<float>(32);
    float host_weights[4] = {1, 2, 4, 8};
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
    run<<<1, 32>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int index = 0; index < 32; index += 1)
        verdict.expect("weighed", results[index], (1.0f + index) * host_weights[index % 4]);
    return verdict.end();
}
