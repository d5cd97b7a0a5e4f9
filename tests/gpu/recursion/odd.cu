__device__ unsigned even(unsigned number, unsigned *steps);

__device__ __noinline__ unsigned odd(unsigned number, unsigned *steps) { return number == 0 ? 0 : even(number - 1, steps); }

__device__ __noinline__ unsigned long long fibonacci(unsigned number) {
    return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
}
