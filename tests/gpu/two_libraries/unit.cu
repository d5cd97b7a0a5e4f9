// A unit of a static library that two shared libraries contain.
__device__ int doubled(int x) { return 2 * x; }
