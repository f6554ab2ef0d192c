/*
 * locate_given.c - functions of some arguments, none of which is known to be a
 * mallctl: what test_locate gives for one.
 */
#include <stddef.h>
#include <stdio.h>

typedef int take_six(const char *, void *, size_t *, void *, size_t, size_t);

take_six *volatile taker;
volatile int ready;

int four(const char *a, void *b, size_t *c, void *d);
int five(const char *a, void *b, size_t *c, void *d, size_t e);
int six(const char *a, void *b, size_t *c, void *d, size_t e, size_t f);

/* As mallctl does, each first looks whether all is initialised. */
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

int
six(const char *a, void *b, size_t *c, void *d, size_t e, size_t f)
{
    if (!ready)
        puts("not ready");
    return taker(a, b, c, d, e, f) + 1;
}

int
main(void)
{
    return 0;
}
