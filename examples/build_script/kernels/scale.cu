__device__ float scale(float x) { return 2 * x; }
