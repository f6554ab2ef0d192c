/*
 * fake_symbolizer.c - a helper that misbehaves as the name it was started by
 * says (symbolic links): what test_symbolizer.c has to survive.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "symbolizer_wire.h"

enum { SOCKET = 0 };

static struct buffer in, out;
static struct wire_request request;

static void
read_request(void)
{
    struct span payload;
    ssize_t n;
    char *place;

    while (wire_next(in.data, in.size, WIRE_REQUEST_MAX, &payload) !=
           WIRE_READY) {
        place = buffer_reserve(&in, 4096);
        n = place ? read(SOCKET, place, 4096) : 0;
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

/* One answer per address but the last `missing`, named after the offset. */
static void
put_answers(uint32_t missing)
{
    char name[32];
    struct frame frame = {name, "fake.c", 1};

    for (uint32_t i = 0; i + missing < request.count; i++) {
        snprintf(name, sizeof(name), "fake_%llx",
                 (unsigned long long)reader_u64(&request.offsets));
        wire_put_answer(&out, 0, "", &frame, 1);
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
    wire_put_answer(&out, 0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

static void
flood(void)
{
    struct frame frame = {"more", "", 0};

    for (;;) {
        for (int i = 0; i < 1000; i++)
            wire_put_answer(&out, 0, "", &frame, 1);
        send_all();
    }
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
        wire_put_answer(&out, UINT64_MAX, "\033]0;x\a\xff", frames,
                        NAMES_INLINE_MAX);
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

static void
version(void)
{
    exit(WIRE_EXIT_VERSION);
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
        wire_put_answer(&out, 0, "", &frame, 1);
    wire_put_done(&out, "");
    send_all();
}

static const struct {
    const char *name;
    void (*answer)(void);
} behaviours[] = {
    {"good", good},         {"garbage", garbage}, {"huge", huge},
    {"hang", hang},         {"stop", stop},       {"die", die},
    {"crash", crash},       {"half", half},       {"few", few},
    {"many", many},         {"flood", flood},     {"after", after},
    {"complain", complain}, {"hostile", hostile}, {"dwarf", dwarf},
    {"inherit", inherit},   {"version", version},
};

int
main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    buffer_init(&in, WIRE_REQUEST_MAX * 2);
    buffer_init(&out, 64 << 20);
    for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
        while (slash && strcmp(slash + 1, behaviours[i].name) == 0) {
            read_request();
            behaviours[i].answer();
            buffer_clear(&in);
        }
    return 2;
}
