/*
 * agent_probe.c - talk to an agent by hand, for the integration tests.
 *
 * agent_probe DIR COMMAND, which is one of
 *     hello, guard SECONDS, active, enable, enable_for SECONDS, disable,
 *     stats FILE, allocators FILE, reset LG, reset_forced LG,
 *     dump FILE MAPS, object MAJOR:MINOR INODE FILE,
 *     watch SECONDS, short, badop
 * Prints key=value lines.  Exit status: 0 answered with OK, 1 refused or failed
 * (stdout says why), 2 usage, 3 no agent there, 4 no answer in time.  The
 * environment: CONNECT_MS (60000), ANSWER_MS (60000).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent_protocol.h"

enum { OK, REFUSED, USAGE, ABSENT, SILENT };

struct exchange {
    int socket;
    struct agent_request request;
    struct agent_reply reply;
    int fds[AGENT_FDS_MAX];
    size_t fd_count;
};

static int
environment_ms(const char *name)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

    return text ? (int)strtol(text, NULL, 10) : 60000;
}

static int
connect_to(const char *dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timespec pause = {.tv_nsec = 20000000};
    int left_ms = environment_ms("CONNECT_MS");
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path),
                         "%s/" AGENT_SOCKET, dir) >= sizeof(address.sun_path))
        return -1;
    for (;; left_ms -= 20) {
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return fd;
        if (left_ms <= 0)
            return -1;
        nanosleep(&pause, NULL);
    }
}

static void
take_fds(struct exchange *x, struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);

    if (!header || header->cmsg_type != SCM_RIGHTS)
        return;
    x->fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(x->fds, CMSG_DATA(header), x->fd_count * sizeof(int));
}

/* Sends size bytes of the request and waits for the whole reply. */
static int
ask(struct exchange *x, size_t size)
{
    struct pollfd polled = {.fd = x->socket, .events = POLLIN};
    struct iovec piece = {.iov_base = &x->reply, .iov_len = sizeof(x->reply)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(AGENT_FDS_MAX * sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    if (send(x->socket, &x->request, size, MSG_NOSIGNAL) < 0) {
        printf("closed=1\n");
        return REFUSED;
    }
    if (poll(&polled, 1, environment_ms("ANSWER_MS")) == 0) {
        printf("silent=1\n");
        return SILENT;
    }
    n = recvmsg(x->socket, &message, MSG_CMSG_CLOEXEC);
    if (n != (ssize_t)sizeof(x->reply)) {
        printf("closed=1\n");
        return REFUSED;
    }
    take_fds(x, &message);
    if (x->reply.id != x->request.id || x->reply.op != x->request.op) {
        printf("mixed=1\n");
        return REFUSED;
    }
    printf("status=%u\nfds=%zu\n", x->reply.status, x->fd_count);
    if (x->reply.status != AGENT_OK)
        printf("error=%d\ntext=%.*s\n", x->reply.error, AGENT_TEXT_MAX,
               x->reply.text);
    return x->reply.status == AGENT_OK ? OK : REFUSED;
}

static void
print_hello(const struct agent_hello *h)
{
    printf("pid=%d\nuid=%u\nstart_ticks=%llu\nboot_id=%s\nexe=%s\n", h->pid,
           h->uid, (unsigned long long)h->start_ticks, h->boot_id, h->exe);
    printf("allocator=%u\nmallctl=%s\nversion=%s\nconf=%s\nsecure=%u\n",
           h->allocator, h->mallctl, h->version, h->malloc_conf_name,
           h->secure);
    printf("config_prof=%u\nopt_prof=%u\nactive=%u\nlg_sample=%u\n",
           h->config_prof, h->opt_prof, h->active, h->lg_sample);
    printf("changes=%u\nactive_since=%lld\nstarted=%lld\n", h->changes,
           (long long)h->active_since_ms, (long long)h->started_ms);
    printf("resets=%u\nactive_until=%lld\n", h->resets,
           (long long)h->active_until_ms);
    printf("address=%llx\n", (unsigned long long)h->mallctl_address);
}

/* The whole file, from its start, into path; it prints its seals. */
static int
save(int fd, const char *path)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char bytes[65536];
    off_t at = 0;
    ssize_t n;

    if (out < 0)
        return REFUSED;
    while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
        if (write(out, bytes, (size_t)n) != n)
            return REFUSED;
        at += n;
    }
    close(out);
    printf("bytes=%lld\nseals=%d\n", (long long)at, fcntl(fd, F_GET_SEALS));
    return n == 0 ? OK : REFUSED;
}

static int
run_hello(struct exchange *x, char **args)
{
    int rc = ask(x, sizeof(x->request));

    (void)args;
    if (rc == OK) {
        print_hello(&x->reply.hello);
        printf("unguarded=%llu\n", (unsigned long long)x->reply.value);
        printf("knows=%d\nnote=%.*s\n", x->reply.error, AGENT_TEXT_MAX,
               x->reply.text);
    }
    return rc;
}

