__constant__ int coefficients[4] = {1, 2, 3, 4};

__device__ __noinline__ int polynomial(int x) {
    int value = 0;
    for (int index = 3; index >= 0; index -= 1)
        value = value * x + coefficients[index];
    return value;
}

__device__ __noinline__ double with_literals(double x) { return __dadd_rn(__dmul_rn(x, 1.2345678901234567), 9.8765432109876543); }

__device__ __noinline__ int by_switch(int which) {
    switch (which) {
    case 0: return 1001;
    case 1: return which * 17 + 3;
    case 2: return which ^ 0x55;
    case 3: return 1009;
    case 4: return clock() != 0 ? 5 : 6;
    case 5: return which << 7;
    case 6: return -which;
    default: return 0;
    }
}
