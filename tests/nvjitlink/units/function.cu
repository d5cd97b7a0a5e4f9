// The other half.
extern "C" __device__ int step(int value)
{
    return 3 * value + 1;
}
