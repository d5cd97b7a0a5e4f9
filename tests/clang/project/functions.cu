#include "cuda.h"

__device__ int factor = 3;

__device__ int scale(int x) {
    return factor * x;
}
