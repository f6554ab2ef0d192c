/* bench_client.c - see bench_client.h. */
#include "bench_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <openssl/evp.h>

enum { HEADER = 4, NONCE = 20, SHA = 20, TRIES = 200 };

enum { /* capability bits that we claim */
       LONG_PASSWORD = 0x1,
       LONG_FLAG = 0x4,
       PROTOCOL_41 = 0x200,
       TLS = 0x800,
       TRANSACTIONS = 0x2000,
       SECURE_CONNECTION = 0x8000,
       PLUGIN_AUTH = 0x80000
};

void
fail(const char *format, ...)
{
    va_list args;

    fputs("mysql_bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* Bytes */

static void
read_exactly(struct client *c, void *out, size_t size)
{
    uint8_t *p = out;
    ssize_t n;

    while (size > 0) {
        n = c->ssl ? SSL_read(c->ssl, p, (int)size) : read(c->fd, p, size);
        if (n < 0 && !c->ssl && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the server closed the connection");
        p += n;
        size -= (size_t)n;
    }
}

void
client_write(struct client *c, const void *data, size_t size)
{
    const uint8_t *p = data;
    ssize_t n;

    while (size > 0) {
        n = c->ssl ? SSL_write(c->ssl, p, (int)size)
                   : send(c->fd, p, size, MSG_NOSIGNAL);
        if (n <= 0)
            fail("cannot write: %s", strerror(errno));
        p += n;
        size -= (size_t)n;
    }
}

size_t
client_packet(struct client *c, uint8_t *payload, uint8_t *sequence)
{
    uint8_t header[HEADER];
    size_t size;

    read_exactly(c, header, sizeof(header));
    size = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
    if (size > CLIENT_PACKET_MAX)
        fail("a packet of %zu bytes", size);
    read_exactly(c, payload, size);
    *sequence = header[3];
    return size;
}

static void
put_header(uint8_t *out, size_t size, uint8_t sequence)
{
    out[0] = (uint8_t)size;
    out[1] = (uint8_t)(size >> 8);
    out[2] = (uint8_t)(size >> 16);
    out[3] = sequence;
}

uint8_t *
command_packet(uint8_t command, const void *text, size_t text_size,
               size_t *size)
{
    uint8_t *packet = malloc(HEADER + 1 + text_size);

    if (!packet || text_size > CLIENT_PACKET_MAX)
        fail("no memory for a command");
    put_header(packet, text_size + 1, 0);
    packet[HEADER] = command;
    memcpy(packet + HEADER + 1, text, text_size);
    *size = HEADER + 1 + text_size;
    return packet;
}

/* Login */

static void
sha1(const void *data, size_t size, uint8_t out[SHA])
{
    if (EVP_Digest(data, size, out, NULL, EVP_sha1(), NULL) != 1)
        fail("no SHA-1");
}

/* SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))) */
static void
prove(const char *password, const uint8_t *nonce, uint8_t out[SHA])
{
    uint8_t input[NONCE + SHA], once[SHA];

    sha1(password, strlen(password), once);
    memcpy(input, nonce, NONCE);
    sha1(once, sizeof(once), input + NONCE);
    sha1(input, sizeof(input), out);
    for (size_t i = 0; i < SHA; i++)
        out[i] ^= once[i];
}

/* Version, a NUL, the id; 8 bytes of nonce, ...; 12 more 19 bytes on. */
static void
read_greeting(struct client *c, uint8_t nonce[NONCE])
{
    uint8_t p[CLIENT_PACKET_MAX + 1], sequence;
    size_t size = client_packet(c, p, &sequence), at;

    p[size] = '\0';
    if (size > 3 && p[0] == 0xff)
        fail("turned away: %s", (const char *)p + 3);
    at = 1 + strlen((const char *)p + 1) + 1 + 4;
    if (p[0] != 10 || at + 8 + 19 + 12 > size)
        fail("not a greeting of MySQL's");
    memcpy(nonce, p + at, 8);
    memcpy(nonce + 8, p + at + 8 + 19, 12);
}

static void
start_tls(struct client *c, uint8_t *header, size_t size)
{
    static SSL_CTX *context;

    if (!context && !(context = SSL_CTX_new(TLS_client_method())))
        fail("no TLS");
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    client_write(c, header, size);
    c->ssl = SSL_new(context);
    if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1 || SSL_connect(c->ssl) != 1)
        fail("the TLS handshake failed");
}

static void
log_in(struct client *c, const struct client_options *o)
{
    uint8_t nonce[NONCE], packet[512] = {0}, reply[CLIENT_PACKET_MAX + 1];
    uint8_t sequence = 1, *p = packet + HEADER;
    uint32_t capabilities = LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 |
                            TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH |
                            (o->tls ? TLS : 0);
    static const char plugin[] = "mysql_native_password";
    size_t size;

    read_greeting(c, nonce);
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(capabilities >> 8 * i);
    p[7] = 1;  /* packets of 16 MB */
    p[8] = 45; /* utf8mb4_general_ci */
    p += 32;
    if (o->tls) {
        put_header(packet, 32, sequence++);
        start_tls(c, packet, HEADER + 32);
    }
    memcpy(p, o->user, strlen(o->user) + 1);
    p += strlen(o->user) + 1;
    if (*o->password) {
        *p++ = SHA;
        prove(o->password, nonce, p);
        p += SHA;
    } else {
        *p++ = 0;
    }
    memcpy(p, plugin, sizeof(plugin));
    p += sizeof(plugin);
    put_header(packet, (size_t)(p - packet) - HEADER, sequence);
    client_write(c, packet, (size_t)(p - packet));
    size = client_packet(c, reply, &sequence);
    reply[size] = '\0';
    if (size < 1 || reply[0] != 0)
        fail("no login: %s", size > 9 ? (const char *)reply + 9 : "");
}

static int
connect_once(const struct client_options *o)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET,
                              .sin_port = htons(o->port),
                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd =
        socket(o->socket ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1, rc;

    if (fd < 0)
        fail("no socket: %s", strerror(errno));
    if (o->socket) {
        snprintf(local.sun_path, sizeof(local.sun_path), "%s", o->socket);
        rc = connect(fd, (struct sockaddr *)&local, sizeof(local));
    } else {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        rc = connect(fd, (struct sockaddr *)&tcp, sizeof(tcp));
    }
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

void
client_open(struct client *c, const struct client_options *options)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

    c->ssl = NULL;
    c->fd = connect_once(options);
    for (int i = 0; c->fd < 0 && i < TRIES; i++) { /* a full backlog */
        nanosleep(&pause, NULL);
        c->fd = connect_once(options);
    }
    if (c->fd < 0)
        fail("cannot connect: %s", strerror(errno));
    log_in(c, options);
}

/* No TIME_WAIT: there are only so many ports. */
void
client_close(struct client *c)
{
    const struct linger none = {.l_onoff = 1};

    SSL_free(c->ssl);
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    close(c->fd);
}

void
client_quit(struct client *c)
{
    static const uint8_t quit[] = {1, 0, 0, 0, 1};
    uint8_t byte;

    client_write(c, quit, sizeof(quit));
    if (!c->ssl)
        (void)!read(c->fd, &byte, 1);
    client_close(c);
}

/* Results */

size_t
client_result(struct client *c)
{
    uint8_t p[CLIENT_PACKET_MAX + 1], sequence;
    size_t size, total = 0;
    int ends = 0;

    do {
        size = client_packet(c, p, &sequence);
        p[size] = '\0';
        if (total == 0 && p[0] == 0xff)
            fail("error: %s", (const char *)p + 9);
        if (total == 0 && p[0] == 0)
            return HEADER + size;
        total += HEADER + size;
        ends += p[0] == 0xfe && size < 9;
    } while (ends < 2);
    return total;
}

/* What the server uses */

double
now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double
cpu_s(pid_t pid)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        fail("no process %d", (int)pid);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

long
status_kb(pid_t pid, const char *key)
{
    char path[64], line[256];
    size_t size = strlen(key);
    long kb = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    if (!f)
        fail("no process %d", (int)pid);
    while (kb < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, key, size) == 0 && line[size] == ':')
            kb = strtol(line + size + 1, NULL, 10);
    fclose(f);
    return kb;
}
