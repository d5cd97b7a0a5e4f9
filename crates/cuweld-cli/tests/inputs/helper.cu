__device__ int helper(int value) { return value * 3; }
