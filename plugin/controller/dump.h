/*
 * dump.h - one heap dump: taken from the agent, then made into a snapshot.
 *
 * Taking needs the agent (jobs.h), and disturbs the database only while it
 * dumps; making needs the names, and does not touch it.
 */
#ifndef HW_DUMP_H
#define HW_DUMP_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent_protocol.h"
#include "buffer.h"
#include "mappings.h"
#include "stats_allocators.h"
#include "snapshot.h"
#include "waste.h"

struct arena;
struct error;
struct agent_client;
struct objects;
struct code_map;
struct recorded_maps;
struct recording;
struct snapshot;
struct symbolizer;
struct segment_copy;

enum {
    DUMP_MAX_BYTES = 64 << 20,      /* jemalloc's text */
    DUMP_MAPS_MAX_BYTES = 16 << 20, /* /proc/self/maps */
    DUMP_NOTE_MAX = AGENT_TEXT_MAX + ELSEWHERE_TEXT_MAX + 8
};

struct dump {
    struct segment_copy *recorded; /* of the recorder, or NULL: it is
                                      jemalloc's, and in text */
    struct buffer text;
    void *mapped; /* the text in the agent's memory, or NULL: it is in text */
    size_t mapped_size;
    struct arena *arena;
    struct mappings maps; /* in arena: parsed once, as each step needs them */
    struct agent_hello hello;      /* the latest greeting before the dump */
    char note[DUMP_NOTE_MAX];      /* remarks about the profile */
    int64_t taken_ms;              /* wall clock */
    uint64_t recorded_ms;          /* of clock_ms(): the moment of recorded */
    struct snapshot_memory memory; /* right after it, as far as it is known */
    struct waste_heap waste;       /* likewise */
};

/* Call it with a zeroed struct.  Dumps, copies, makes sure that objects has
 * every mapped file, and then reads the statistics: not beside the dump, since
 * both take the same locks of the allocator.  A recorder's segment, which maps
 * has, is read without waiting for anything: the statistics are the last known
 * ones. */
int dump_take(struct dump *dump, struct agent_client *client,
              struct objects *objects, struct recorded_maps *maps,
              struct error *err);
/* The same from a copy of the segment, without the agent.  client: for what the
 * agent said last. */
int dump_take_recording(struct dump *dump, const struct recording *recording,
                        const struct agent_client *client,
                        struct objects *objects, struct error *err);
/* The database's code mappings, as code_map_open finds them, but by its agent:
 * for a process that is closed to us.  client: a struct agent_client. */
int dump_take_code(void *client, struct code_map *map, struct error *err);
void dump_fini(struct dump *dump); /* a zeroed struct is fine */

enum dump_stage { DUMP_TAKING = 1, DUMP_NAMING, DUMP_MAKING };
enum { DUMP_STAGES = DUMP_MAKING };

/* The progress, for other threads to read. */
struct dump_progress {
    atomic_uint stage;            /* enum dump_stage; 0: not begun */
    atomic_uint named, addresses; /* while DUMP_NAMING */
};

/* NULL with *err.  The snapshot has no name yet. */
struct snapshot *dump_make_snapshot(const struct dump *dump,
                                    struct objects *objects,
                                    struct symbolizer *symbolizer,
                                    struct dump_progress *progress,
                                    struct error *err);

#endif
