// Asks the toolkit's occupancy calculator. Each line of the input is a question: a compute capability (major, minor), what one of its
// multiprocessors holds of threads, registers and shared memory, and what is reserved of the latter for each block and what a block may
// have of it. Each line of the answer is a bound: registers of a thread, shared memory and threads of a block, and how many blocks fit.
#include <cstddef>
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
    const int sizes[] = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
    const size_t memories[] = {0, 1, 1024, 4096, 9000, 16384, 33000, 48 << 10};
    int major, minor, threads, registers;
    size_t shared, reserved, most;
    while (std::scanf("%d %d %d %d %zu %zu %zu", &major, &minor, &threads, &registers, &shared, &reserved, &most) == 7) {
        cudaOccDeviceProp device;
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = threads;
        device.regsPerBlock = device.regsPerMultiprocessor = registers;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 << 10;
        device.sharedMemPerMultiprocessor = shared;
        device.sharedMemPerBlockOptin = most;
        device.reservedSharedMemPerBlock = reserved;
        device.numSms = 1;
        cudaOccDeviceState state;
        cudaOccFuncAttributes function;
        function.maxThreadsPerBlock = 1024;
        function.partitionedGCConfig = PARTITIONED_GC_OFF;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_DEFAULT;
        for (function.numRegs = 1; function.numRegs <= 255; function.numRegs++)
            for (size_t memory : memories)
                for (int size : sizes) {
                    function.sharedSizeBytes = memory;
                    cudaOccResult result;
                    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, size, 0)) return 1;
                    std::printf("%d %zu %d %d\n", function.numRegs, memory, size, result.activeBlocksPerMultiprocessor);
                }
    }
}
