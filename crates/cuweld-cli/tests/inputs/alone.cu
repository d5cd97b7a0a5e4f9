// Kernels that nobody launches.
__global__ void alone(int *out) { *out = 5; }
__global__ void also_alone(int *out) { *out = 6; }
