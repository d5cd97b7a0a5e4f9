// Constant memory: defined in one unit, read in another, set by the host; literals and tables of functions.
#include "../check.h"

extern __constant__ int coefficients[4];
__constant__ float scale = 0.5f;

extern __device__ int polynomial(int x);
extern __device__ double with_literals(double x);
extern __device__ int by_switch(int which);

__global__ void run(double *results) {
    results[0] = coefficients[3];
    results[1] = polynomial(2);
    results[2] = scale * coefficients[0];
    results[3] = with_literals(2.0);
    results[4] = by_switch(threadIdx.x + 3);
}

int main() {
    double *results = host_visible<double>(5);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("initial", results[0], 4.0);
    verdict.expect("polynomial", results[1], 1.0 + 2 * 2 + 3 * 4 + 4 * 8);
    verdict.expect("scaled", results[2], 0.5);
    verdict.expect("literals", results[3], 2.0 * 1.2345678901234567 + 9.8765432109876543);
    verdict.expect("switch", results[4], 1009.0);
    int fresh[4] = {10, 20, 30, 40};
    float fresh_scale = 3.0f;
    CHECK(cudaMemcpyToSymbol(coefficients, fresh, sizeof fresh));
    CHECK(cudaMemcpyToSymbol(scale, &fresh_scale, sizeof fresh_scale));
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    verdict.expect("set", results[0], 40.0);
    verdict.expect("polynomial of set", results[1], 10.0 + 20 * 2 + 30 * 4 + 40 * 8);
    verdict.expect("scaled by set", results[2], 30.0);
    return verdict.end();
}
