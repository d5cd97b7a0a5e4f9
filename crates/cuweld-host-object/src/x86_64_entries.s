# Registration of what clang's host code lists in a section, System V calling convention.
# `table` is filled by relocations:
#    0 first entry   8 behind the last one   16 the function that units call   24 register_entries   32 a fatbin without code
#   40 __cudaRegisterFunction   48 __cudaRegisterVar
# An entry of clang 21 and later, and one of those before (OLDER):
#    0 zero   8 u16 version   10 u16 language   12 u32 flags   16 address   24 name   32 u64 size   40 two words
#    0 address   8 name   16 u64 size   24 u32 flags   28 a word
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

# void call(void): a constructor. To the function that units call, all of this is one unit.
call:
    endbr64
    lea table(%rip), %rax
    mov 24(%rax), %rdi
    lea 24(%rax), %rsi              # the fatbin is in its second word
    jmp *16(%rax)

# void register_entries(void **handle)
register_entries:
    endbr64
    push %rbx
    push %rbp
    push %r12
    mov %rdi, %r12
    lea table(%rip), %rbx
    mov (%rbx), %rbp
1:  cmp 8(%rbx), %rbp
    jae 4f
.ifdef language
    cmpw $2, language(%rbp)         # CUDA
    jne 3f
.endif
    mov %r12, %rdi
    mov address(%rbp), %rsi
    mov address+8(%rbp), %rdx       # its name
    mov %rdx, %rcx
    mov address+16(%rbp), %r9       # its size
    mov flags(%rbp), %eax
    test %r9, %r9
    jnz 2f
    mov $-1, %r8d                   # a kernel, with no limit of threads
    push %r9
    push %r9
    push %r9
    push %r9
    call *40(%rbx)
    add $32, %rsp
    jmp 3f
2:  test $7, %al
    jnz 3f                          # what CUDA has no more: references to textures and surfaces
    mov %eax, %r8d
    shr $3, %r8d
    and $1, %r8d                    # whether it is defined elsewhere
    shr $4, %eax
    and $1, %eax                    # whether it is constant
    push $0
    push %rax
    call *48(%rbx)
    add $16, %rsp
3:  add $entry, %rbp
    jmp 1b
4:  pop %r12
    pop %rbp
    pop %rbx
    ret
