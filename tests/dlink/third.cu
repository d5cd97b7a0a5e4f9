// Only device code refers to this unit.
__device__ int thrice(int x) { return 3 * x; }
