/*
 * segment.h - the memory that a program's recorder shares with an observer.
 *
 * A memfd, sized and filled by its starter (segment_layout.h), sealed against
 * shrinking and growing.  The recorder maps it; the observer copies it by pread
 * (segment_read.h) and writes nothing but the settings.  Little-endian, all
 * fields of fixed width; a part is an array.  What was never written is zero.
 *
 * The order of publication.  It makes sure that SIGKILL at any instruction
 * leaves at most one wrong sample for each thread:
 *   module  its fields, then its start by release store
 *   stack   its modules, its frames, its fields, then its hash
 *   sample  its stack, its thread, its fields, then its key; removal clears the
 *           key first.  Only then are the stack's sums added to.
 * A hash or a key with SEGMENT_CLAIM marks a slot whose writer is at work, or
 * was interrupted for ever: a reader ignores the slot.
 *
 * The fields have plain types and are accessed by the __atomic builtins, not by
 * stdatomic.h: their layout is a format that other programs map or copy, and C
 * leaves the representation of an _Atomic type open.
 */
#ifndef HW_SEGMENT_H
#define HW_SEGMENT_H

#include <stdint.h>

#define SEGMENT_MAGIC 0x31434552505748ULL /* "HWPREC1" */
#define SEGMENT_CLAIM (1ULL << 63)
/* In a claimed key: a realloc is under way.  The sample still counts, and the
 * block's address is in the sample's own field key.  The lower 32 bits of a
 * claim are the thread's slot + 1, above them is its generation. */
#define SEGMENT_REALLOC          (1ULL << 62)
#define SEGMENT_CLAIM_GENERATION ((1U << 30) - 1)

/* A frame: the return address in the lower bits, the module's index + 1
 * above. */
#define SEGMENT_PC_BITS 48
#define SEGMENT_PC_MASK ((1ULL << SEGMENT_PC_BITS) - 1)

/* Upper bound of means and of blocks. */
#define SEGMENT_MEAN_MAX (1ULL << 48)

enum {
    SEGMENT_VERSION = 1,
    SEGMENT_HEADER_BYTES = 4096,
    SEGMENT_BUCKET = 8,      /* keys: a cache line */
    SEGMENT_DEPTH_MAX = 128, /* frames of a stack, as jemalloc has them */
    SEGMENT_BUILD_ID_MAX = 64,
    SEGMENT_PATH_MAX = 424,
    SEGMENT_NAME_MAX = 16,
    SEGMENT_OBJECT = 256, /* sums of objects are in 256ths */
    /* blocks of this size or more are thinned separately */
    SEGMENT_LARGE = 4 << 20,
    /* The stack of samples whose own stack could not be kept. */
    SEGMENT_STACK_LOST = 0
};

enum segment_part_id {
    SEGMENT_MODULES, /* struct segment_module, in their order of appearance */
    SEGMENT_STACKS,  /* struct segment_stack, hashed, never removed */
    SEGMENT_FRAMES,  /* uint64_t: all stacks', innermost frame first */
    SEGMENT_KEYS,    /* uint64_t: the sampled blocks' addresses, hashed */
    SEGMENT_SAMPLES, /* struct segment_sample, one for each of the keys */
    SEGMENT_THREADS, /* struct segment_thread */
    SEGMENT_PARTS
};

struct segment_part {
    uint64_t offset; /* in the segment; a multiple of 64 */
    uint32_t count;
    uint32_t entry_bytes;
};

/* What the observer requests.  The recorder reads it when a thread takes a
 * sample, and after at most SAMPLER_POLL_BYTES bytes. */
struct segment_settings {
    uint32_t active;             /* 0: nothing is sampled, frees are followed */
    uint32_t samples_per_second; /* of a thread; 0: no cap */
    uint64_t mean_bytes;         /* between samples; 0, 1: every allocation */
    uint64_t since_ns;           /* samples taken before are forgotten */
};

