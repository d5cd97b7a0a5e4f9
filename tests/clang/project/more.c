// What the program calls of the runtime beyond what the stand-in of tests/dlink has.
#include <stddef.h>

int cudaMallocManaged(void **memory, size_t size, unsigned flags) {
    static int room[16];
    *memory = room;
    return size <= sizeof room ? 0 : 2;
}

int cudaDeviceSynchronize(void) {
    return 0;
}
