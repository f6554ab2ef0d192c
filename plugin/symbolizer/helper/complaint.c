/* complaint.c - see complaint.h. */
#include "complaint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dwarf.h"

static const struct {
    enum dwarf_why why;
    const char *what, *so;
} reasons[] = {
    {DWARF_SPLIT, "in units of split DWARF", "named by libbfd"},
    {DWARF_ALTERNATIVE, "in units that dwz shortened", "named by libbfd"},
    {DWARF_VERSION, "in units of an unknown version of DWARF",
     "named by libbfd"},
    {DWARF_DAMAGED, "in units of damaged DWARF", "named by libbfd"},
    {DWARF_NO_ROOM, "in more DWARF than fits the memory for it",
     "symbol names only"},
};

__attribute__((format(printf, 3, 4))) static void
say(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    if (used > 0 && used + 2 < size) {
        memcpy(out + used, "; ", 3);
        used += 2;
    }
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void
complaint_write(const struct complaint *complaint, char *out, size_t size)
{
    out[0] = '\0';
    if (complaint->trouble[0])
        say(out, size, "%s", complaint->trouble);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (complaint->why[reasons[i].why])
            say(out, size, "%zu addresses %s: %s",
                complaint->why[reasons[i].why], reasons[i].what,
                complaint->by_bfd || reasons[i].why == DWARF_NO_ROOM
                    ? reasons[i].so
                    : "symbol names only");
}
