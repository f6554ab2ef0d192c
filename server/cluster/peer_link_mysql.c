/*
 * peer_link_mysql.c - what libmysqlclient is told, and what it said: see
 * peer_link.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <errmsg.h>

#include "peer_link.h"

enum { UNWIND_MAX = 64 /* waits of one call, on a socket that is shut */ };

static void
pin(struct peer_link *l)
{
    char hex[2 * PEER_FINGERPRINT + 1];

    for (size_t i = 0; i < PEER_FINGERPRINT; i++)
        snprintf(hex + 2 * i, 3, "%02X", l->place.fingerprint[i]);
    mysql_optionsv(&l->mysql, MARIADB_OPT_TLS_PEER_FP, hex);
}

int
peer_link_prepare(struct peer_link *l, struct error *err)
{
    unsigned protocol =
        l->place.socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned long packet = PEER_LINK_HELLO;
    size_t stack = PEER_LINK_STACK;
    my_bool yes = 1;
    MYSQL *m = &l->mysql;

    l->made_mysql = mysql_init(m) != NULL;
    if (!l->made_mysql || mysql_optionsv(m, MYSQL_OPT_NONBLOCK, &stack) != 0) {
        error_memory(err, "a connection");
        return -1;
    }
    /* No file of options is read, as nobody asks for one; no time limits, as
     * ours are shorter. */
    mysql_optionsv(m, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
    mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (l->place.tls)
        mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &yes);
    if (l->place.tls && l->place.pinned)
        pin(l);
    return peer_client_attach(&l->client, m, err);
}

/* "... (111)" and "... (111 "Connection refused")": the number's own words. */
static const char *
system_words(const char *text)
{
    const char *open = strrchr(text, '(');
    char *end;
    long number;

    if (!open)
        return NULL;
    number = strtol(open + 1, &end, 10);
    return end > open + 1 && (*end == ')' || *end == ' ') && number > 0
               ? strerrordesc_np((int)number)
               : NULL;
}

void
peer_link_reason(struct peer_link *l, struct error *out)
{
    unsigned number = mysql_errno(&l->mysql);
    const char *text = mysql_error(&l->mysql), *words = NULL;

    if (l->client.error.code != 0) {
        *out = l->client.error;
        return;
    }
    if (number == CR_CONNECTION_ERROR || number == CR_CONN_HOST_ERROR ||
        number == CR_SERVER_LOST_EXTENDED)
        words = system_words(text);
    if (!words && l->state != PEER_LINK_CONNECTING &&
        (number == CR_SERVER_LOST || number == CR_SERVER_GONE_ERROR))
        words = "the connection was lost";
    if (!words && (number == CR_SERVER_LOST || number == 0))
        words = "it hung up";
    error_set(out, ER_UNKNOWN, "%s", words ? words : text);
}

/* Numbers that no server has: the library's own words. */
static bool
is_library(unsigned number)
{
    return number == 0 || (number >= CR_MIN_ERROR && number < 3000) ||
           (number >= 5000 && number < 6000) || number > UINT16_MAX;
}

bool
peer_link_said(struct peer_link *l, struct error *out)
{
    unsigned number = mysql_errno(&l->mysql);

    if (is_library(number))
        return false;
    error_set(out, (enum error_code)number, "%s", mysql_error(&l->mysql));
    return true;
}

/* In the middle of a call what the library has allocated for it is told by
 * nobody but its coroutine: that runs to its end, on a socket where nothing
 * can be waited for. */
static void
unwind(struct peer_link *l)
{
    for (int i = 0; l->pending && i < UNWIND_MAX; i++) {
        int wait = 0;

        if (l->state == PEER_LINK_CONNECTING)
            wait = mysql_real_connect_cont(&l->made, &l->mysql,
                                           MYSQL_WAIT_TIMEOUT);
        else if (l->state == PEER_LINK_ASKING)
            wait = mysql_real_query_cont(&l->refused, &l->mysql,
                                         MYSQL_WAIT_TIMEOUT);
        else
            wait = mysql_fetch_row_cont(&l->row, l->result, MYSQL_WAIT_TIMEOUT);
        l->pending = wait != 0;
    }
}

void
peer_link_abandon(struct peer_link *l)
{
    my_socket fd;

    if (!l->made_mysql)
        return;
    fd = mysql_get_socket(&l->mysql);
    /* An idle one says farewell, for which there is always room. */
    if (l->state != PEER_LINK_READY && fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    unwind(l);
    if (l->result) {
        l->result->handle = NULL; /* or it would read to the end */
        mysql_free_result(l->result);
        l->result = NULL;
    }
    mysql_close(&l->mysql);
}
