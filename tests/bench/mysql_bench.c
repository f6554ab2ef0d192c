/*
 * mysql_bench.c - what a server of the MySQL protocol does in a second, and
 * what that costs it.
 *
 * mysql_bench [options] query TEXT    closed loop over -c connections
 *                       execute TEXT  likewise, prepared, one parameter: 42
 *                       connect       logins, -c at a time
 *                       idle          -c connections doing nothing
 *                       stream TEXT   one result, read to its end
 * -P PID of the server, -p PORT or -S SOCKET, -u USER, -w PASSWORD,
 * -s SECONDS, -t (TLS), -r RATE: of queries a second on each connection,
 * instead of the loop.  Prints key=value words on one line.
 *
 * The client must not be what is measured: in the loops a reply is counted in
 * bytes, not read, since equal statements get replies of equal length.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench_client.h"

enum {
    COM_QUERY = 0x03,
    COM_STMT_PREPARE = 0x16,
    COM_STMT_EXECUTE = 0x17,
    EVENTS = 64,
    CONNECTIONS_MAX = 20000,
    LOOP_BUFFER = 64 * 1024,
    STREAM_BUFFER = 256 * 1024
};

struct bench {
    struct client_options client;
    pid_t pid;
    size_t connections;
    double seconds, rate; /* rate 0: as many as there can be */
    const char *text;
};

/* Loops */

struct loop_client {
    struct client client;
    uint8_t *request;
    size_t request_size, left; /* left: bytes of the reply still to come */
    double due; /* paced: when the next, or present, request is to be sent */
};

struct loop {
    struct loop_client *clients;
    size_t count, reply_size;
    uint64_t done;
    int epoll;
    double pace;  /* seconds between two requests of a connection, or 0 */
    double *late; /* from when it was due to its reply's end */
    size_t late_max;
};

static uint8_t *
query_request(struct client *c, const char *text, size_t *size)
{
    (void)c;
    return command_packet(COM_QUERY, text, strlen(text), size);
}

static size_t
packets_until_eof(struct client *c, unsigned count)
{
    uint8_t p[CLIENT_PACKET_MAX + 1], sequence;
    size_t n = 0;

    for (unsigned i = 0; count > 0 && i < count + 1; i++)
        n += client_packet(c, p, &sequence);
    return n;
}

/* One parameter, a BIGINT of 42. */
static uint8_t *
execute_request(struct client *c, const char *text, size_t *size)
{
    uint8_t p[CLIENT_PACKET_MAX + 1], sequence, *prepare;
    uint8_t body[] = {0, 0, 0,  0, 0, 1, 0, 0, 0, 0, 1,
                      8, 0, 42, 0, 0, 0, 0, 0, 0, 0};
    size_t n;

    prepare = command_packet(COM_STMT_PREPARE, text, strlen(text), size);
    client_write(c, prepare, *size);
    free(prepare);
    n = client_packet(c, p, &sequence);
    if (n < 12 || p[0] != 0)
        fail("cannot prepare: %.*s", n > 9 ? (int)(n - 9) : 0, p + 9);
    if ((p[7] | p[8] << 8) != 1)
        fail("the statement has %d parameters", p[7] | p[8] << 8);
    memcpy(body, p + 1, 4);
    packets_until_eof(c, 1);
    packets_until_eof(c, (unsigned)(p[5] | p[6] << 8));
    return command_packet(COM_STMT_EXECUTE, body, sizeof(body), size);
}

static void
ask(struct loop *loop, struct loop_client *c)
{
    c->left = loop->reply_size;
    client_write(&c->client, c->request, c->request_size);
}

static void
on_reply(struct loop *loop, struct loop_client *c)
{
    static uint8_t bytes[LOOP_BUFFER];
    ssize_t n = recv(c->client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n <= 0 || (size_t)n > c->left)
        fail("an unexpected reply (%zd bytes of %zu)", n, c->left);
    c->left -= (size_t)n;
    if (c->left > 0)
        return;
    if (n >= 5 && bytes[n - 5] != 0xfe)
        fail("a reply has another end");
    if (loop->pace > 0) {
        if (loop->done < loop->late_max)
            loop->late[loop->done] = now_s() - c->due;
        c->due += loop->pace;
    } else {
        ask(loop, c);
    }
    loop->done++;
}

/* Asks what is due; the time until the next is.  A request that waits for the
 * reply to the one before is late from when it was due itself. */
static double
ask_due(struct loop *loop)
{
    double now = now_s(), next = now + 5;

    for (size_t i = 0; i < loop->count; i++) {
        struct loop_client *c = &loop->clients[i];

        if (c->left == 0 && c->due <= now)
            ask(loop, c);
        else if (c->left == 0 && c->due < next)
            next = c->due;
    }
    return next - now;
}

