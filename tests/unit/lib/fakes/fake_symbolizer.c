/*
 * fake_symbolizer.c - a helper that misbehaves as the name it was started by
 * says (symbolic links): what test_symbolizer.c has to survive.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "symbolizer_wire.h"

enum { SOCKET = 0 };

static const char *started_as;
static struct buffer in, out;
static struct wire_request request;
static int fds[4]; /* that came with it */
static size_t fd_count;
static uint32_t text_count; /* sent for it */

static ssize_t
receive(char *place, size_t size)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control;
    struct iovec piece = {place, size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(SOCKET, &message, 0);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

    if (c) {
        fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fds[0]);
        memcpy(fds, CMSG_DATA(c), fd_count * sizeof(fds[0]));
    }
    return n;
}

static void
read_request(void)
{
    struct span payload;
    ssize_t n;
    char *place;

    while (wire_next(in.data, in.size, WIRE_REQUEST_MAX, &payload) !=
           WIRE_READY) {
        place = buffer_reserve(&in, 4096);
        n = place ? receive(place, 4096) : 0;
        if (n <= 0)
            exit(0);
        buffer_claim(&in, (size_t)n);
    }
    if (!wire_parse_request(payload, &request))
        exit(9);
}

static void
send_all(void)
{
    size_t done = 0;
    ssize_t n;

    while (done < out.size) {
        n = send(SOCKET, out.data + done, out.size - done, MSG_NOSIGNAL);
        if (n <= 0)
            exit(0);
        done += (size_t)n;
    }
    buffer_clear(&out);
}

static uint32_t
put_text(const char *text, size_t max)
{
    if (text[0] == '\0')
        return 0;
    wire_put_text(&out, text, max);
    return ++text_count;
}

/* With texts of its own. */
static void
put_answer(uint64_t start, const char *symbol, const struct frame *frames,
           uint32_t count)
{
    struct wire_frame numbers[NAMES_INLINE_MAX];
    uint32_t number = put_text(symbol, WIRE_NAME_MAX);

    for (uint32_t i = 0; i < count; i++) {
        numbers[i].function = put_text(frames[i].function, WIRE_NAME_MAX);
        numbers[i].file = put_text(frames[i].file, WIRE_FILE_MAX);
        numbers[i].line = frames[i].line;
    }
    wire_put_answer(&out, start, number, numbers, count);
}

/* One answer per address but the last `missing`, named after the offset. */
static void
put_answers(uint32_t missing)
{
    char name[32];
    struct frame frame = {name, "fake.c", 1};

    for (uint32_t i = 0; i + missing < request.count; i++) {
        snprintf(name, sizeof(name), "fake_%llx",
                 (unsigned long long)reader_u64(&request.offsets));
        put_answer(0, "", &frame, 1);
    }
}

static void
good(void)
{
    put_answers(0);
    wire_put_done(&out, "");
    send_all();
}

static void
garbage(void)
{
    buffer_text(&out, "these are not the bytes you asked for");
    send_all();
}

static void
huge(void)
{
    buffer_u32(&out, UINT32_MAX);
    send_all();
    pause();
}

static void
hang(void)
{
    pause();
}

static void
stop(void)
{
    raise(SIGSTOP);
}

static void
die(void)
{
    exit(7);
}

/* As on a busy machine: what closes its socket ends a good while later. */
static void
die_late(void)
{
    close(SOCKET);
    (void)poll(NULL, 0, 2500);
    _exit(7); /* a sanitizer would look for leaks */
}

static void
crash(void)
{
    raise(SIGKILL);
}

static void
half(void)
{
    put_answers(request.count / 2);
    send_all();
    exit(1);
}

static void
few(void)
{
    put_answers(1);
    wire_put_done(&out, "");
    send_all();
}

