#pragma once
using Operation = int (*)(int, int);
__device__ int add(int a, int b);
__device__ int subtract(int a, int b);
__device__ Operation choose(int which);
__device__ int apply(Operation operation, int a, int b);
