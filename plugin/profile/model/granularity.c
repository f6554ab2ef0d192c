/* granularity.c - see granularity.h. */
#include "granularity.h"

#include <inttypes.h>

#include "buffer.h"
#include "names.h"

void
granularity_address(struct buffer *out, uint64_t address)
{
    char digits[16];

    for (size_t i = sizeof(digits); i-- > 0; address >>= 4)
        digits[i] = "0123456789abcdef"[address & 0xf];
    buffer_add(out, digits, sizeof(digits));
}

void
granularity_place(struct buffer *out, const struct frame *frame)
{
    if (*frame->file == '\0') {
        buffer_text(out, "??:0");
        return;
    }
    buffer_text(out, frame->file);
    buffer_format(out, ":%" PRIu32, frame->line);
}

void
granularity_name(struct buffer *out, enum granularity granularity,
                 const char *function, const struct frame *frame,
                 uint64_t address)
{
    bool file_known = *frame->file != '\0';

    if (granularity == GRANULARITY_FILES && file_known)
        buffer_text(out, frame->file);
    if (granularity == GRANULARITY_ADDRESSES ||
        (granularity == GRANULARITY_FILES && !file_known))
        granularity_address(out, address);
    if (granularity == GRANULARITY_FILES)
        return;
    if (granularity == GRANULARITY_ADDRESSES)
        buffer_char(out, ' ');
    buffer_text(out, function);
    if (granularity == GRANULARITY_FUNCTIONS)
        return;
    buffer_char(out, ' ');
    granularity_place(out, frame);
}
