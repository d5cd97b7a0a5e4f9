// A kernel that calls functions of two other units.
extern int scale(int x);
extern int offset(int x);

__attribute__((nvptx_kernel)) void kernel(int *data) {
    *data = offset(scale(*data));
}
