/* inject_none.c - in place of inject.c on other processors than x86-64. */
#include "errors.h"
#include "attach.h"

int
inject(struct injection *injection, struct error *err)
{
    (void)injection;
    error_set(err, ER_NOT_SUPPORTED,
              "--attach works on x86-64 only: start the database under "
              "heapwire-run");
    return -1;
}
