extern __shared__ int dynamic[];

__device__ __noinline__ int sum_in_block(int value) {
    __shared__ int partial[64];
    __shared__ double unrelated;
    partial[threadIdx.x] = value;
    if (threadIdx.x == 0)
        unrelated = 0.5;
    __syncthreads();
    int sum = 0;
    for (int index = 0; index < 64; index += 1)
        sum += partial[index];
    __syncthreads();
    return sum + int(unrelated);
}

__device__ __noinline__ int fill_dynamic(int offset, int value) {
    dynamic[offset] = value;
    return value;
}
