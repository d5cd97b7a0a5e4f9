// printf in a kernel and in a function of another unit. The output is caught and compared.
#include "../check.h"
#include <cstring>
#include <unistd.h>

extern __device__ int say(int number);

__global__ void run(int *results) {
    printf("kernel %d %s\n", 1, "text");
    results[0] = say(2);
}

int main() {
    int *results = host_visible<int>(1);
    std::FILE *caught = std::tmpfile();
    std::fflush(stdout);
    int terminal = dup(1);
    dup2(fileno(caught), 1);
    run<<<1, 1>>>(results);
    cudaError_t outcome = cudaDeviceSynchronize();
    std::fflush(stdout);
    dup2(terminal, 1);
    CHECK(outcome);
    char text[256] = {};
    std::rewind(caught);
    size_t length = std::fread(text, 1, sizeof text - 1, caught);
    Verdict verdict;
    verdict.expect("length", length, std::strlen("kernel 1 text\nfunction 2 0.25\n"));
    verdict.expect("same text", std::strcmp(text, "kernel 1 text\nfunction 2 0.25\n"), 0);
    verdict.expect("arguments", results[0], 2);
    return verdict.end();
}
