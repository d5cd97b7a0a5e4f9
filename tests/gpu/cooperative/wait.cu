#include <cooperative_groups.h>

__device__ __noinline__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }
