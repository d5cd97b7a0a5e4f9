extern "C" __global__ void first(int *out) { *out = 1; }
