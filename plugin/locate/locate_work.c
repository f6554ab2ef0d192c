/* locate_work.c - see locate_work.h. */
#include "locate_work.h"

#include <elf.h>

static bool
has_flags(uint32_t flags, uint32_t some, uint32_t none)
{
    return (flags & some) && !(flags & none);
}

static void
see_segment(struct locate_work *work, const struct elf_segment *s,
            void (*see)(struct locate_work *, const struct piece *))
{
    const struct elf_file *elf = work->elf;
    uint64_t size = 0;

    if (s->offset < elf->size)
        size = elf->size - s->offset;
    if (size > s->file_size)
        size = s->file_size;
    for (uint64_t done = 0; done < size; done += PIECE_BYTES) {
        uint64_t back = done < PIECE_BACK ? done : PIECE_BACK;
        uint64_t start = done - back, left = size - start;
        struct piece piece = {.bytes = work->piece,
                              .begin = back,
                              .size = sizeof(work->piece),
                              .address = s->address + start};

        if (piece.size > left)
            piece.size = left;
        piece.end = back + PIECE_BYTES;
        if (piece.end > piece.size)
            piece.end = piece.size;
        if (work->bytes_left < piece.size ||
            elf_read_at(elf, s->offset + start, piece.size, work->piece) != 0)
            return;
        work->bytes_left -= piece.size;
        see(work, &piece);
    }
}

void
locate_work_pieces(struct locate_work *work, uint32_t flags, uint32_t without,
                   void (*see)(struct locate_work *, const struct piece *))
{
    const struct elf_file *elf = work->elf;

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];

        if (s->type == PT_LOAD && has_flags(s->flags, flags, without))
            see_segment(work, s, see);
    }
}

void
locate_work_refer(struct locate_work *work, uint64_t address, uint32_t what)
{
    if (work->reference_count < REFERENCES_MAX)
        work->references[work->reference_count++] =
            (struct reference){address, what};
}
