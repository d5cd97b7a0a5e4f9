// The functions that numba-cuda's own tests of linking call, under the name of the file that they look for. Numba calls functions with a
// pointer to the result first, and expects a status.
#include <stdint.h>

extern "C" __device__ int add_from_numba(uint32_t *result, uint32_t left, uint32_t right)
{
    *result = left + right;
    return 0;
}
