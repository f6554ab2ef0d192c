/*
 * bench_client.h - a MySQL client that costs little: login and framing.
 *
 * Blocking, one thread per connection at a time.  What goes wrong ends the
 * program with a message: a bench has no use for half a result.
 */
#ifndef HW_BENCH_CLIENT_H
#define HW_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <openssl/ssl.h>

enum { CLIENT_PACKET_MAX = 64 * 1024 };

struct client_options {
    const char *socket; /* path, or NULL for TCP */
    uint16_t port;      /* on 127.0.0.1 */
    const char *user, *password;
    bool tls;
};

struct client {
    int fd;
    SSL *ssl; /* NULL without TLS */
};

void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* Connects and logs in. */
void client_open(struct client *c, const struct client_options *options);
void client_quit(struct client *c); /* politely: waits for the server's end */
void client_close(struct client *c);

void client_write(struct client *c, const void *data, size_t size);
/* One packet's payload; at most CLIENT_PACKET_MAX bytes. */
size_t client_packet(struct client *c, uint8_t *payload, uint8_t *sequence);

/* A command's packet: the byte, then text.  The caller frees it. */
uint8_t *command_packet(uint8_t command, const void *text, size_t text_size,
                        size_t *size);
/* Reads a whole result set or OK; the bytes it took, headers included.  An
 * error packet ends the program. */
size_t client_result(struct client *c);

double now_s(void);
double cpu_s(pid_t pid); /* of all its threads, the ended ones too */
long status_kb(pid_t pid, const char *key);

#endif
