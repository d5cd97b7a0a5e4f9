// Both units have a static kernel, a static function and a static variable of the same names.
#include "../check.h"

extern int launch_elsewhere(int *results);

static __device__ int state = 1;
static __device__ __noinline__ int step(int by) { return state += by; }
static __global__ void run(int *results) { results[0] = step(10); }

int main() {
    int *results = host_visible<int>(2);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    CHECK(cudaError_t(launch_elsewhere(results + 1)));
    Verdict verdict;
    verdict.expect("this unit", results[0], 11);
    verdict.expect("the other unit", results[1], 102);
    return verdict.end();
}
