/*
 * dump.c - see dump.h.
 *
 * A profile is addresses; names come later, from files that may by then be
 * replaced or lie in another mount namespace.  So with the dump, while the
 * process still maps them, each mapped file's descriptor is fetched from the
 * agent, once for each device and inode (objects), and the mappings are copied.
 * What the recorder has sampled needs no dump: its segment is copied from
 * shared memory, also when the database hangs or has ended.  Everything about
 * memory that belongs to the profile's moment is read right behind it.  Dumps
 * and maps are limited in bytes and parsed as hostile; jemalloc's text is
 * mapped if its memfd is sealed, and copied otherwise, since it could change
 * while it is read.
 */
#include "dump.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "clock.h"
#include "code_map.h"
#include "controller.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
#include "mappings.h"
#include "objects.h"
#include "names.h"
#include "agent_client.h"
#include "profile.h"
#include "recorded_heap.h"
#include "recorded_maps.h"
#include "segment_read.h"
#include "reconciliation.h"
#include "snapshot.h"
#include "stats.h"
#include "stats_take.h"
#include "symbolizer.h"
#include "waste.h"
#include "snapshot_waste.h"

enum {
    MAPS_ARENA_BYTES = 64 << 20,
    MEMORY_TEXT_MAX = 4096,
    CLASSES_AGE_MS = 15000 /* statistics are asked for each ten seconds */
};

void
dump_fini(struct dump *dump)
{
    if (dump->mapped)
        munmap(dump->mapped, dump->mapped_size);
    dump->mapped = NULL;
    segment_copy_free(dump->recorded);
    dump->recorded = NULL;
    buffer_fini(&dump->text);
    arena_free(dump->arena);
}

/* ---- taking ---- */

/* A file that the agent cannot open is noted as absent (-1), so that it is
 * asked for once only. */
static int
fetch_object(struct agent_client *client, struct objects *objects,
             const struct mapping *mapping, struct error *err)
{
    struct agent_request request = {
        .op = AGENT_OBJECT, .number = mapping->device, .inode = mapping->inode};
    struct agent_client_answer answer;

    if (agent_client_call(client, &request, &answer, err) != 0) {
        if (client->status.state != NODE_CONNECTED)
            return -1;
        objects_put(objects, mapping->device, mapping->inode, -1);
        return 0; /* it will go without names */
    }
    objects_put(objects, mapping->device, mapping->inode, answer.fds[0]);
    fd_close(answer.fds[1]);
    return 0;
}

/* Executable mappings only: addresses elsewhere have no names. */
static int
fetch_objects(const struct mappings *maps, struct agent_client *client,
              struct objects *objects, struct error *err)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (m->executable && m->inode &&
            !objects_known(objects, m->device, m->inode) &&
            fetch_object(client, objects, m, err) != 0)
            return -1;
    }
    return 0;
}

static void __attribute__((format(printf, 2, 3)))
append_note(struct dump *dump, const char *format, ...)
{
    size_t size = strlen(dump->note);
    va_list arguments;

    if (size > 0 && size + 2 < sizeof(dump->note)) {
        memcpy(dump->note + size, "; ", 3);
        size += 2;
    }
    va_start(arguments, format);
    vsnprintf(dump->note + size, sizeof(dump->note) - size, format, arguments);
    va_end(arguments);
}

/* Adds the figures of memory that belong to the dump.  For a recorder's profile
 * the agent is not asked: the figures of the last statistics are used, beside
 * the kernel's of now. */
static void
collect_dump_memory(struct dump *dump, struct agent_client *client)
{
    const char *elsewhere = client->status.elsewhere;
    struct error ignored;
    struct stats *stats;

    if (dump->recorded) {
        dump->memory = client->memory;
        dump->waste = client->waste;
        if (client->status.state != NODE_GONE && client->peer != 0)
            stats_take_kernel(client, &dump->memory);
    } else {
        stats = stats_take(client, &ignored);
        if (stats) {
            reconciliation_take(stats, &dump->memory);
            waste_take(stats, &dump->waste);
        }
        stats_unref(stats);
    }
    if (*elsewhere)
        append_note(dump, "%s", elsewhere);
}

/* Reads the mappings in the agent's file. */
static int
read_agent_maps(struct agent_client *client, int fd, struct arena *arena,
                struct mappings *maps, struct error *err)
{
    struct buffer text;
    int rc;

    buffer_init(&text, DUMP_MAPS_MAX_BYTES);
    rc =
        agent_client_read_memory(client, fd, &text, "the node's mappings", err);
    if (rc == 0)
        rc = mappings_parse(arena, text.data, text.size, maps, NULL, err);
    buffer_fini(&text);
    return rc;
}

