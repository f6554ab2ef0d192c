/*
 * sleeper.c - see remote.h.
 *
 * A function of libc may be called in a thread only if that thread holds no
 * lock which the function needs: malloc's, the loader's, stdio's.  That cannot
 * be asked, but it can be concluded: a thread that sleeps in accept() which the
 * program itself called holds none of libc's.  So the stack must show a wrapper
 * of libc and above it code that is neither libc's nor malloc's nor a signal
 * frame.  All else is refused, and the next thread is looked at.
 */
#include "remote.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent_protocol.h"
#include "clock.h"
#include "errors.h"
#include "process_stat.h"

enum {
    STACK_FREE_BYTES =
        192 * 1024,     /* free bytes below: the loader relocates there */
    STACK_WORDS = 512,  /* words of the stack examined */
    CALLER_WORDS = 64,  /* in which the wrapper's caller must be */
    CODE_BEFORE = 7,    /* the longest call, and a byte */
    EPOLL_TIMEOUT = 3,  /* the argument */
    FRESH_MS = 1000,    /* time for a new wait to begin */
    THREADS_MAX = 4096, /* threads examined */
    THREADS_NAMED = 4
};

/* Waits for outside events come first; a thread that waits for another one may
 * hold what that one needs. */
static const struct {
    long number;
    const char *name;
    int rank;
    bool restarts; /* starts again with its whole timeout, unlike others */
} calls[] = {
    {SYS_accept, "accept", 0, false},
    {SYS_accept4, "accept4", 0, false},
    {SYS_poll, "poll", 0, false},
    {SYS_ppoll, "ppoll", 0, false},
    {SYS_select, "select", 0, false},
    {SYS_pselect6, "pselect6", 0, false},
    {SYS_epoll_wait, "epoll_wait", 0, true},
    {SYS_epoll_pwait, "epoll_pwait", 0, true},
    {SYS_nanosleep, "nanosleep", 1, false},
    {SYS_clock_nanosleep, "clock_nanosleep", 1, false},
    {SYS_restart_syscall, "a sleep that was interrupted", 1, false},
    {SYS_futex, "futex", SLEEPER_RANK_WAITS, false},
};

/* ---- the stack ---- */

static bool
is_return_address(const struct remote *r, uint64_t address)
{
    unsigned char code[CODE_BEFORE];
    const struct mapping *m = remote_find(r, address);

    if (!m || !m->executable || address - m->start < sizeof(code) ||
        remote_read(r, address - sizeof(code), code, sizeof(code)) != 0)
        return false;
    if (code[2] == 0xe8) /* call rel32 */
        return true;
    /* call r/m64: ff /2 */
    for (size_t size = 2; size <= sizeof(code); size++) {
        const unsigned char *at = code + sizeof(code) - size;

        if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
            return true;
    }
    return false;
}

