/* syscall(): the few calls that matter to us go to syscall_noticed, with their arguments where they are; anything else
 * goes to libc's syscall as if we were not here (a tail jump: the stack is the caller's own). */
#include <sys/syscall.h>

#if defined(__x86_64__)
    .text
    .p2align 4
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    cmp $SYS_futex, %rdi
    je 1f
    cmp $SYS_close, %rdi
    je 1f
    cmp $SYS_close_range, %rdi
    je 1f
    cmp $SYS_exit_group, %rdi
    je 1f
    cmp $SYS_seccomp, %rdi
    je 1f
    cmp $SYS_execve, %rdi
    je 1f
    cmp $SYS_execveat, %rdi
    je 1f
    mov syscall_real(%rip), %rax
    test %rax, %rax
    je 1f
    jmp *%rax
1:  jmp syscall_noticed
    .cfi_endproc
    .size syscall, . - syscall
#elif defined(__aarch64__)
    .text
    .p2align 2
    .globl syscall
    .type syscall, %function
syscall:
    .cfi_startproc
    cmp x0, #SYS_futex
    b.eq 1f
    cmp x0, #SYS_close
    b.eq 1f
    cmp x0, #SYS_close_range
    b.eq 1f
    cmp x0, #SYS_exit_group
    b.eq 1f
    cmp x0, #SYS_seccomp
    b.eq 1f
    cmp x0, #SYS_execve
    b.eq 1f
    cmp x0, #SYS_execveat
    b.eq 1f
    adrp x16, syscall_real
    ldr x16, [x16, #:lo12:syscall_real]
    cbz x16, 1f
    br x16
1:  b syscall_noticed
    .cfi_endproc
    .size syscall, . - syscall
#endif
    .section .note.GNU-stack, "", %progbits