/* Asks for the mappings, and makes sure that objects has their files. */
static int
take_maps(struct agent_client *client, struct arena *arena,
          struct mappings *maps, struct objects *objects, struct error *err)
{
    struct agent_request request = {.op = AGENT_MAPS};
    struct agent_client_answer answer;
    int rc;

    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    rc = read_agent_maps(client, answer.fds[0], arena, maps, err);
    agent_client_answer_close(&answer);
    return rc == 0 ? fetch_objects(maps, client, objects, err) : -1;
}

/* Without the agent's descriptors, files in another mount namespace could not
 * be opened at all.  client is a struct agent_client: the callback's type is of
 * plugin/tables, which lies below the controller and does not know it. */
int
dump_take_code(void *client, struct code_map *map, struct error *err)
{
    const struct agent_client *agent = client;
    int rc = -1;

    map->pid = agent->peer;
    objects_init(&map->objects);
    map->arena = arena_new(MAPS_ARENA_BYTES);
    if (!map->arena)
        error_memory(err, "the mappings of a process");
    else
        rc = take_maps(client, map->arena, &map->maps, &map->objects, err);
    if (rc != 0)
        code_map_close(map);
    return rc;
}

/* Whether the segment is of the process that was greeted last. */
static int
check_owner(const struct dump *dump, const struct agent_hello *hello,
            struct error *err)
{
    const struct segment_header *header = segment_copy_header(dump->recorded);

    if (header->owner == (uint64_t)hello->pid &&
        (header->owner_started == 0 ||
         header->owner_started == hello->start_ticks))
        return 0;
    error_set(err, ER_UNKNOWN,
              "the recorder's segment is not of the database (pid %d)",
              hello->pid);
    return -1;
}

#define DUMP_OF_THE_END "of its last moment: the process has ended"

/* Adds notes on samples and stacks that the recorder lost. */
static void
note_losses(struct dump *dump)
{
    const struct segment_header *header = segment_copy_header(dump->recorded);
    struct error err;

    if (segment_copy_check(dump->recorded, &err) != 0)
        append_note(dump, "%s", err.text);
    if (header->lost_samples > 0)
        append_note(dump, "there was no room for %llu samples",
                    (unsigned long long)header->lost_samples);
    if (header->lost_stacks > 0)
        append_note(dump, "there was no room for the stacks of %llu samples",
                    (unsigned long long)header->lost_stacks);
}

/* Sets the moment of the recorder's profile, and a note on it: of a process
 * that has ended, the moment is its end. */
static void
note_recorded_moment(struct dump *dump, const struct agent_client *client)
{
    int64_t since_ms = dump->taken_ms - client->status.since_ms;
    const char *note = client->status.note;

    if (client->status.state == NODE_UNRESPONSIVE)
        note = "read from outside: the process does not respond";
    if (client->status.state == NODE_GONE) {
        note = DUMP_OF_THE_END;
        dump->taken_ms = client->status.since_ms;
        dump->recorded_ms -= since_ms > 0 ? (uint64_t)since_ms : 0;
    }
    snprintf(dump->note, sizeof(dump->note), "%s", note);
    note_losses(dump);
}

/* Asks the agent for files that cannot be opened from here, as in a container;
 * once for each new one. */
static void
ask_files(const struct dump *dump, struct agent_client *client,
          struct objects *objects, struct recorded_maps *maps)
{
    struct arena *arena = arena_new(MAPS_ARENA_BYTES);
    struct mappings mapped;
    struct error ignored;
    bool complete;

    if (arena && take_maps(client, arena, &mapped, objects, &ignored) == 0)
        (void)recorded_maps_find(maps, dump->recorded, &mapped, objects,
                                 &complete, &ignored);
    arena_free(arena);
}

static int
take_recorded_maps(struct dump *dump, const struct recorded_maps *maps,
                   struct error *err)
{
    struct buffer text;
    int rc;

    buffer_init(&text, DUMP_MAPS_MAX_BYTES);
    rc = recorded_maps_write(maps, dump->recorded, &text, err);
    if (rc == 0)
        rc = mappings_parse(dump->arena, text.data, text.size, &dump->maps,
                            NULL, err);
    buffer_fini(&text);
    return rc;
}

/* Copies the segment.  The agent is only asked if a file is missing here, and
 * if the database can answer at all. */
static int
take_recorded(struct dump *dump, struct agent_client *client,
              struct objects *objects, struct recorded_maps *maps,
              struct error *err)
{
    bool complete;

    if (maps->segment < 0) {
        error_set(err, ER_UNKNOWN,
                  "the database (pid %d) records its heap for another "
                  "heapwired: restart it under heapwire-run",
                  client->status.hello.pid);
        return -1;
    }
    dump->taken_ms = clock_wall_ms();
    dump->recorded_ms = clock_ms();
    dump->recorded = segment_read(maps->segment, err);
    if (!dump->recorded || check_owner(dump, &client->status.hello, err) != 0 ||
        recorded_maps_find(maps, dump->recorded, NULL, objects, &complete,
                           err) != 0)
        return -1;
    if (!complete && client->status.state == NODE_CONNECTED &&
        !agent_client_is_stopped(client))
        ask_files(dump, client, objects, maps);
    return take_recorded_maps(dump, maps, err);
}

