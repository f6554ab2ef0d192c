# leaf.s - the corpus's assembler: lines, and no functions in its DWARF.
    .text
    .globl leaf_entry
    .type leaf_entry, @function
leaf_entry:
    lea 1(%rdi), %eax
    test %eax, %eax
    js 1f
    ret
1:  neg %eax
    jmp local_part
    .size leaf_entry, . - leaf_entry

    .type local_part, @function
local_part:
    add $3, %eax
    nop
    ret
    .size local_part, . - local_part
    .section .note.GNU-stack,"",@progbits
