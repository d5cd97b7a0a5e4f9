// Library functions for doubles, called in two units: their slow paths are functions of their own.
#include "../check.h"
#include <cmath>

extern __device__ double far_away(double x);

__global__ void run(double *results, double x) {
    results[0] = sin(x) * sin(x) + cos(x) * cos(x);
    results[1] = far_away(x);
    results[2] = exp(log(x));
}

int main() {
    double *results = host_visible<double>(3);
    run<<<1, 1>>>(results, 1e9);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("sine and cosine", std::fabs(results[0] - 1.0) < 1e-12, true);
    verdict.expect("in the other unit", std::fabs(results[1] - 1e9 / 3.0) < 1e-3, true);
    verdict.expect("exponential", std::fabs(results[2] / 1e9 - 1.0) < 1e-9, true);
    return verdict.end();
}
