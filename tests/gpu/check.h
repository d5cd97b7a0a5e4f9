// For programs that check themselves: they print PASS or FAIL and end with a status that says the same.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// Ends the program when a call of the runtime fails.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            std::printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                 \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

// Ends the program when a launch, or what it started, fails.
#define CHECK_LAUNCH()                                                                                                 \
    do {                                                                                                               \
        CHECK(cudaGetLastError());                                                                                     \
        CHECK(cudaDeviceSynchronize());                                                                                \
    } while (0)

// Counts what is not as expected.
struct Verdict {
    int wrong = 0;

    template <class T> void expect(const char *what, T found, T expected) {
        if (!(found == expected)) {
            std::printf("%s: found %g, expected %g\n", what, double(found), double(expected));
            wrong += 1;
        }
    }

    int end() const {
        std::printf(wrong ? "FAIL\n" : "PASS\n");
        return wrong != 0;
    }
};

// Memory that both sides see, freed by the end of the program.
template <class T> T *host_visible(size_t count) {
    T *memory = nullptr;
    CHECK(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped));
    for (size_t index = 0; index < count; index += 1)
        memory[index] = T();
    return memory;
}
