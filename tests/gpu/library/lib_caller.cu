extern __device__ int twice(int value);

__device__ __noinline__ int calls_another_member(int value) { return twice(value) + 1; }