static int
take_jemalloc_profile(struct dump *dump, struct agent_client *client,
                      struct objects *objects, struct error *err)
{
    struct agent_request request = {.op = AGENT_DUMP};
    struct agent_client_answer answer;
    int64_t asked_ms = clock_wall_ms();
    int rc = -1;

    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    snprintf(dump->note, sizeof(dump->note), "%s", client->status.note);
    /* jemalloc adds up its samples first, and then writes: the moment is the
     * beginning of the dump, which took reply.value microseconds. */
    dump->taken_ms = clock_wall_ms() - (int64_t)(answer.reply.value / 1000);
    if (dump->taken_ms < asked_ms)
        dump->taken_ms = asked_ms;
    /* an unsealed file could change while it is parsed: it is copied instead */
    if ((fd_map_sealed(answer.fds[0], DUMP_MAX_BYTES, &dump->mapped,
                       &dump->mapped_size) ||
         agent_client_read_memory(client, answer.fds[0], &dump->text,
                                  "the heap profile", err) == 0) &&
        read_agent_maps(client, answer.fds[1], dump->arena, &dump->maps, err) ==
            0)
        rc = fetch_objects(&dump->maps, client, objects, err);
    agent_client_answer_close(&answer);
    return rc;
}

static int
init_dump_arena(struct dump *dump, struct error *err)
{
    dump->arena = arena_new(MAPS_ARENA_BYTES);
    if (!dump->arena)
        error_memory(err, "the mappings of the node");
    return dump->arena ? 0 : -1;
}

int
dump_take(struct dump *dump, struct agent_client *client,
          struct objects *objects, struct recorded_maps *maps,
          struct error *err)
{
    int rc;

    buffer_init(&dump->text, DUMP_MAX_BYTES);
    if (init_dump_arena(dump, err) != 0)
        return -1;
    rc = client->status.hello.opt_prof == AGENT_PROF_RECORDED
             ? take_recorded(dump, client, objects, maps, err)
             : take_jemalloc_profile(dump, client, objects, err);
    /* copied now: client is another's once the agent is given away */
    dump->hello = client->status.hello;
    if (rc == 0 && dump->recorded)
        note_recorded_moment(dump, client);
    if (rc == 0)
        collect_dump_memory(dump, client);
    return rc;
}

/* Notes of when the recording is: a copy may be older than the end. */
static void
note_copied_moment(struct dump *dump, const struct recording *recording)
{
    char at[CLOCK_TEXT];

    clock_text(recording->taken_ms, at, sizeof(at));
    if (recording->ended && recording->copied)
        append_note(dump, "of %s UTC, the last copy before the process ended",
                    at);
    else if (recording->ended)
        append_note(dump, "%s", DUMP_OF_THE_END);
    else
        append_note(dump, "of %s UTC, without asking the process", at);
    note_losses(dump);
}

/* Takes jemalloc's size classes from the last statistics of that process, if
 * they are of about the moment of the recording. */
static void
take_last_classes(struct dump *dump, const struct recording *recording,
                  const struct agent_client *client)
{
    int64_t apart_ms = client->waste.at_ms - recording->taken_ms;

    if (agent_client_same_incarnation(&client->status.hello,
                                      &recording->hello) &&
        apart_ms >= -CLASSES_AGE_MS && apart_ms <= CLASSES_AGE_MS)
        dump->waste = client->waste;
}

int
dump_take_recording(struct dump *dump, const struct recording *recording,
                    const struct agent_client *client, struct objects *objects,
                    struct error *err)
{
    struct recorded_maps maps = {.segment = recording->segment};
    bool complete;
    int rc = -1;

    if (init_dump_arena(dump, err) != 0)
        return -1;
    dump->hello = recording->hello;
    dump->taken_ms = recording->taken_ms;
    dump->recorded_ms = recording->monotonic_ms;
    dump->memory = recording->memory;
    take_last_classes(dump, recording, client);
    dump->recorded = segment_read(recording->segment, err);
    if (dump->recorded && check_owner(dump, &recording->hello, err) == 0 &&
        recorded_maps_find(&maps, dump->recorded, NULL, objects, &complete,
                           err) == 0)
        rc = take_recorded_maps(dump, &maps, err);
    recorded_maps_clear(&maps);
    if (rc == 0)
        note_copied_moment(dump, recording);
    return rc;
}

/* ---- making ---- */

