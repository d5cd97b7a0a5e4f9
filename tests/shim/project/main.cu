__device__ int twice(int x);

__global__ void kernel(int *result) { *result = twice(21); }

int main()
{
    kernel<<<1, 1>>>(nullptr);
    return cudaDeviceSynchronize() != cudaSuccess;
}
