// Device functions from a static library, of which only some are needed.
#include "../check.h"

extern __device__ int twice(int value);
extern __device__ int calls_another_member(int value);

__global__ void run(int *results) {
    results[0] = twice(21);
    results[1] = calls_another_member(10);
}

int main() {
    int *results = host_visible<int>(2);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("twice", results[0], 42);
    verdict.expect("two members", results[1], 21);
    return verdict.end();
}
