/* borrowed.c - see borrowed.h. */
#include "borrowed.h"

#include <errno.h>
#include <stddef.h>

void
heapwire_borrowed(const char *settings, int32_t *result)
{
    int saved = errno;

    *result = settings ? heapwire_start(settings) : heapwire_stop();
    errno = saved;
}
