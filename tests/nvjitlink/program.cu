// A program with host code, which launches one of two kernels. Unlike nvlink, libnvJitLink does not look at that, and keeps both.
__device__ int table[4];

__device__ __noinline__ int look_up(int index)
{
    return table[index & 3];
}

__global__ void used(int *value)
{
    *value = look_up(*value);
}

__global__ void unused(int *value)
{
    *value = 7;
}

int main()
{
    used<<<1, 1>>>(nullptr);
    return 0;
}
