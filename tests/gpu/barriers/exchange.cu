__device__ __noinline__ int exchange(int *memory, int group, int value) {
    int place = threadIdx.x % 64;
    memory[group * 64 + place] = value;
    asm volatile("bar.sync %0, 64;" ::"r"(group + 3) : "memory");
    return memory[group * 64 + 63 - place];
}
