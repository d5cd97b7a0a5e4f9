// A kernel that launches a kernel of another unit: the device runtime library takes part in the link.
#include "../check.h"

extern __global__ void child(int *results, int first);

__global__ void parent(int *results) {
    if (threadIdx.x == 0)
        child<<<2, 32>>>(results, 100);
}

int main() {
    int *results = host_visible<int>(64);
    parent<<<1, 32>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int index = 0; index < 64; index += 1)
        verdict.expect("child", results[index], 100 + index);
    return verdict.end();
}