static bool
is_same_mapped_file(const struct mapping *a, const struct mapping *b)
{
    return a && b && a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

/* Before glibc 2.34 some of libc is in libpthread. */
static bool
is_libc(const struct landmarks *landmarks, const struct mapping *m)
{
    return is_same_mapped_file(m, landmarks->libc) ||
           strncmp(mapping_name(m), "libpthread", strlen("libpthread")) == 0;
}

static bool
is_in_libc_function(const struct remote *r, const struct landmarks *landmarks,
                    uint64_t address, const char *const *names)
{
    const struct mapping *threads = remote_object(r, "libpthread");

    for (; *names; names++) {
        if (remote_symbol(r, landmarks->libc, *names, address) != 0 ||
            (threads && remote_symbol(r, threads, *names, address) != 0))
            return true;
    }
    return false;
}

/* Functions of libc that sleep for the program.  A wait for a condition does
 * not hold its mutex; a wait for a mutex may hold others. */
static const char *const sleepers[] = {"nanosleep", "usleep", "sleep", NULL};
static const char *const conditions[] = {"pthread_cond_wait",
                                         "pthread_cond_timedwait",
                                         "pthread_cond_clockwait",
                                         "sem_wait",
                                         "sem_timedwait",
                                         "sem_clockwait",
                                         NULL};

/* Is this the frame of a signal handler?  The interrupted code may hold any
 * lock. */
static bool
is_handler(const struct landmarks *landmarks, const uint64_t *word,
           const uint64_t *end)
{
    enum { FLAGS = 1, LINK, STACK = 1 + 160 / 8 };

    /* Behind the return address lies the kernel's struct ucontext: uc_flags, of
     * which there are three, uc_link, and at its byte 160 the saved rsp. */
    return *word == landmarks->restorer && end - word > STACK &&
           word[FLAGS] < 8 && word[LINK] == 0 && word[STACK] != 0;
}

/* The stack has the return addresses of a wrapper's frames, among others that
 * earlier calls left.  NULL: the first one outside of libc is the program's
 * own.  A futex may be a wait for a mutex: known_wait is false until a function
 * that waits for a condition is found. */
static const char *
judge_caller(const struct remote *r, const struct landmarks *landmarks,
             const struct sleeper *s, const uint64_t *words, size_t count)
{
    bool known_wait = s->number != SYS_futex, condition;

    for (size_t i = 0; i < count && i < CALLER_WORDS; i++) {
        const struct mapping *m = remote_find(r, words[i]);

        if (!m || !m->executable || !is_return_address(r, words[i]))
            continue;
        if (is_same_mapped_file(m, landmarks->loader))
            return "for the loader";
        if (strstr(mapping_name(m), "malloc"))
            return "for malloc";
        if (!is_libc(landmarks, m))
            return known_wait ? NULL : "for a lock";
        condition = is_in_libc_function(r, landmarks, words[i], conditions);
        known_wait = known_wait || condition;
        if (s->number != SYS_futex &&
            !is_in_libc_function(r, landmarks, words[i], sleepers) &&
            !(s->number == SYS_restart_syscall && condition))
            return "for libc itself";
    }
    return "its caller is not known";
}

static const char *
judge_stack(const struct remote *r, const struct landmarks *landmarks,
            const struct sleeper *s)
{
    const struct mapping *stack = remote_find(r, s->stack);
    uint64_t words[STACK_WORDS];
    size_t count;

    if (!stack)
        return "its stack is not mapped";
    /* The main thread's stack grows by itself. */
    if (strcmp(stack->path, "[stack]") != 0 &&
        s->stack - stack->start < STACK_FREE_BYTES)
        return "its stack has little room";
    count = (size_t)(stack->end - s->stack) / sizeof(*words);
    if (count > STACK_WORDS)
        count = STACK_WORDS;
    if (remote_read(r, s->stack, words, count * sizeof(*words)) != 0)
        return "its stack cannot be read";
    for (size_t i = 0; i < count; i++) {
        if (is_handler(landmarks, words + i, words + count))
            return "in a signal handler";
    }
    return judge_caller(r, landmarks, s, words, count);
}

bool
sleeper_is_fit(const struct remote *r, const struct landmarks *landmarks,
               const struct sleeper *s, const char **why)
{
    static const unsigned char syscall_code[] = {0x0f, 0x05};
    const struct mapping *code = remote_find(r, s->code);
    unsigned char bytes[sizeof(syscall_code)];

    if (!code || !is_libc(landmarks, code))
        *why = "not by libc";
    else if (remote_read(r, s->code - sizeof(bytes), bytes, sizeof(bytes)) !=
                 0 ||
             memcmp(bytes, syscall_code, sizeof(bytes)) != 0)
        *why = "its code is not known";
    else
        *why = judge_stack(r, landmarks, s);
    return *why == NULL;
}

/* ---- the threads ---- */

static bool
read_thread_file_line(pid_t pid, pid_t tid, const char *file, char *out,
                      int size)
{
    char path[64];
    bool read;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
             file);
    f = fopen(path, "re");
    read = f && fgets(out, size, f);
    if (f)
        fclose(f);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read;
}

/* Reads "<number> <6 arguments> <stack> <code>"; the text is "running"
 * otherwise. */
static bool
read_call(pid_t pid, struct sleeper *s)
{
    unsigned long long v[8];
    char text[256];

    if (!read_thread_file_line(pid, s->tid, "syscall", text, sizeof(text)) ||
        sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &s->number,
               &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9)
        return false;
    for (int i = 0; i < 6; i++)
        s->arguments[i] = v[i];
    s->stack = v[6];
    s->code = v[7];
    return true;
}

/* Counts how often the thread has gone to sleep. */
static long
count_sleeps(pid_t pid, pid_t tid)
{
    char status[PROCESS_STATUS_MAX];

    process_status_read(pid, tid, status);
    return process_status_number(status, "voluntary_ctxt_switches");
}

/* How much of an epoll's timeout has passed is unknown, so this waits briefly
 * for a new one.  1: it began at slept_at_ms; 0: there was none, so this one is
 * at least that old; -1: the thread does something else. */
