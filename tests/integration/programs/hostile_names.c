/*
 * hostile_names.c - a process whose functions have names that no compiler
 * gives: markup, formulas, writing that turns round; and so has its thread.  It
 * stays until killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BYTES = 4 << 20 };

static void *volatile last;

#ifdef __clang__ /* puts them between quotes itself */
#define QUOTE
#else
#define QUOTE "\""
#endif
#define NAMED(n, text)                                                         \
    void hostile_##n(void) __asm__(QUOTE text QUOTE);                          \
    __attribute__((noinline)) void hostile_##n(void)                           \
    {                                                                          \
        last = malloc(BYTES);                                                  \
        __asm__ volatile("" ::: "memory"); /* no tail call */                  \
    }

NAMED(0, "<img src=x onerror=window.pwned=1>")
NAMED(1, "</style></script><script>window.pwned=2</script>")
NAMED(2, "'onload='window.pwned=3")
NAMED(3, "=cmd|'/C calc'!A0")
NAMED(4, "\xe2\x80\xaeturned\xe2\x81\xa6")
NAMED(5, "__proto__")
NAMED(6, "${window.pwned=4}")
#define TEN(x) x x x x x x x x x x
NAMED(7, TEN(TEN(TEN("very_long_"))))

int
main(void)
{
    prctl(PR_SET_NAME, "<b onclick=x>-7");
    hostile_0();
    hostile_1();
    hostile_2();
    hostile_3();
    hostile_4();
    hostile_5();
    hostile_6();
    hostile_7();
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
