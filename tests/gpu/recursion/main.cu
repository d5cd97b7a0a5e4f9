// Functions of two units that call each other: the depth of the stack is not known to the linker.
#include "../check.h"

__device__ unsigned odd(unsigned number, unsigned *steps);

__device__ __noinline__ unsigned even(unsigned number, unsigned *steps) {
    *steps += 1;
    return number == 0 ? 1 : odd(number - 1, steps);
}

extern __device__ unsigned long long fibonacci(unsigned number);

__global__ void run(unsigned long long *results) {
    unsigned steps = 0;
    results[0] = even(threadIdx.x + 40, &steps);
    results[1] = steps;
    results[2] = fibonacci(16);
}

int main() {
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10));
    auto *results = host_visible<unsigned long long>(3);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("40 is even", results[0], 1ull);
    verdict.expect("steps", results[1], 21ull);
    verdict.expect("fibonacci(16)", results[2], 987ull);
    return verdict.end();
}
