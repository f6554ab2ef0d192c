/*
 * agent_protocol.h - the protocol of heapwired and the agent inside the
 * database.
 *
 * A SOCK_SEQPACKET unix socket, <state dir>/agent.sock.  One fixed-size request
 * is one packet, its fixed-size reply another, with at most AGENT_FDS_MAX
 * descriptors as ancillary data (SCM_RIGHTS).  heapwired asks, the agent
 * answers, one request at a time; the newest connection wins.  Native byte
 * order: both ends are on one machine.  Every text is NUL-terminated; receivers
 * force it.
 */
#ifndef HW_AGENT_PROTOCOL_H
#define HW_AGENT_PROTOCOL_H

#include <stdint.h>

#define AGENT_SOCKET "agent.sock"
#define AGENT_ANSWER                                                           \
    "agent.answer"              /* a moment, where memfd_create is forbidden */
#define AGENT_LOCK "agent.lock" /* fcntl-locked by the serving process */
/* Why an agent has left a process that lives on, as lines in the lock: the tag,
 * then "PID START_TICKS REASON".  The first line is of the process that served;
 * the one at AGENT_EARLY_AT of a process whose agent ended before it served. */
#define LEAVE_REASON_TAG  "heapwire-agent "
#define LEAVE_REASON_LINE LEAVE_REASON_TAG "%d %llu %s\n"

/* Settings of the agent, as variables of the environment or lines of
 * heapwire_start(). */
#define AGENT_ENV_PREFIX "HEAPWIRE_"
/* Variables by which heapwire-run configures the preloaded agent. */
#define AGENT_ENV_EXE   "HEAPWIRE_EXE"       /* the database's path */
#define AGENT_ENV_STATE "HEAPWIRE_STATE_DIR" /* absolute */
/* Where nothing else starts heapwired, the agent does: heapwired's path, and
 * one setting for each of its options except --state-dir. */
#define AGENT_ENV_HEAPWIRED "HEAPWIRE_HEAPWIRED"
#define AGENT_ENV_OPTION    "HEAPWIRE_OPTION"
/* The descriptor of the segment that the recorder in the database writes. */
#define AGENT_ENV_RECORDER "HEAPWIRE_RECORDER"
/* Which process to serve, if not the started one: "parent", "child" (the first
 * forked one; once it has ended, the next), or a part of a process's name or
 * title. */
#define AGENT_ENV_PROCESS    "HEAPWIRE_PROCESS"
#define AGENT_PROCESS_PARENT "parent"
#define AGENT_PROCESS_CHILD  "child"
/* Set for a heapwired that the agent started; a byte in this file of the state
 * directory makes it end. */
#define AGENT_ENV_STARTED "HEAPWIRE_STARTED_BY_AGENT"
#define AGENT_LINGER      "linger"
/* heapwire-run's findings in files: "<build-id>,<address>,<prefix>,<variable>,
 * <how>" each, ';' between them.  build-id and address (of <prefix>mallctl, as
 * the file has it; 0: not found) in hex; for a file without build-id: '-' and
 * the first 32 bytes of the function. */
#define AGENT_ENV_JEMALLOC "HEAPWIRE_JEMALLOC"
/* Which jemalloc, where there are several: the name of its mallctl, or its
 * object's path or base name. */
#define AGENT_ENV_ALLOCATOR "HEAPWIRE_ALLOCATOR"
/* The options to add to jemalloc's variable when opt.prof turns out to be
 * false. */
#define AGENT_ENV_PROFILING "HEAPWIRE_PROFILING"
/* Where heapwire-run awaits milestones of the start: an abstract socket's name,
 * a blank, and the secret that precedes each milestone in its datagram. */
#define AGENT_ENV_START "HEAPWIRE_START"
/* The process that the agent has already executed again with these options. */
#define AGENT_ENV_AGAIN "HEAPWIRE_AGAIN"

/* "no": AGENT_DUMPABLE is refused. */
#define AGENT_ENV_DUMPABLE "HEAPWIRE_DUMPABLE"

