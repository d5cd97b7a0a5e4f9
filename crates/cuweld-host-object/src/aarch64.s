// Registration of linked device code, procedure call standard of AArch64.
// `table` is filled by relocations:
//    0 handle   8 calls so far   16 modules   24 wrapper   32 functions   40 fatbins   48 unregister
//   56 __cudaRegisterFatBinary   64 __cudaRegisterFatBinaryEnd   72 __cudaUnregisterFatBinary   80 atexit

// void register(void (*register_all)(void **handle), const struct wrapper *unit, ...): every unit calls it once.
register:
    hint #34                        // bti c
    adrp x4, table
    add x4, x4, :lo12:table
    ldp x5, x6, [x4, #8]
    cmp x5, x6
    b.hs 1f                         // more calls than modules: nothing to do
    ldp x7, x8, [x4, #32]
    str x0, [x7, x5, lsl #3]
    ldr x1, [x1, #8]                // the unit's fatbin
    str x1, [x8, x5, lsl #3]
    add x5, x5, #1
    str x5, [x4, #8]
    cmp x5, x6
    b.eq 2f                         // the last unit has called
1:  ret
2:  stp x29, x30, [sp, #-32]!
    mov x29, sp
    stp x19, x20, [sp, #16]
    mov x19, x4
    ldr x0, [x19, #24]
    ldr x2, [x19, #56]
    blr x2
    str x0, [x19]
    ldr x0, [x19, #48]
    ldr x2, [x19, #80]
    blr x2
    mov x20, #0
3:  ldr x2, [x19, #32]
    ldr x2, [x2, x20, lsl #3]
    ldr x0, [x19]
    blr x2
    add x20, x20, #1
    ldr x2, [x19, #16]
    cmp x20, x2
    b.lo 3b
    ldr x0, [x19]
    ldr x16, [x19, #64]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #32
    br x16

// void unregister(void): runs when the program ends.
unregister:
    hint #34                        // bti c
    adrp x4, table
    add x4, x4, :lo12:table
    ldr x0, [x4]
    ldr x16, [x4, #72]
    br x16
