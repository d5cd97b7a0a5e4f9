__managed__ int shared_by_all[4] = {1, 2, 3, 4};

__device__ __noinline__ void increase() {
    shared_by_all[0] += 1;
    shared_by_all[3] += 1;
}
