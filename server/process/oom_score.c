/* oom_score.c - see oom_score.h. */
#include "oom_score.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "files.h"

void
oom_score_raise(void)
{
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "";
    long score;
    int size;

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
        fd_close(fd);
        return;
    }
    score = strtol(text, NULL, 10);
    if (score < OOM_SCORE_MAX) {
        score += OOM_SCORE_ABOVE;
        if (score > OOM_SCORE_MAX)
            score = OOM_SCORE_MAX;
        size = snprintf(text, sizeof(text), "%ld", score);
        if (pwrite(fd, text, (size_t)size, 0) < 0)
            errno = 0; /* on failure the kernel's own choice stands */
    }
    fd_close(fd);
}