static void
many(void)
{
    struct frame frame = {"more", "", 0};

    put_answers(0);
    put_answer(0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

static void
flood(void)
{
    struct frame frame = {"more", "", 0};

    for (;;) {
        for (int i = 0; i < 1000; i++)
            put_answer(0, "", &frame, 1);
        send_all();
    }
}

/* Names a text that never came. */
static void
unsent(void)
{
    struct wire_frame frame = {text_count + 1, 0, 0};

    for (uint32_t i = 0; i < request.count; i++)
        wire_put_answer(&out, 0, 0, &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

static void
after(void)
{
    put_answers(0);
    wire_put_done(&out, "");
    buffer_text(&out, "and one thing more");
    send_all();
}

static void
complain(void)
{
    wire_put_done(&out, "no such \033[31mluck");
    send_all();
}

static void
hostile(void)
{
    struct frame frames[NAMES_INLINE_MAX];

    for (uint32_t i = 0; i < request.count; i++) {
        for (size_t j = 0; j < NAMES_INLINE_MAX; j++)
            frames[j] = (struct frame){"\"><script>\n\033]0;x\a\xff\xc3\xa9",
                                       "/a\nb\xe2\x82", UINT32_MAX};
        put_answer(UINT64_MAX, "\033]0;x\a\xff", frames, NAMES_INLINE_MAX);
        send_all();
    }
    wire_put_done(&out, "");
    send_all();
}

static void
dwarf(void)
{
    if (!request.symbols_only)
        exit(1);
    good();
}

/* Parts that say "index", as many as the object's path is long. */
static void
put_parts(void)
{
    for (size_t i = 0; i < request.path.size; i++)
        wire_put_part(&out, "index", 5);
}

static void
parts(void)
{
    if (!request.make_index) {
        good();
        return;
    }
    put_parts();
    wire_put_done(&out, "");
    send_all();
}

static void
half_parts(void)
{
    put_parts();
    send_all();
    exit(1);
}

static void
no_parts(void)
{
    wire_put_done(&out, "");
    send_all();
}

static void
parts_and_complaint(void)
{
    put_parts();
    wire_put_done(&out, "has no debug information");
    send_all();
}

/* Knows symbols only. */
static void
bare(void)
{
    if (request.symbols_do) {
        wire_put_text(&out, "it has no\tdebug information", WIRE_NAME_MAX);
        put_parts();
    }
    wire_put_done(&out, request.symbols_do ? "" : "has no debug information");
    send_all();
}

/* Sends it unasked. */
static void
bare_unasked(void)
{
    wire_put_text(&out, "it has no debug information", WIRE_NAME_MAX);
    put_parts();
    wire_put_done(&out, "");
    send_all();
}

static void
bare_twice(void)
{
    wire_put_text(&out, "it has no debug information", WIRE_NAME_MAX);
    bare();
}

static void
bare_late(void)
{
    put_parts();
    bare();
}

static void
bare_at_length(void)
{
    char text[WIRE_COMPLAINT_MAX + 2];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    wire_put_text(&out, text, WIRE_NAME_MAX);
    put_parts();
    wire_put_done(&out, "");
    send_all();
}

static void
endless_parts(void)
{
    for (;;) {
        put_parts();
        send_all();
    }
}

/* An unrequested answer, or unrequested parts of an index. */
static void
other(void)
{
    struct frame frame = {"more", "", 0};

    if (request.make_index)
        put_answer(0, "", &frame, 1);
    else
        wire_put_part(&out, "index", 5);
    wire_put_done(&out, "");
    send_all();
}

static void
version(void)
{
    exit(WIRE_EXIT_VERSION);
}

static void
not_loaded(void)
{
    exit(127);
}

/* Says what came along: the second of these descriptors. */
static void
second(void)
{
    char name[64];
    struct frame frame = {name, "", 0};
    ssize_t n = fd_count == 2 ? pread(fds[1], name, sizeof(name) - 1, 0) : 0;

    name[n > 0 ? n : 0] = '\0';
    if (!request.has_index || n <= 0)
        snprintf(name, sizeof(name), "index %d, %zu descriptors",
                 request.has_index, fd_count);
    for (uint32_t i = 0; i < request.count; i++)
        put_answer(0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

/* Says what it inherited: nothing but descriptors 0 to 2 is right. */
static void
inherit(void)
{
    extern char **environ;
    char name[128];
    struct frame frame = {name, "", 0};
    sigset_t mask;
    int open_count = 0, blocked = 0;

    for (int fd = 0; fd < 1024; fd++)
        open_count += fcntl(fd, F_GETFD) >= 0;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < SIGRTMAX; i++)
        blocked += sigismember(&mask, i) == 1;
    snprintf(name, sizeof(name),
             "fds %d, env %s, blocked %d, pipe %s, group %s", open_count,
             environ && environ[0] ? "yes" : "no", blocked,
             signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "default" : "changed",
             getpgrp() == getpid() ? "own" : "shared");
    for (uint32_t i = 0; i < request.count; i++)
        put_answer(0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

/* Has no use for an index, and says so once. */
static void
refuse(void)
{
    if (request.has_index)
        wire_put_refused(&out, "of another\nbuild");
    good();
}

static void
refuse_twice(void)
{
    if (request.has_index)
        wire_put_refused(&out, "no");
    refuse();
}

static void
slow_with_indexes(void)
{
    if (request.has_index)
        hang();
    good();
}

/* Dies of any index, and of nothing else. */
static void
sick_of_indexes(void)
{
    if (request.has_index)
        exit(6);
    good();
}

/* Cannot be reaped once it is killed, as if a disk hung, until the name that it
 * was started by is gone: a tracer does not let go of it. */
static void
undead(void)
{
    pid_t self = getpid(), tracer;
    struct frame frame = {"undead", "", 0};
    int ready[2];
    char seized;

    if (pipe(ready) != 0 || (tracer = fork()) < 0)
        exit(9);
    if (tracer == 0) {
        alarm(60);
        while (ptrace(PTRACE_SEIZE, self, 0, 0) != 0 &&
               access(started_as, F_OK) == 0)
            usleep(1000); /* not allowed yet: Yama */
        if (write(ready[1], "x", 1) != 1)
            _exit(9);
        while (access(started_as, F_OK) == 0)
            usleep(10000);
        _exit(0);
    }
    (void)prctl(PR_SET_PTRACER, tracer);
    if (read(ready[0], &seized, 1) != 1)
        exit(9);
    if (request.make_index)
        put_parts();
    else
        put_answer(0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

static void
remark(void)
{
    put_answers(0);
    wire_put_done(&out, "12 units are unknown");
    send_all();
}

static void
refuse_and_remark(void)
{
    if (request.has_index)
        wire_put_refused(&out, "damaged");
    remark();
}

static const struct {
    const char *name;
    void (*answer)(void);
} behaviours[] = {
    {"good", good},
    {"garbage", garbage},
    {"huge", huge},
    {"hang", hang},
    {"stop", stop},
    {"die", die},
    {"die_late", die_late},
    {"crash", crash},
    {"half", half},
    {"few", few},
    {"many", many},
    {"unsent", unsent},
    {"flood", flood},
    {"after", after},
    {"complain", complain},
    {"hostile", hostile},
    {"dwarf", dwarf},
    {"inherit", inherit},
    {"version", version},
    {"not_loaded", not_loaded},
    {"parts", parts},
    {"half_parts", half_parts},
    {"no_parts", no_parts},
    {"parts_and_complaint", parts_and_complaint},
    {"bare", bare},
    {"bare_unasked", bare_unasked},
    {"bare_twice", bare_twice},
    {"bare_late", bare_late},
    {"bare_at_length", bare_at_length},
    {"endless_parts", endless_parts},
    {"refuse", refuse},
    {"refuse_twice", refuse_twice},
    {"refuse_and_remark", refuse_and_remark},
    {"slow_with_indexes", slow_with_indexes},
    {"sick_of_indexes", sick_of_indexes},
    {"remark", remark},
    {"other", other},
    {"undead", undead},
    {"second", second},
};

int
main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    started_as = argc > 0 ? argv[0] : "";
    buffer_init(&in, WIRE_REQUEST_MAX * 2);
    buffer_init(&out, 64 << 20);
    for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
        while (slash && strcmp(slash + 1, behaviours[i].name) == 0) {
            read_request();
            text_count = 0;
            behaviours[i].answer();
            while (fd_count > 0)
                close(fds[--fd_count]);
            buffer_clear(&in);
        }
    return 2;
}
