/*
 * qemu_start.c - preloaded below qemu-user, for slow/arm64.sh: qemu writes a
 * process's own /proc/self/stat itself, with another start for each thread, so
 * that no process is the one that others see.  Past a second slash it does not
 * look, and the kernel's own comes.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;

    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (strcmp(path, "/proc/self/stat") == 0)
        path = "/proc//self/stat";
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
