/* segment_make.c - see segment_make.h. */
#include "segment_make.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment_layout.h"

int
segment_make(const struct segment_header *header)
{
    int fd = memfd_create("heapwire-recorder", MFD_ALLOW_SEALING), error;
    struct segment_header first = *header;

    /* Each later owner begins with these (start_over() in claim_segment.c). */
    first.first_settings = first.settings;
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)first.segment_bytes) == 0 &&
        pwrite(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first) &&
        fcntl(fd, F_ADD_SEALS, segment_seals()) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}
