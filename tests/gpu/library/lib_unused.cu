extern __device__ int twice(int value);

__device__ int never_needed(int value) { return twice(value) - 1; }

__global__ void never_launched(int *data) { *data = never_needed(*data); }