static void
turn(struct loop *loop, double until)
{
    struct epoll_event events[EVENTS];
    double wait = 5;
    struct timespec timeout;
    int n;

    do {
        if (loop->pace > 0)
            wait = ask_due(loop);
        timeout =
            (struct timespec){(time_t)wait, (long)(wait * 1e9) % 1000000000};
        n = epoll_pwait2(loop->epoll, events, EVENTS, &timeout, NULL);
        if (n < 0 || (n == 0 && loop->pace == 0))
            fail("no reply for 5 s");
        for (int i = 0; i < n; i++)
            on_reply(loop, events[i].data.ptr);
    } while (now_s() < until);
}

static int
compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
print_late(const struct loop *loop)
{
    size_t n = loop->done < loop->late_max ? loop->done : loop->late_max;

    qsort(loop->late, n, sizeof(*loop->late), compare_times);
    printf(" p50_us=%.0f p99_us=%.0f", loop->late[n / 2] * 1e6,
           loop->late[n - 1 - n / 100] * 1e6);
}

static void
set_pace(struct loop *loop, const struct bench *b)
{
    loop->pace = 1 / b->rate;
    loop->late_max = (size_t)(b->rate * (b->seconds + 1)) * b->connections + 1;
    loop->late = calloc(loop->late_max, sizeof(*loop->late));
    if (!loop->late)
        fail("no memory");
    for (size_t i = 0; i < b->connections; i++)
        loop->clients[i].due =
            now_s() + loop->pace * (double)i / (double)b->connections;
}

