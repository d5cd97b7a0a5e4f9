# Registration of linked device code, System V calling convention.
# `table` is filled by relocations:
#    0 handle   8 calls so far   16 modules   24 wrapper   32 functions   40 fatbins   48 unregister
#   56 __cudaRegisterFatBinary   64 __cudaRegisterFatBinaryEnd   72 __cudaUnregisterFatBinary   80 atexit

# void register(void (*register_all)(void **handle), const struct wrapper *unit, ...): every unit calls it once.
register:
    endbr64
    lea table(%rip), %rax
    mov 8(%rax), %rcx
    cmp 16(%rax), %rcx
    jae 1f                          # more calls than modules: nothing to do
    mov 32(%rax), %rdx
    mov %rdi, (%rdx,%rcx,8)
    mov 40(%rax), %rdx
    mov 8(%rsi), %rsi               # the unit's fatbin
    mov %rsi, (%rdx,%rcx,8)
    inc %rcx
    mov %rcx, 8(%rax)
    cmp 16(%rax), %rcx
    je 2f                           # the last unit has called
1:  ret
2:  push %rbx
    push %rbp
    sub $8, %rsp
    mov %rax, %rbx
    mov 24(%rbx), %rdi
    call *56(%rbx)
    mov %rax, (%rbx)
    mov 48(%rbx), %rdi
    call *80(%rbx)
    xor %ebp, %ebp
3:  mov 32(%rbx), %rax
    mov (%rbx), %rdi
    call *(%rax,%rbp,8)
    inc %rbp
    cmp 16(%rbx), %rbp
    jb 3b
    mov (%rbx), %rdi
    mov 64(%rbx), %rax
    add $8, %rsp
    pop %rbp
    pop %rbx
    jmp *%rax

# void unregister(void): runs when the program ends.
unregister:
    endbr64
    lea table(%rip), %rax
    mov (%rax), %rdi
    jmp *72(%rax)
