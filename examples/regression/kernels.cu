// Kernels of a small simulation. What they call is in other files, so that only the linker knows what each of them needs in the end.
template <typename T> struct Cell { T density, energy, momentum[3]; };

__device__ double area(double x, double y);
__device__ float limiter(float left, float right);

template <typename T, int N> __global__ void reduce(const T* in, T* out, int n) {
    __shared__ T part[N];
    T sum = 0;
    for (int i = blockIdx.x * N + threadIdx.x; i < n; i += gridDim.x * N) sum += in[i];
    part[threadIdx.x] = sum;
    for (int step = N / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

template <typename T, int N> __global__ void multiply(const T* a, const T* b, T* c, int n) {
    __shared__ T left[N][N + 1], right[N][N + 1];
    T sum[4] = {};
    for (int k = 0; k < n; k += N) {
        left[threadIdx.y][threadIdx.x] = a[(blockIdx.y * N + threadIdx.y) * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + blockIdx.x * N + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < N; i++) sum[i % 4] += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[(blockIdx.y * N + threadIdx.y) * n + blockIdx.x * N + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}

template <typename T, int Order> __global__ void stencil(const T* in, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + Order;
    if (i >= n - Order) return;
    T value = in[i];
#pragma unroll
    for (int k = 1; k <= Order; k++) value += (in[i - k] + in[i + k]) / T(k * k) * T(k % 2 ? -1 : 1);
    out[i] = value;
}

template <typename T> __global__ void advance(Cell<T>* cells, T dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Cell<T> cell = cells[i];
    cell.energy += dt * T(area(cell.density, cell.momentum[0]));
    cell.momentum[1] += limiter(cell.momentum[0], cell.momentum[2]);
    cells[i] = cell;
}

#define REDUCE(T) template __global__ void reduce<T, 128>(const T*, T*, int); template __global__ void reduce<T, 256>(const T*, T*, int); template __global__ void reduce<T, 512>(const T*, T*, int);
#define MULTIPLY(T) template __global__ void multiply<T, 8>(const T*, const T*, T*, int); template __global__ void multiply<T, 16>(const T*, const T*, T*, int); template __global__ void multiply<T, 32>(const T*, const T*, T*, int);
#define STENCIL(T) template __global__ void stencil<T, 1>(const T*, T*, int); template __global__ void stencil<T, 2>(const T*, T*, int); template __global__ void stencil<T, 4>(const T*, T*, int); template __global__ void stencil<T, 8>(const T*, T*, int);
#define ALL(T) REDUCE(T) MULTIPLY(T) STENCIL(T) template __global__ void advance<T>(Cell<T>*, T, int);
ALL(float) ALL(double) REDUCE(int) REDUCE(long long) MULTIPLY(int)
