/*
 * recording_note.c - see recording_note.h.
 *
 * The format is the time of the monotonic clock (u64), and behind it the head
 * of a snapshot with an empty profile: that has all the fields, a version and a
 * checksum already, so that this file needs no format of its own.
 */
#include "recording_note.h"

#include "buffer.h"
#include "controller.h"
#include "errors.h"
#include "profile.h"
#include "reader.h"
#include "segment_file.h"
#include "snapshot_head.h"

bool
recording_note_write(const struct recording *recording, struct buffer *out)
{
    struct profile none = {.rate = 1, .note = ""};
    const struct snapshot_body body = {0};
    const struct snapshot snapshot = {.taken_ms = recording->taken_ms,
                                      .hello = recording->hello,
                                      .memory = recording->memory,
                                      .profile = &none};
    struct buffer head;

    buffer_init(&head, SEGMENT_FILE_NOTE_MAX);
    snapshot_head_encode(&snapshot, &body, &head);
    buffer_u64(out, recording->monotonic_ms);
    buffer_add(out, head.data, head.size);
    out->failed |= head.failed;
    buffer_fini(&head);
    return !out->failed;
}

bool
recording_note_read(const struct buffer *note, struct recording *out)
{
    struct reader r = reader_of(note->data, note->size);
    struct snapshot_head head;
    struct span rest;
    struct error ignored;

    out->monotonic_ms = reader_u64(&r);
    rest = reader_rest(&r);
    if (r.failed ||
        snapshot_head_decode(rest.data, rest.size, &head, &ignored) != 0)
        return false;
    out->hello = head.entry.hello;
    out->memory = head.entry.memory;
    out->taken_ms = head.entry.taken_ms;
    return true;
}
