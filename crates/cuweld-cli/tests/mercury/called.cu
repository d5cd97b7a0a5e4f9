__device__ int term(int index) { return index * 7 + 1; }

__device__ int sum(int count)
{
    int result = 0;
    for (int index = 0; index < count; index++) {
        result += term(index);
    }
    return result;
}

__constant__ int table[4] = {1, 2, 3, 4};

__global__ void lookup(int *data) { data[0] = table[data[1] & 3]; }
