// Kernels, one of which host code does not launch, and calls into another file.
extern __device__ int helper(int);
__global__ void launched(int *out) { *out = helper(*out); }
__global__ void not_launched(int *out) { *out = 3; }
void launch(int *out) { launched<<<1, 1>>>(out); }
