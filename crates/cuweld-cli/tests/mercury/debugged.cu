// A kernel that calls a function of another unit, and one that calls nothing.

__device__ int sum(int count);

__shared__ int values[4];

__global__ void caller(int *data)
{
    values[threadIdx.x & 3] = data[0];
    __syncthreads();
    int found = sum(values[1]);
    if (found > 3) {
        data[0] = found;
    } else {
        data[1] = found * 2;
    }
}

__global__ void alone(int *data)
{
    if (data[0] > 2) {
        data[1] = 3;
    }
    __threadfence();
}
