/* by hand: gcc -m32 -nostdlib -static SOURCE -o OUTPUT */
/* A 32-bit program for machines without 32-bit libraries: writes a line by the old system calls, ends with 7. */
    .section .note.GNU-stack,"",@progbits
    .text
    .globl _start
_start:
    mov $4, %eax
    mov $1, %ebx
    mov $line, %ecx
    mov $12, %edx
    int $0x80
    mov $1, %eax
    mov $7, %ebx
    int $0x80
    .data
line:
    .ascii "bare: alive\n"
