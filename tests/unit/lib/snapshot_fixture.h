/* snapshot_fixture.h - snapshots for tests, with all that they can have. */
#ifndef HW_SNAPSHOT_FIXTURE_H
#define HW_SNAPSHOT_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "memory.h"
#include "profile.h"
#include "snapshot.h"

enum { FIXTURE_TEMPLATE = 100 << 10 /* bytes of the longest name */ };

/* A function name made to harm its readers. */
static const char *const fixture_names[] = {"main",
                                            "it's \"quoted\" \\ name",
                                            "two\nlines\r\tand\x1b[31mred",
                                            "<script>alert(1)</script>&amp;",
                                            "\xc3\xbc\xff\xfe not UTF-8",
                                            "%s%n",
                                            "../../etc/passwd",
                                            "void f<N>(char const*)"};
enum { FIXTURE_NAMES = sizeof(fixture_names) / sizeof(fixture_names[0]) };

static inline const char *
fixture_text(struct arena *arena, size_t i)
{
    const char *name = fixture_names[i % FIXTURE_NAMES];
    char *copy = arena_strndup(arena, name, strlen(name));

    ck_assert_ptr_nonnull(copy);
    return copy;
}

/* Of so many stacks; each location has inlined frames, some a symbol. */
static inline struct profile *
fixture_stacks(size_t count)
{
    struct profile *profile = mem_zalloc(1, sizeof(*profile));
    struct arena *arena = arena_new(SIZE_MAX);
    struct location *locations = arena_alloc(arena, count * sizeof(*locations));
    struct profile_stack *stacks = arena_alloc(arena, count * sizeof(*stacks));
    struct profile_module *modules = arena_alloc(arena, 2 * sizeof(*modules));
    char *template = arena_alloc(arena, FIXTURE_TEMPLATE + 1);

    memset(template, 'T', FIXTURE_TEMPLATE);
    for (size_t i = 0; i < count; i++) {
        uint32_t frames = (uint32_t)(i % 3) + 1;
        struct frame *list = arena_alloc(arena, frames * sizeof(*list));
        uint32_t *path = arena_alloc(arena, (i % 5) * sizeof(*path));

        for (uint32_t j = 0; j < frames; j++)
            list[j] = (struct frame){fixture_text(arena, i + j),
                                     j ? fixture_text(arena, i) : "",
                                     (uint32_t)(i * 1000003)};
        locations[i] = (struct location){.address = 0x400000 + i * i * i,
                                         .frames = list,
                                         .frame_count = frames,
                                         .in_allocator = i % 7 == 0,
                                         .module = fixture_text(arena, i),
                                         .module_offset = i * 16};
        if (i % 2) {
            locations[i].symbol = fixture_text(arena, i + 1);
            locations[i].symbol_start = UINT64_MAX - i;
        }
        for (size_t j = 0; j < i % 5; j++)
            path[j] = (uint32_t)(i - j);
        stacks[i] = (struct profile_stack){.locations = path,
                                           .depth = (uint32_t)(i % 5),
                                           .objects = 1.5 * (double)i,
                                           .bytes = 1e12 / (double)(i + 3),
                                           .objects_ever = 1e300,
                                           .bytes_ever = 0.1,
                                           .variance = 2.5e20,
                                           .in_use = {i, UINT64_MAX - i},
                                           .ever = {251 + i, 65536 + i}};
        profile->objects += stacks[i].objects;
        profile->bytes += stacks[i].bytes;
        profile->samples += i;
    }
    if (count > 1) /* locations and frames are const behind this */
        ((struct frame *)locations[1].frames)[0].function = template;
    modules[0] = (struct profile_module){0x400000, 0x500000, 4096,
                                         "/usr/bin/db", "00ff0123456789abcdef"};
    modules[1] = (struct profile_module){0x7f0000000000, UINT64_MAX, 0,
                                         "/lib/\x1b[31m.so", ""};
    profile->program = "/usr/bin/db";
    profile->origin = (struct profile_origin){true, 1795228267123, -5};
    profile->locations = locations;
    profile->location_count = count;
    profile->stacks = stacks;
    profile->stack_count = count;
    profile->objects_ever = 7.25;
    profile->bytes_ever = 1e18;
    profile->rate = 524288;
    profile->truncated = true;
    profile->accumulated = true;
    profile->modules = modules;
    profile->module_count = 2;
    profile->note = "nothing of <b>x</b> could be named";
    profile->memory = "profile 1 MB, allocated 2 MB";
    profile->arena = arena;
    return profile;
}

static inline struct snapshot *
fixture_snapshot(const char *name, size_t stacks)
{
    struct snapshot *s = snapshot_new();

    snprintf(s->name, sizeof(s->name), "%s", name);
    s->taken_ms = 1795228267123;
    s->node_id = 10001;
    s->cause = SNAPSHOT_MARK;
    snprintf(s->reason, sizeof(s->reason), "80%% of the \"limit\"\n");
    memset(&s->hello, 'h', sizeof(s->hello));
    snprintf(s->hello.boot_id, sizeof(s->hello.boot_id), "0b-1");
    memset(s->hello.exe, 'x', sizeof(s->hello.exe) - 1); /* the longest */
    s->hello.exe[sizeof(s->hello.exe) - 1] = '\0';
    snprintf(s->hello.mallctl, sizeof(s->hello.mallctl), "mallctl");
    snprintf(s->hello.version, sizeof(s->hello.version), "5.3.0-0-g54eaed1d");
    s->hello.malloc_conf_name[0] = '\0';
    s->memory.allocator_ms = 1795228267100;
    s->memory.rss_ms = 1795228267050;
    s->memory.allocated = (struct stats_figure){true, 1};
    s->memory.active = (struct stats_figure){true, 2};
    s->memory.metadata = (struct stats_figure){true, 3};
    s->memory.resident = (struct stats_figure){true, 4};
    s->memory.mapped = (struct stats_figure){true, 5};
    s->memory.retained = (struct stats_figure){false, 6};
    s->memory.rss = (struct stats_figure){true, UINT64_MAX};
    s->memory.rss_file = (struct stats_figure){true, 8};
    s->memory.cgroup_current = (struct stats_figure){true, 9};
    s->memory.cgroup_limit = (struct stats_figure){false, 0};
    s->profile = fixture_stacks(stacks);
    return s;
}

