// Global variables whose initial values are addresses, in this unit and in another.
#include "../check.h"

struct Entry {
    const char *name;
    int *variable;
    int (*function)(int);
};

extern __device__ int target;
extern __device__ Entry elsewhere;
extern __device__ int triple(int value);
__device__ int array[8] = {0, 1, 2, 3, 4, 5, 6, 7};
__device__ int *middle = array + 4;
__device__ int **pointer_to_pointer = &middle;
__device__ Entry here = {"here", &target, triple};

__global__ void run(int *results) {
    results[0] = **pointer_to_pointer;
    results[1] = middle[-1];
    results[2] = *here.variable;
    results[3] = here.function(5);
    results[4] = here.name[0];
    results[5] = *elsewhere.variable + elsewhere.function(1);
    results[6] = elsewhere.name[2];
}

int main() {
    int *results = host_visible<int>(7);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("through two pointers", results[0], 4);
    verdict.expect("before the middle", results[1], 3);
    verdict.expect("variable of the other unit", results[2], 77);
    verdict.expect("function of the other unit", results[3], 15);
    verdict.expect("text", results[4], int('h'));
    verdict.expect("other unit's entry", results[5], 77 + 3);
    verdict.expect("other unit's text", results[6], int('s'));
    return verdict.end();
}
