// The same as x86_64_entries.s, which says what is in the table and in entries.
.ifdef OLDER
    entry = 32
    flags = 24
    address = 0
.else
    entry = 56
    language = 10
    flags = 12
    address = 16
.endif

call:
    hint #34                        // bti c
    adrp x8, table
    add x8, x8, :lo12:table
    ldr x0, [x8, #24]
    add x1, x8, #24
    ldr x16, [x8, #16]
    br x16

register_entries:
    hint #34
    stp x29, x30, [sp, #-48]!
    mov x29, sp
    stp x19, x20, [sp, #16]
    str x21, [sp, #32]
    mov x20, x0
    adrp x19, table
    add x19, x19, :lo12:table
    ldr x21, [x19]
1:  ldr x8, [x19, #8]
    cmp x21, x8
    b.hs 4f
.ifdef language
    ldrh w8, [x21, #language]
    cmp w8, #2
    b.ne 3f
.endif
    mov x0, x20
    ldp x1, x2, [x21, #address]
    mov x3, x2
    ldr x5, [x21, #address+16]
    ldr w8, [x21, #flags]
    cbnz x5, 2f
    mov w4, #-1
    mov x6, xzr
    mov x7, xzr
    stp xzr, xzr, [sp, #-16]!
    ldr x8, [x19, #40]
    blr x8
    add sp, sp, #16
    b 3f
2:  tst w8, #7
    b.ne 3f
    ubfx w4, w8, #3, #1
    ubfx w6, w8, #4, #1
    mov w7, wzr
    ldr x8, [x19, #48]
    blr x8
3:  add x21, x21, #entry
    b 1b
4:  ldr x21, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