/* ---- whether two are the same ---- */

#define FIXTURE_SAME(member) ck_assert(a->member == b->member)
#define FIXTURE_TEXT(member) ck_assert_str_eq(a->member, b->member)

static inline void
fixture_same_location(const struct location *a, const struct location *b)
{
    FIXTURE_SAME(address);
    FIXTURE_SAME(frame_count);
    FIXTURE_SAME(in_allocator);
    FIXTURE_TEXT(module);
    FIXTURE_SAME(module_offset);
    ck_assert(!a->symbol == !b->symbol);
    if (a->symbol)
        FIXTURE_TEXT(symbol);
    FIXTURE_SAME(symbol_start);
    for (uint32_t i = 0; i < a->frame_count; i++) {
        FIXTURE_TEXT(frames[i].function);
        FIXTURE_TEXT(frames[i].file);
        FIXTURE_SAME(frames[i].line);
    }
}

static inline void
fixture_same_stack(const struct profile_stack *a, const struct profile_stack *b)
{
    FIXTURE_SAME(depth);
    for (uint32_t i = 0; i < a->depth; i++)
        FIXTURE_SAME(locations[i]);
    FIXTURE_SAME(objects);
    FIXTURE_SAME(bytes);
    FIXTURE_SAME(objects_ever);
    FIXTURE_SAME(bytes_ever);
    FIXTURE_SAME(variance);
    FIXTURE_SAME(in_use.objects);
    FIXTURE_SAME(in_use.bytes);
    FIXTURE_SAME(ever.objects);
    FIXTURE_SAME(ever.bytes);
}

static inline void
fixture_same_profile(const struct profile *a, const struct profile *b)
{
    FIXTURE_TEXT(program);
    FIXTURE_SAME(origin.live);
    FIXTURE_SAME(origin.taken_ms);
    FIXTURE_SAME(origin.active_since_ms);
    FIXTURE_SAME(location_count);
    for (size_t i = 0; i < a->location_count; i++)
        fixture_same_location(&a->locations[i], &b->locations[i]);
    FIXTURE_SAME(stack_count);
    for (size_t i = 0; i < a->stack_count; i++)
        fixture_same_stack(&a->stacks[i], &b->stacks[i]);
    FIXTURE_SAME(objects);
    FIXTURE_SAME(bytes);
    FIXTURE_SAME(objects_ever);
    FIXTURE_SAME(bytes_ever);
    FIXTURE_SAME(samples);
    FIXTURE_SAME(rate);
    FIXTURE_SAME(truncated);
    FIXTURE_SAME(accumulated);
    FIXTURE_SAME(difference);
    FIXTURE_SAME(module_count);
    for (size_t i = 0; i < a->module_count; i++) {
        FIXTURE_SAME(modules[i].start);
        FIXTURE_SAME(modules[i].end);
        FIXTURE_SAME(modules[i].offset);
        FIXTURE_TEXT(modules[i].path);
        FIXTURE_TEXT(modules[i].build_id);
    }
    FIXTURE_TEXT(note);
    FIXTURE_TEXT(memory);
}

static inline void
fixture_same_hello(const struct agent_hello *a, const struct agent_hello *b)
{
    FIXTURE_SAME(pid);
    FIXTURE_SAME(uid);
    FIXTURE_SAME(start_ticks);
    FIXTURE_TEXT(boot_id);
    FIXTURE_TEXT(exe);
    FIXTURE_SAME(allocator);
    FIXTURE_TEXT(mallctl);
    FIXTURE_SAME(mallctl_address);
    FIXTURE_TEXT(version);
    FIXTURE_TEXT(malloc_conf_name);
    FIXTURE_SAME(secure);
    FIXTURE_SAME(config_prof);
    FIXTURE_SAME(opt_prof);
    FIXTURE_SAME(active);
    FIXTURE_SAME(lg_sample);
    FIXTURE_SAME(changes);
    FIXTURE_SAME(resets);
    FIXTURE_SAME(active_since_ms);
    FIXTURE_SAME(active_until_ms);
    FIXTURE_SAME(started_ms);
}

static inline void
fixture_same_memory(const struct snapshot_memory *a,
                    const struct snapshot_memory *b)
{
    const struct stats_figure *one = &a->allocated, *other = &b->allocated;

    ck_assert_int_eq(a->allocator_ms, b->allocator_ms);
    ck_assert_int_eq(a->rss_ms, b->rss_ms);
    /* Nothing but figures behind those. */
    for (const struct stats_figure *end = (const struct stats_figure *)(a + 1);
         one < end; one++, other++) {
        ck_assert(one->known == other->known);
        ck_assert(one->value == other->value);
    }
}

static inline void
fixture_same(const struct snapshot *a, const struct snapshot *b)
{
    FIXTURE_TEXT(name);
    FIXTURE_SAME(taken_ms);
    FIXTURE_SAME(node_id);
    FIXTURE_SAME(cause);
    FIXTURE_TEXT(reason);
    fixture_same_hello(&a->hello, &b->hello);
    fixture_same_memory(&a->memory, &b->memory);
    fixture_same_profile(a->profile, b->profile);
}

#endif