static int
run_guard(struct exchange *x, char **args)
{
    x->request.seconds = strtoull(args[0], NULL, 10);
    return ask(x, sizeof(x->request));
}

static int
run_value(struct exchange *x, char **args)
{
    int rc;

    (void)args;
    rc = ask(x, sizeof(x->request));
    printf("value=%llu\n", (unsigned long long)x->reply.value);
    return rc;
}

static int
run_enable_for(struct exchange *x, char **args)
{
    x->request.seconds = strtoull(args[0], NULL, 10);
    return ask(x, sizeof(x->request));
}

static int
run_reset(struct exchange *x, char **args)
{
    x->request.number = strtoull(args[0], NULL, 10);
    return ask(x, sizeof(x->request));
}

static int
run_reset_forced(struct exchange *x, char **args)
{
    x->request.force = 1;
    return run_reset(x, args);
}

static int
run_dump(struct exchange *x, char **args)
{
    int rc = ask(x, sizeof(x->request));

    printf("microseconds=%llu\n", (unsigned long long)x->reply.value);
    if (rc != OK || x->fd_count != 2)
        return REFUSED;
    rc = save(x->fds[0], args[0]);
    return rc == OK ? save(x->fds[1], args[1]) : rc;
}

static int
run_stats(struct exchange *x, char **args)
{
    int rc = ask(x, sizeof(x->request));

    printf("microseconds=%llu\n", (unsigned long long)x->reply.value);
    return rc == OK && x->fd_count == 1 ? save(x->fds[0], args[0]) : REFUSED;
}

static int
run_object(struct exchange *x, char **args)
{
    unsigned major_number, minor_number;
    int rc;

    /* NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(args[0], "%x:%x", &major_number, &minor_number) != 2)
        return USAGE;
    x->request.number = makedev(major_number, minor_number);
    x->request.inode = strtoull(args[1], NULL, 10);
    rc = ask(x, sizeof(x->request));
    return rc == OK ? save(x->fds[0], args[2]) : rc;
}

/* Holds the connection and says when the agent's end of it closes. */
static int
run_watch(struct exchange *x, char **args)
{
    struct pollfd polled = {.fd = x->socket, .events = POLLIN};
    char byte;

    printf("watching\n");
    fflush(stdout);
    if (poll(&polled, 1, (int)strtol(args[0], NULL, 10) * 1000) == 0) {
        printf("ended=0\n");
        return SILENT;
    }
    printf("ended=%d\n", recv(x->socket, &byte, 1, 0) == 0);
    return OK;
}

static int
run_short(struct exchange *x, char **args)
{
    (void)args;
    return ask(x, sizeof(x->request) - 1);
}

static const struct command {
    const char *name;
    int args;
    uint32_t op;
    uint64_t number;
    int (*run)(struct exchange *x, char **args);
} commands[] = {
    {"hello", 0, AGENT_HELLO, 0, run_hello},
    {"guard", 1, AGENT_HELLO, 1, run_guard},
    {"active", 0, AGENT_GET_ACTIVE, 0, run_value},
    {"enable", 0, AGENT_SET_ACTIVE, 1, run_value},
    {"enable_for", 1, AGENT_SET_ACTIVE, 1, run_enable_for},
    {"reset", 1, AGENT_RESET, 0, run_reset},
    {"reset_forced", 1, AGENT_RESET, 0, run_reset_forced},
    {"disable", 0, AGENT_SET_ACTIVE, 0, run_value},
    {"stats", 1, AGENT_STATS, 0, run_stats},
    {"allocators", 1, AGENT_ALLOCATORS, 0, run_stats},
    {"dump", 2, AGENT_DUMP, 0, run_dump},
    {"object", 3, AGENT_OBJECT, 0, run_object},
    {"watch", 1, 0, 0, run_watch},
    {"short", 0, AGENT_HELLO, 0, run_short},
    {"badop", 0, 77, 0, run_value},
};

int
main(int argc, char **argv)
{
    struct exchange x = {.request = {.protocol = AGENT_PROTOCOL, .id = 42}};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *command = &commands[i];

        if (argc < 3 || strcmp(argv[2], command->name) != 0 ||
            argc != 3 + command->args)
            continue;
        x.socket = connect_to(argv[1]);
        if (x.socket < 0) {
            printf("absent=1\n");
            return ABSENT;
        }
        x.request.op = command->op;
        x.request.number = command->number;
        return command->run(&x, argv + 3);
    }
    fprintf(stderr, "usage: agent_probe DIR COMMAND [ARGUMENT...]\n");
    return USAGE;
}
