/*
 * locate_given.c - functions of some arguments, none of which is known to be a
 * mallctl: what test_locate gives for one.
 */
#include <stddef.h>
#include <stdio.h>

typedef int take_six(const char *, void *, size_t *, void *, size_t, size_t);

take_six *volatile taker;
const char *volatile mark = "<jemalloc>: as in one";
int two_and_fifth(const char *a, void *b, size_t *c, void *d, size_t e);
volatile int ready;

int four(const char *a, void *b, size_t *c, void *d);
int five(const char *a, void *b, size_t *c, void *d, size_t e);
int six(const char *a, void *b, size_t *c, void *d, size_t e, size_t f);

/* As mallctl does, each first checks whether everything is initialised. */
int
four(const char *a, void *b, size_t *c, void *d)
{
    if (!ready)
        puts("not ready");
    return taker(a, b, c, d, 0, 0) + 1;
}

int
five(const char *a, void *b, size_t *c, void *d, size_t e)
{
    if (!ready)
        puts("not ready");
    return taker(a, b, c, d, 1, e) + 1;
}

/* Uses only the second and the fifth of five arguments. */
int
two_and_fifth(const char *a, void *b, size_t *c, void *d, size_t e)
{
    (void)a;
    (void)c;
    (void)d;
    if (!ready)
        puts("not ready");
    return taker(NULL, b, NULL, NULL, 1, e) + 1;
}

int
six(const char *a, void *b, size_t *c, void *d, size_t e, size_t f)
{
    if (!ready)
        puts("not ready");
    return taker(a, b, c, d, e, f) + 1;
}

/* As jemalloc's sdallocx, which has three arguments and uses r8 for itself. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl scratch\n"
        ".type scratch, @function\n"
        "scratch:\n"
        ".cfi_startproc\n"
        "mov %rdi, %r8\n"
        "mov %rsi, %rax\n"
        "mov %r8, %rdi\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size scratch, . - scratch\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".globl scratch\n"
        ".type scratch, %function\n"
        "scratch:\n"
        ".cfi_startproc\n"
        "mov x4, x0\n"
        "mov x1, x4\n"
        "mov x0, x4\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size scratch, . - scratch\n"
        ".popsection\n");
#endif

int
main(void)
{
    return 0;
}