static void
enter_dump_stage(struct dump_progress *progress, enum dump_stage stage)
{
    atomic_store_explicit(&progress->stage, stage, memory_order_relaxed);
}

static struct names *
name_heap_addresses(const struct dump *dump, const struct heap_dump *heap,
                    struct objects *objects, struct symbolizer *symbolizer,
                    struct dump_progress *progress, struct error *err)
{
    struct resolve_request request = {.maps = &dump->maps,
                                      .addresses = heap->addresses,
                                      .count = heap->address_count,
                                      .allocator_address =
                                          dump->hello.mallctl_address,
                                      .named = &progress->named,
                                      .open_object = objects_open_mapping,
                                      .arg = objects};
    struct names *names = NULL;

    /* before naming begins, which counts named: readers divide by it */
    atomic_store_explicit(&progress->addresses, (unsigned)heap->address_count,
                          memory_order_relaxed);
    if (symbolizer_resolve(symbolizer, &request, &names, err) != 0)
        return NULL;
    return names;
}

/* Whether the outermost function of a stack begins with that name. */
static bool
root_begins_with(const struct profile *profile,
                 const struct profile_stack *stack, const char *function)
{
    const struct location *root;

    if (stack->depth == 0)
        return false;
    root = &profile->locations[stack->locations[stack->depth - 1]];
    return strncmp(root->frames[root->frame_count - 1].function, function,
                   strlen(function)) == 0;
}

/* Go calls C on a stack of its own, beyond which the unwinder sees no function:
 * says how much memory is in such stacks. */
static void
write_cut_stacks(const struct profile *profile, struct buffer *out)
{
    static const char border[] = "runtime.asmcgocall";
    double bytes = 0;

    for (size_t i = 0; i < profile->stack_count; i++)
        if (root_begins_with(profile, &profile->stacks[i], border))
            bytes += profile->stacks[i].bytes;
    if (bytes > 0)
        buffer_format(out,
                      "; %.1f MB of it in stacks that end at %s: which Go "
                      "function called C is not seen",
                      bytes / 1048576, border);
}

/* The line goes into the profile itself, so that each form can show it. */
static int
write_snapshot_memory(struct snapshot *snapshot, const struct dump *dump,
                      struct error *err)
{
    struct profile *profile = snapshot->profile;
    struct buffer line;
    int rc = 0;

    snapshot->memory = dump->memory;
    buffer_init(&line, MEMORY_TEXT_MAX);
    unseen_fill(snapshot);
    reconciliation_write(profile, &snapshot->memory, &snapshot->hello,
                         dump->note, &line);
    write_cut_stacks(profile, &line);
    if (line.data && !line.failed)
        profile->memory = arena_strndup(profile->arena, line.data, line.size);
    if (line.failed || !profile->memory) {
        error_memory(err, "a snapshot");
        rc = -1;
    }
    buffer_fini(&line);
    return rc;
}

static struct heap_dump *
parse_dump_heap(const struct dump *dump, struct error *err)
{
    if (dump->recorded)
        return recorded_heap(dump->recorded, dump->recorded_ms, err);
    return dump->mapped
               ? heap_dump_parse(dump->mapped, dump->mapped_size, err)
               : heap_dump_parse(dump->text.data, dump->text.size, err);
}

struct snapshot *
dump_make_snapshot(const struct dump *dump, struct objects *objects,
                   struct symbolizer *symbolizer,
                   struct dump_progress *progress, struct error *err)
{
    struct profile_origin origin = {.live = true,
                                    .taken_ms = dump->taken_ms,
                                    .active_since_ms =
                                        dump->hello.active_since_ms};
    struct snapshot *snapshot = snapshot_new(), *made = NULL;
    struct heap_dump *heap = NULL;
    struct names *names = NULL;

    if (!snapshot) {
        error_memory(err, "a snapshot");
        goto out;
    }
    enter_dump_stage(progress, DUMP_NAMING);
    heap = parse_dump_heap(dump, err);
    if (!heap)
        goto out;
    names = name_heap_addresses(dump, heap, objects, symbolizer, progress, err);
    if (!names)
        goto out;
    enter_dump_stage(progress, DUMP_MAKING);
    snapshot->profile = profile_new(heap, names, dump->hello.exe, &origin, err);
    if (!snapshot->profile ||
        modules_fill(snapshot->profile, &dump->maps, objects, err) != 0 ||
        waste_fill(snapshot->profile, &dump->waste, err) != 0)
        goto out;
    snapshot->taken_ms = dump->taken_ms;
    snapshot->hello = dump->hello;
    if (write_snapshot_memory(snapshot, dump, err) != 0)
        goto out;
    made = snapshot;
    snapshot = NULL;
out:
    names_free(names);
    heap_dump_free(heap);
    snapshot_unref(snapshot);
    return made;
}