static void
run_loop(const struct bench *b,
         uint8_t *(*request)(struct client *, const char *, size_t *))
{
    struct loop loop = {.count = b->connections,
                        .epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct epoll_event event = {.events = EPOLLIN};
    double begin, cpu;

    loop.clients = calloc(b->connections, sizeof(*loop.clients));
    if (!loop.clients || loop.epoll < 0)
        fail("no memory");
    for (size_t i = 0; i < b->connections; i++) {
        struct loop_client *c = &loop.clients[i];

        client_open(&c->client, &b->client);
        c->request = request(&c->client, b->text, &c->request_size);
        client_write(&c->client, c->request, c->request_size);
        loop.reply_size = client_result(&c->client);
        event.data.ptr = c;
        epoll_ctl(loop.epoll, EPOLL_CTL_ADD, c->client.fd, &event);
    }
    if (b->rate > 0)
        set_pace(&loop, b);
    for (size_t i = 0; b->rate == 0 && i < b->connections; i++)
        ask(&loop, &loop.clients[i]);
    turn(&loop, now_s() + 0.2); /* to warm up */
    loop.done = 0;
    begin = now_s();
    cpu = cpu_s(b->pid);
    turn(&loop, begin + b->seconds);
    cpu = cpu_s(b->pid) - cpu;
    printf("rate=%.0f cpu_us=%.3f", (double)loop.done / (now_s() - begin),
           cpu / (double)loop.done * 1e6);
    if (b->rate > 0)
        print_late(&loop);
    putchar('\n');
    free(loop.late);
    for (size_t i = 0; i < b->connections; i++) {
        client_close(&loop.clients[i].client);
        free(loop.clients[i].request);
    }
    free(loop.clients);
    close(loop.epoll);
}

static void
run_query(const struct bench *b)
{
    run_loop(b, query_request);
}

static void
run_execute(const struct bench *b)
{
    run_loop(b, execute_request);
}

/* Logins */

struct dialler {
    pthread_t thread;
    const struct bench *bench;
    double until;
    uint64_t done;
};

static void *
dial(void *arg)
{
    struct dialler *d = arg;
    struct client c;

    while (now_s() < d->until) {
        client_open(&c, &d->bench->client);
        client_quit(&c);
        d->done++;
    }
    return NULL;
}

static void
run_connect(const struct bench *b)
{
    struct dialler *diallers = calloc(b->connections, sizeof(*diallers));
    double begin = now_s(), cpu = cpu_s(b->pid);
    uint64_t done = 0;

    if (!diallers)
        fail("no memory");
    for (size_t i = 0; i < b->connections; i++) {
        diallers[i].bench = b;
        diallers[i].until = begin + b->seconds;
        if (pthread_create(&diallers[i].thread, NULL, dial, &diallers[i]) != 0)
            fail("no thread");
    }
    for (size_t i = 0; i < b->connections; i++) {
        pthread_join(diallers[i].thread, NULL);
        done += diallers[i].done;
    }
    printf("rate=%.0f cpu_us=%.3f\n", (double)done / (now_s() - begin),
           (cpu_s(b->pid) - cpu) / (double)done * 1e6);
    free(diallers);
}

/* Idle connections.  A hundred that come and go first have the server's own
 * tables and caches in place. */
static void
run_idle(const struct bench *b)
{
    struct client *clients = calloc(b->connections, sizeof(*clients));
    size_t warm = b->connections < 100 ? b->connections : 100;
    long before, after;
    double cpu, begin;

    if (!clients)
        fail("no memory");
    for (size_t i = 0; i < warm; i++) {
        client_open(&clients[i], &b->client);
        client_quit(&clients[i]);
    }
    usleep(500 * 1000);
    before = status_kb(b->pid, "VmRSS");
    for (size_t i = 0; i < b->connections; i++)
        client_open(&clients[i], &b->client);
    usleep(500 * 1000);
    after = status_kb(b->pid, "VmRSS");
    cpu = cpu_s(b->pid);
    begin = now_s();
    usleep((useconds_t)(b->seconds * 1e6));
    printf("connections=%zu kb_each=%.2f rss_kb=%ld threads=%ld "
           "idle_cpu_percent=%.3f\n",
           b->connections, (double)(after - before) / (double)b->connections,
           after, status_kb(b->pid, "Threads"),
           (cpu_s(b->pid) - cpu) / (now_s() - begin) * 100);
    for (size_t i = 0; i < b->connections; i++)
        client_close(&clients[i]);
    free(clients);
}

/* One long result: packets are walked by their headers. */
struct walk {
    uint8_t header[5]; /* and the payload's first byte */
    size_t have;       /* of header */
    size_t skip;       /* of the payload under way */
    uint64_t packets;
    int ends;
};

static void
walk(struct walk *w, const uint8_t *p, size_t size)
{
    size_t n;

    while (size > 0) {
        n = w->skip < size ? w->skip : size;
        w->skip -= n;
        p += n;
        size -= n;
        for (; w->skip == 0 && size > 0 && w->have < 5; size--)
            w->header[w->have++] = *p++;
        if (w->have < 5)
            continue;
        w->skip = (w->header[0] | (size_t)w->header[1] << 8 |
                   (size_t)w->header[2] << 16) -
                  1;
        if (w->header[4] == 0xff)
            fail("the result is an error");
        w->ends += w->header[4] == 0xfe && w->skip < 8;
        w->packets++;
        w->have = 0;
    }
}

static void
run_stream(const struct bench *b)
{
    static uint8_t bytes[STREAM_BUFFER];
    struct walk w = {.have = 0};
    struct client c;
    uint8_t *request;
    size_t size;
    uint64_t total = 0;
    double begin, cpu;
    ssize_t n;

    client_open(&c, &b->client);
    request = command_packet(COM_QUERY, b->text, strlen(b->text), &size);
    begin = now_s();
    cpu = cpu_s(b->pid);
    client_write(&c, request, size);
    while (w.ends < 2 || w.skip > 0) {
        n = read(c.fd, bytes, sizeof(bytes));
        if (n <= 0)
            fail("the server closed the connection");
        walk(&w, bytes, (size_t)n);
        total += (uint64_t)n;
    }
    begin = now_s() - begin;
    cpu = cpu_s(b->pid) - cpu;
    printf("rows=%llu rate=%.1f cpu_us=%.3f peak_kb=%ld\n",
           (unsigned long long)(w.packets - 4), (double)total / begin / 1e6,
           cpu / (double)(w.packets - 4) * 1e6, status_kb(b->pid, "VmHWM"));
    free(request);
    client_close(&c);
}

static const struct mode {
    const char *name;
    bool has_text;
    void (*run)(const struct bench *b);
} modes[] = {
    {"query", true, run_query},      {"execute", true, run_execute},
    {"connect", false, run_connect}, {"idle", false, run_idle},
    {"stream", true, run_stream},
};

static const struct mode *
find_mode(const char *name)
{
    for (size_t i = 0; name && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(name, modes[i].name) == 0)
            return &modes[i];
    fail("modes: query TEXT, execute TEXT, connect, idle, stream TEXT");
}

int
main(int argc, char **argv)
{
    struct bench b = {.client = {.user = "bench", .password = ""},
                      .connections = 1,
                      .seconds = 1};
    const struct mode *mode;
    struct rlimit files;
    int option;

    while ((option = getopt(argc, argv, "S:p:u:w:P:c:s:r:t")) != -1)
        switch (option) { /* NOLINT(bugprone-switch-missing-default-case) */
        case 'S':
            b.client.socket = optarg;
            break;
        case 'p':
            b.client.port = (uint16_t)strtoul(optarg, NULL, 10);
            break;
        case 'u':
            b.client.user = optarg;
            break;
        case 'w':
            b.client.password = optarg;
            break;
        case 'P':
            b.pid = (pid_t)strtol(optarg, NULL, 10);
            break;
        case 'c':
            b.connections = strtoul(optarg, NULL, 10);
            break;
        case 's':
            b.seconds = strtod(optarg, NULL);
            break;
        case 'r':
            b.rate = strtod(optarg, NULL);
            break;
        case 't':
            b.client.tls = true;
            break;
        default:
            return 64;
        }
    mode = find_mode(argv[optind]);
    b.text = argv[optind] ? argv[optind + 1] : NULL;
    if (mode->has_text != (b.text != NULL) || b.pid <= 0 || b.rate < 0 ||
        b.connections == 0 || b.connections > CONNECTIONS_MAX ||
        strlen(b.client.user) > 64)
        fail("-P PID and the mode's TEXT are needed; -c from 1 to %d",
             CONNECTIONS_MAX);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    mode->run(&b);
    return 0;
}