/* The calls that heapwire-run may make under its seccomp filters
 * (confined.h). */
#define AGENT_ENV_FILTERS "HEAPWIRE_FILTERS"

/* The name of the agent's thread, by which other processes recognise it. */
#define AGENT_THREAD_NAME "heapwire"

enum agent_milestone { AGENT_LOADED = 'L', AGENT_AT_MAIN = 'M' };

enum {
    AGENT_PROTOCOL = 2, /* raised when an older end would misread it */
    AGENT_NAME_MAX = 64,
    AGENT_PATH_MAX = 1024,
    AGENT_SETTINGS_MAX = 16384,
    AGENT_TEXT_MAX = 256,
    AGENT_EARLY_AT = AGENT_TEXT_MAX,
    AGENT_FDS_MAX = 2,
    AGENT_SECONDS_MAX = 366 * 86400,
    AGENT_DUMPABLE_MAX_S = 3600,
    /* Of AGENT_LEVER. */
    AGENT_LEVER_MAX_S = 86400,
    AGENT_DECAY_MAX_MS = 86400000, /* -1: never */
    AGENT_BY_MAX = 65,             /* bytes of the user's name, with the NUL */
    AGENT_SMAPS_MAX = 16 << 20,    /* some 20,000 mappings */
    /* Limits of AGENT_RESET. Below the minimum nearly every allocation is
     * unwound: that needs force.  Above the maximum a thread's distance to its
     * next sample may be so long that it never sees a smaller rate. */
    AGENT_LG_SAMPLE_MIN = 16,
    AGENT_LG_SAMPLE_MAX = 30,
    AGENT_LG_SAMPLE_SAME = 255 /* keep the rate */
};

enum agent_op {
    /* Fills reply.hello.  number = 1: when no request comes for so many seconds
     * (0: no limit), the agent switches profiling off, because heapwired no
     * longer limits its cost.  reply.value: when the agent did so (wall clock),
     * or 0, also once profiling is on again.  reply.error: enum agent_knows.
     * reply.text: why hello.allocator is not AGENT_OK, or a note about
     * profiles; may be empty.  Older ends leave all of them 0 and ignore them.
     */
    AGENT_HELLO = 1,
    AGENT_GET_ACTIVE, /* value = prof.active */
    /* number = 0 or 1; also prof.thread_active_init.  seconds: off again
     * after so many, by itself, if it is not on for longer; 0: never. */
    AGENT_SET_ACTIVE,
    AGENT_DUMP,   /* memfds: the profile, /proc/self/maps taken after it */
    AGENT_OBJECT, /* number = device, inode: fds: that mapped file */
    AGENT_STATS,  /* memfd: statistics, lines "name value" */
    /* Forgets all samples; number = lg_sample from now on. */
    AGENT_RESET,
    /* memfd: every jemalloc of the process, a line each, see
     * jemalloc.h. */
    AGENT_ALLOCATORS,
    AGENT_MAPS, /* memfd: /proc/self/maps */
    /* number = an address of an object's code: with the request comes a
     * descriptor of its unwind table (unwind_table.h), sealed.  number = 0:
     * those are all; samples' stacks are walked by them from now on. */
    AGENT_TABLE,
    /* number = 1: makes the process dumpable, if it is not, for at most so many
     * seconds from now, which the next request extends or shortens, and no
     * longer than the connection lasts.  value = 1: it is so by the agent; 0:
     * it was so.  number = 0: as it was; where that fails, value = 1. */
    AGENT_DUMPABLE,
    /* number = enum agent_lever; with the request comes a file with who asks,
     * or none.  seconds: put back after so many, by the agent itself.  inode,
     * force: dirty and muzzy ms as int64_t, or whether on.  memfd: what
     * jemalloc and the kernel counted before and after, and the levers that are
     * in force, lines "name value" (lever_write.c).  AGENT_NOT_FOUND: this
     * jemalloc has no such lever. */
    AGENT_LEVER,
    /* memfds: /proc/self/smaps, at most AGENT_SMAPS_MAX bytes of it (value = 1:
     * there are more), and a line for each thread: "<tid> <what its file
     * syscall says>\t<name>".  The kernel looks at each page for it. */
    AGENT_SMAPS
};

