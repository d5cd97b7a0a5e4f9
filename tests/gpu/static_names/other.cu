static __device__ int state = 2;
static __device__ __noinline__ int step(int by) { return state += by; }
static __global__ void run(int *results) { results[0] = step(100); }

int launch_elsewhere(int *results) {
    run<<<1, 1>>>(results);
    return cudaDeviceSynchronize();
}
