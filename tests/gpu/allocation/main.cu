// malloc and free on the device, in two units.
#include "../check.h"

struct Node {
    Node *next;
    int value;
};

extern __device__ Node *push(Node *list, int value);
extern __device__ int release(Node *list);

__global__ void run(int *results) {
    Node *list = nullptr;
    for (int index = 0; index < 20; index += 1)
        list = push(list, index + threadIdx.x);
    results[threadIdx.x] = release(list);
    void *memory = malloc(1000);
    if (memory == nullptr)
        results[threadIdx.x] = -1;
    free(memory);
}

int main() {
    int *results = host_visible<int>(64);
    run<<<1, 64>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int thread = 0; thread < 64; thread += 1)
        verdict.expect("sum", results[thread], 19 * 20 / 2 + 20 * thread);
    return verdict.end();
}
