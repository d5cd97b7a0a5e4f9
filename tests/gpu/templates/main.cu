// Templates and inline functions that both units make: one copy stays, and its static variable is one.
#include "../check.h"
#include "counter.h"

extern __device__ int count_elsewhere();
extern int launch_elsewhere(int *results);

__global__ void run(int *results) {
    results[0] = count<int>();
    results[1] = count<int>();
    results[2] = count_elsewhere();
    results[3] = count<long>();
    results[4] = largest(3, 9);
}

int main() {
    int *results = host_visible<int>(7);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    fill<float><<<1, 1>>>(results + 5);
    CHECK_LAUNCH();
    CHECK(cudaError_t(launch_elsewhere(results + 6)));
    Verdict verdict;
    verdict.expect("first", results[0], 1);
    verdict.expect("second", results[1], 2);
    verdict.expect("in the other unit", results[2], 3);
    verdict.expect("of another type", results[3], 1);
    verdict.expect("largest", results[4], 9);
    verdict.expect("kernel template", results[5], 4);
    verdict.expect("the same in the other unit", results[6], 4);
    return verdict.end();
}
