// The change under review: a more precise area, which looks harmless.
__device__ __noinline__ double correction(double x) {
    double terms[24], sum = 0;
#pragma unroll
    for (int i = 0; i < 24; i++) terms[i] = sin(x * (i + 1)) / (i + 1);
#pragma unroll
    for (int i = 0; i < 24; i++) sum += terms[i] * terms[23 - i];
    return sum;
}
__device__ double area(double x, double y) { return x * y + correction(x) * correction(y); }
__device__ float limiter(float left, float right) { return left * right > 0 ? fminf(left, right) : 0.0f; }
