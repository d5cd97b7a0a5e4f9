// Shared memory: a kernel's own, that of functions in another unit, and that whose size the launch decides.
#include "../check.h"

extern __device__ int sum_in_block(int value);
extern __device__ int fill_dynamic(int offset, int value);
extern __shared__ int dynamic[];

__global__ void all_kinds(int *results) {
    __shared__ int own[64];
    own[threadIdx.x] = threadIdx.x * 2;
    int sum = sum_in_block(threadIdx.x + 1);
    fill_dynamic(threadIdx.x, threadIdx.x * 3);
    __syncthreads();
    if (threadIdx.x == 0) {
        results[0] = sum;
        int total = 0, last = 0;
        for (int index = 0; index < 64; index += 1) {
            total += own[index];
            last += dynamic[index];
        }
        results[1] = total;
        results[2] = last;
    }
}

__global__ void only_function(int *results) {
    int sum = sum_in_block(1);
    if (threadIdx.x == 0)
        results[3] = sum;
}

__global__ void only_dynamic(int *results) {
    fill_dynamic(threadIdx.x, 5);
    __syncthreads();
    if (threadIdx.x == 0)
        results[4] = dynamic[63] + dynamic[0];
}

int main() {
    int *results = host_visible<int>(5);
    all_kinds<<<1, 64, 64 * sizeof(int)>>>(results);
    CHECK_LAUNCH();
    only_function<<<1, 64>>>(results);
    CHECK_LAUNCH();
    only_dynamic<<<1, 64, 64 * sizeof(int)>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("sum", results[0], 64 * 65 / 2);
    verdict.expect("own", results[1], 63 * 64);
    verdict.expect("dynamic", results[2], 3 * 63 * 64 / 2);
    verdict.expect("function alone", results[3], 64);
    verdict.expect("dynamic alone", results[4], 10);
    return verdict.end();
}
