__device__ __noinline__ int twice(int value) { return 2 * value; }
