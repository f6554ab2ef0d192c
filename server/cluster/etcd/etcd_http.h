/*
 * etcd_http.h - questions to etcd over HTTP, and a stream of lines from it.
 *
 * Blocks, and belongs to one thread; only etcd_http_poke and etcd_http_wake may
 * come from others.  The stream goes on during questions.
 */
#ifndef HW_ETCD_HTTP_H
#define HW_ETCD_HTTP_H

#include <stdbool.h>

#include "reader.h"

struct buffer;
struct error;
struct etcd_http;

enum {
    ETCD_CONNECT_MS = 2000,
    ETCD_LINES_MAX = 4 << 20 /* bytes of the stream that wait to be read */
};

struct etcd_http_options {
    /* For https, PEM; "" none: the system's authorities, no certificate. */
    const char *cacert, *cert, *key;
};

/* Borrows what options point to.  NULL with *err. */
struct etcd_http *etcd_http_new(const struct etcd_http_options *options,
                                struct error *err);
void etcd_http_free(struct etcd_http *http); /* NULL is fine */

/* Posts body to endpoint's path, with token unless it is "". -1 with *err: not
 * reached, too slow, an HTTP failure, an answer too long, or etcd_http_wake. */
int etcd_http_ask(struct etcd_http *http, const char *endpoint,
                  const char *path, const char *token,
                  const struct buffer *body, struct buffer *answer,
                  unsigned timeout_ms, struct error *err);

/* Posts body likewise; the answer comes line by line. */
int etcd_http_watch(struct etcd_http *http, const char *endpoint,
                    const char *path, const char *token,
                    const struct buffer *body, struct error *err);
void etcd_http_unwatch(struct etcd_http *http);
/* 1: the next line, borrowed until the next call; 0: none yet; -1 with *err:
 * the stream ended. */
int etcd_http_line(struct etcd_http *http, struct span *line,
                   struct error *err);
/* Until something came, or a wake, or that time. */
void etcd_http_wait(struct etcd_http *http, unsigned timeout_ms);

/* Any thread: ends a wait. */
void etcd_http_poke(struct etcd_http *http);
/* Any thread: the running question fails at once, and so does every later one
 * until etcd_http_resume. */
void etcd_http_wake(struct etcd_http *http);
bool etcd_http_is_woken(const struct etcd_http *http);
void etcd_http_resume(struct etcd_http *http);

#endif
