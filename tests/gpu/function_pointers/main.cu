// Pointers to functions of another unit: in a table with an initialiser, and handed out by a function.
#include "../check.h"
#include "operations.h"

__device__ int own(int a, int b) { return a * 10 + b; }

__device__ Operation table[] = {add, subtract, own};

__global__ void run(int *results, int which) {
    results[0] = table[0](7, 5);
    results[1] = table[1](7, 5);
    results[2] = table[which](7, 5);
    results[3] = choose(which)(7, 5);
    results[4] = apply(own, 3, 4);
}

int main() {
    int *results = host_visible<int>(5);
    run<<<1, 1>>>(results, 2);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("add", results[0], 12);
    verdict.expect("subtract", results[1], 2);
    verdict.expect("own", results[2], 75);
    verdict.expect("chosen", results[3], 35);
    verdict.expect("applied", results[4], 34);
    return verdict.end();
}