static int
await_fresh(const struct remote *r, struct sleeper *s)
{
    static const struct timespec step = {0, 500 * 1000L};
    uint64_t began = clock_ms();
    long sleeps = count_sleeps(r->pid, s->tid), next;
    struct sleeper now = *s;

    for (uint64_t at = began; at - began < FRESH_MS; at = clock_ms()) {
        nanosleep(&step, NULL);
        next = count_sleeps(r->pid, s->tid);
        if (next == sleeps)
            continue;
        sleeps = next;
        if (!read_call(r->pid, &now) || count_sleeps(r->pid, s->tid) != next)
            continue; /* the thread has not settled yet */
        if (now.number != s->number || now.stack != s->stack ||
            now.code != s->code || (int)now.arguments[EPOLL_TIMEOUT] <= 0)
            return -1;
        s->timeout_ms = (int)now.arguments[EPOLL_TIMEOUT];
        s->slept_at_ms = clock_ms();
        return 1;
    }
    s->slept_at_ms = began;
    return 0;
}

/* NULL, or why this thread is unfit. */
static const char *
check_sleeping_thread(const struct remote *r, const struct landmarks *landmarks,
                      struct sleeper *s)
{
    const char *why;

    if (!read_thread_file_line(r->pid, s->tid, "comm", s->name,
                               sizeof(s->name)))
        return "gone";
    if (strcmp(s->name, "jemalloc_bg_thd") == 0 ||
        strcmp(s->name, AGENT_THREAD_NAME) == 0)
        return "not the program's own";
    if (!read_call(r->pid, s))
        return "running";
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i].number != s->number)
            continue;
        s->call = calls[i].name;
        /* The main thread is preferred: its stack grows. */
        s->rank = calls[i].rank + (s->tid == r->pid ? 0 : 1);
        s->timeout_ms = 0;
        if (calls[i].restarts && (int)s->arguments[EPOLL_TIMEOUT] > 0)
            s->timeout_ms = (int)s->arguments[EPOLL_TIMEOUT];
        return sleeper_is_fit(r, landmarks, s, &why) ? NULL : why;
    }
    return "in another system call";
}

static void
append_rejected_thread(struct error *err, const struct sleeper *s,
                       const char *why, int named)
{
    size_t used = strlen(err->text);

    if (named < THREADS_NAMED)
        snprintf(err->text + used, sizeof(err->text) - used,
                 "%s%s (%d): %s%s%s", named == 0 ? ": " : ", ", s->name,
                 (int)s->tid, s->call ? s->call : "", s->call ? ", " : "", why);
}

/* stale: threads whose wait began at an unknown time come last. */
static int
choose_sleeping_thread(const struct remote *r,
                       const struct landmarks *landmarks, int rank_max,
                       bool stale, struct sleeper *out, struct error *err)
{
    struct sleeper best = {.rank = rank_max + 1};
    char path[32];
    struct dirent *entry;
    int named = 0, looked = 0;
    DIR *dir;

    /* set in advance: append_rejected_thread() adds to it */
    error_set(err, ER_UNKNOWN,
              "no thread sleeps where heapwire-run can use it");
    snprintf(path, sizeof(path), "/proc/%d/task", (int)r->pid);
    dir = opendir(path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    while (dir && looked++ < THREADS_MAX && (entry = readdir(dir)) != NULL) {
        struct sleeper s = {.tid = (pid_t)strtol(entry->d_name, NULL, 10)};
        const char *why;

        if (s.tid <= 0)
            continue;
        why = check_sleeping_thread(r, landmarks, &s);
        if (stale && s.timeout_ms > 0)
            s.rank = SLEEPER_RANK_MAX;
        if (why)
            append_rejected_thread(err, &s, why, named++);
        else if (s.rank < best.rank)
            best = s;
    }
    if (dir)
        closedir(dir);
    if (best.rank > rank_max)
        return -1;
    *out = best;
    return 0;
}

int
sleeper_choose(const struct remote *r, const struct landmarks *landmarks,
               int rank_max, struct sleeper *out, struct error *err)
{
    uint64_t began = clock_ms();
    int fresh = 1;

    if (choose_sleeping_thread(r, landmarks, rank_max, false, out, err) != 0)
        return -1;
    if (out->timeout_ms > 0)
        fresh = await_fresh(r, out);
    if (fresh == 0) {
        if (choose_sleeping_thread(r, landmarks, rank_max, true, out, err) != 0)
            return -1;
        out->slept_at_ms = began;
    }
    return fresh < 0 ? -1 : 0;
}