/* What became of the plan (patch_plan.h), if there was one. */
enum segment_patch {
    SEGMENT_PATCH_NONE,
    SEGMENT_PATCH_DONE,
    SEGMENT_PATCH_NO_PLAN, /* it cannot be read */
    SEGMENT_PATCH_THREADS, /* the process has several, or no /proc */
    SEGMENT_PATCH_OTHER,   /* the program is not the one that was planned for */
    SEGMENT_PATCH_NO_ROOM, /* none near the program's code */
    SEGMENT_PATCH_FORBIDDEN /* memory that was written to may not be executed */
};

struct segment_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t segment_bytes;
    struct segment_part parts[SEGMENT_PARTS];
    uint32_t patch; /* enum segment_patch, by the recorder */
    /* Stacks that the library's unwinder walked, not the unwind tables; wraps
     * to 0. */
    uint32_t by_library;
    /* Offset 128: a cache line that the observer writes. */
    struct segment_settings settings;
    struct segment_settings
        first_settings; /* each owner's begins as this one */
    /* The previous owner, if its end made this one a daemon; or 0. */
    uint64_t forked_from;
    uint64_t unused_settings;
    /* Offset 192: written by the recorder. */
    uint64_t owner;         /* process id: 0 until a program claims it */
    uint64_t owner_started; /* its start, in ticks since boot */
    /* Counts the owners so far: raised once before the table is emptied for a
     * new one, and once after. */
    uint32_t executions;
    /* Each owner begins with zeros from here on. */
    uint32_t module_count;
    uint32_t thread_count;
    uint32_t thinning; /* tid of the thread that thins, or 0 */
    /* in use: the settings' mean, doubled where the table was full */
    uint64_t mean_bytes;
    uint64_t mean_large;     /* the mean of large blocks, if it is greater */
    uint64_t mean_requested; /* the setting from which both were derived */
    /* may exceed the part's count: those stacks are lost */
    uint64_t frame_count;
    uint64_t live_samples;   /* approximate */
    uint64_t live_large;     /* how many of these are of large blocks */
    uint64_t lost_samples;   /* samples that found no room */
    uint64_t lost_stacks;    /* samples of SEGMENT_STACK_LOST */
    uint64_t doublings;      /* of either mean */
    uint64_t missed_threads; /* samples of threads that found no room */
    uint64_t taken_samples;  /* since the begin, or the last reset */
};

struct segment_module {
    uint64_t start, end; /* of its mapping; start is stored last */
    uint64_t base;       /* add it to an address of the file */
    uint32_t build_id_size;
    uint32_t path_size; /* may pass SEGMENT_PATH_MAX: then it was cut */
    uint8_t build_id[SEGMENT_BUILD_ID_MAX];
    char path[SEGMENT_PATH_MAX]; /* not NUL-terminated */
};

struct segment_stack {
    uint64_t hash; /* 0: none here */
    uint32_t first_frame;
    uint32_t depth;
    /* Weighted sums of its samples since the recorder began. */
    uint64_t allocated_bytes, allocated_objects;
    uint64_t freed_bytes, freed_objects;
    uint64_t unused[2];
};

struct segment_sample {
    uint64_t key;     /* the key again: differs from it in a torn copy */
    uint64_t size;    /* bytes, as the program asked for them */
    uint64_t mean;    /* its weight is 1/estimator_chance(size, mean) */
    uint64_t time_ns; /* CLOCK_MONOTONIC_COARSE */
    uint32_t stack;
    uint32_t thread; /* index; UINT32_MAX: unknown */
    uint32_t thread_generation;
    uint32_t unused;
};

struct segment_thread {
    uint32_t tid;        /* 0: none here */
    uint32_t generation; /* one more for each thread that has had the slot */
    uint64_t started_ns; /* time of its first sample */
    char name[SEGMENT_NAME_MAX];
};

_Static_assert(sizeof(struct segment_header) == 312, "a format of its own");
_Static_assert(sizeof(struct segment_module) == 520, "a format of its own");
_Static_assert(sizeof(struct segment_stack) == 64, "a format of its own");
_Static_assert(sizeof(struct segment_sample) == 48, "a format of its own");
_Static_assert(sizeof(struct segment_thread) == 32, "a format of its own");

#endif
