struct Entry {
    const char *name;
    int *variable;
    int (*function)(int);
};

__device__ int target = 77;
__device__ int triple(int value) { return 3 * value; }
__device__ Entry elsewhere = {"elsewhere", &target, triple};
