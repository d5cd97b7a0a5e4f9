// Code that several units share, so that each has a copy of it.
#pragma once
#include <cstdio>

extern __device__ int scale;
extern __constant__ int factors[8];
extern __shared__ int scratch[];

struct Shape {
    int size;
    __device__ virtual int area(int x) { return x * size; }
    __device__ virtual ~Shape() {}
};

struct Square : Shape {
    __device__ int area(int x) override { return Shape::area(x) * x; }
};

template <class Number> __device__ __noinline__ int choose(Number number)
{
    switch (int(number) & 7) {
    case 0: return 5;
    case 1: return 17;
    case 2: return int(number) * 3;
    case 3: return 99;
    case 4: return scale;
    case 5: return int(number) - 7;
    case 6: return 1234;
    default: return 8;
    }
}

__device__ inline int through_pointers(int x)
{
    int local[4] = {x, x + 1, x + 2, x + 3};
    int* first = local;
    int* chosen = &local[x & 3];
    Square square;
    square.size = *first;
    Shape* shape = &square;
    return shape->area(*chosen);
}

__device__ __noinline__ inline int shared_sum(int x)
{
    __shared__ int values[16];
    values[threadIdx.x & 15] = x;
    __syncthreads();
    return values[(threadIdx.x + 1) & 15] + scratch[x & 3];
}

__device__ inline int counted(int x)
{
    static __device__ int calls = 3;
    calls += x;
    if (calls == 0) printf("%d\n", factors[x & 7]);
    return calls;
}
