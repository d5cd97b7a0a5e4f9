extern __device__ int twice(int);
__device__ int total;
__global__ void first(int *out) { *out = twice(*out) + total; }
void launch_second();
extern "C" void launch_first() {
    first<<<1, 1>>>(nullptr);
#ifndef ALONE
    launch_second();
#endif
}