enum agent_lever {
    AGENT_LEVERS, /* changes nothing */
    AGENT_PURGE,
    AGENT_DECAY,
    AGENT_BACKGROUND,
    AGENT_UNDO /* all that are in force */
};

/* Abilities that the first agent of this protocol lacked: bits. */
enum agent_knows {
    AGENT_KNOWS_ALLOCATORS = 1,
    /* Of a jemalloc with AGENT_NO_PROF, the text of AGENT_HELLO is the name of
     * the file that has it. */
    AGENT_KNOWS_OBJECT = 2,
    /* Of AGENT_PROF_RECORDED: the program's own malloc is patched. */
    AGENT_KNOWS_PATCHED = 4,
    AGENT_KNOWS_TABLES = 8,
    AGENT_KNOWS_DUMPABLE = 16,
    AGENT_KNOWS_LEVERS = 32,
    AGENT_KNOWS_SMAPS = 64
};

enum agent_status {
    AGENT_OK = 0,
    AGENT_NO_JEMALLOC, /* no jemalloc in the process, or none serves malloc */
    AGENT_NO_PROF,     /* jemalloc built without --enable-prof */
    AGENT_PROF_OFF,    /* opt.prof is false: MALLOC_CONF lacked prof:true */
    AGENT_NOT_FOUND,   /* object or statistic unknown */
    AGENT_FAILED,      /* error and text say why */
    AGENT_BAD_REQUEST, /* protocol or op unknown */
    AGENT_UNUSABLE     /* there is a jemalloc, but it cannot be called */
};

/* A process with a recorder (plugin/recorder) does not dump: the profile is in
 * the recorder's segment.  The agent switches and resets in there.  A process
 * that was forked from such a one is not recorded. */
enum { AGENT_PROF_RECORDED = 2, AGENT_PROF_FORKED = 3 };

struct agent_hello {
    int32_t pid;
    uint32_t uid;         /* effective, now */
    uint64_t start_ticks; /* field 22 of /proc/self/stat */
    char boot_id[40];
    char exe[AGENT_PATH_MAX];
    uint32_t allocator;           /* enum agent_status: OK, NO_JEMALLOC, ... */
    char mallctl[AGENT_NAME_MAX]; /* "mallctl", "je_mallctl", ... */
    uint64_t mallctl_address;     /* lies in the allocator's own object */
    char version[AGENT_NAME_MAX]; /* jemalloc's */
    char malloc_conf_name[AGENT_NAME_MAX]; /* variable this build reads */
    uint32_t secure; /* AT_SECURE: the variable is ignored */
    uint32_t config_prof;
    uint32_t opt_prof; /* or AGENT_PROF_* */
    uint32_t active;
    uint32_t lg_sample;
    uint32_t changes;        /* times we switched profiling */
    uint32_t resets;         /* times we reset the profile */
    int64_t active_since_ms; /* wall clock; 0 while inactive.  The first time
                                since the last reset: samples survive pauses.
                                Later than started_ms: it was off before */
    int64_t active_until_ms; /* switches itself off then; 0: does not */
    int64_t started_ms;      /* when the agent began to serve */
};

struct agent_request {
    uint32_t protocol, op;
    uint64_t id; /* echoed; the client never reuses one */
    uint64_t number;
    uint64_t inode;
    uint64_t seconds;
    uint64_t force;
};

struct agent_reply {
    uint32_t protocol, op;
    uint64_t id;
    uint32_t status; /* enum agent_status */
    int32_t error;   /* errno or what mallctl returned; 0 */
    uint64_t value;
    char text[AGENT_TEXT_MAX]; /* what failed, when status says so */
    struct agent_hello hello;  /* AGENT_HELLO only */
};

#endif
