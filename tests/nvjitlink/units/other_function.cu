// A second definition of the same name, which can not be in one program with the first.
extern "C" __device__ int step(int value)
{
    return 5 * value;
}
