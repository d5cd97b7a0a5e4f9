// Managed variables of two units, used by host and device.
#include "../check.h"

extern __managed__ int shared_by_all[4];
__managed__ int own = 5;
extern __device__ void increase();

__global__ void run() {
    increase();
    own += shared_by_all[0];
}

int main() {
    shared_by_all[0] = 100;
    run<<<1, 1>>>();
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("element 0", shared_by_all[0], 101);
    verdict.expect("element 3", shared_by_all[3], 5);
    verdict.expect("own", own, 106);
    return verdict.end();
}
