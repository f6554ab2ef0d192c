/*
 * peer_link_mysql.c - options for libmysqlclient, and its errors: see
 * peer_link.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <errmsg.h>

#include "peer_link.h"

int
peer_link_prepare(struct peer_link *l, struct error *err)
{
    unsigned protocol =
        l->place.socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned long packet = PEER_LINK_HELLO;
    my_bool yes = 1;
    MYSQL *m = &l->mysql;

    l->made_mysql = mysql_init(m) != NULL;
    if (!l->made_mysql) {
        error_memory(err, "a connection");
        return -1;
    }
    /* Reads no file of options; sets no time limits, as ours are shorter.  Both
     * ends have TLS 1.3: with an older version a stranger chooses the numbers
     * that the loop computes with, for seconds. */
    mysql_optionsv(m, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
    mysql_optionsv(m, MARIADB_OPT_TLS_VERSION, "TLSv1.3");
    mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (l->place.tls)
        mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &yes);
    return peer_client_attach(&l->client, m, err);
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
    if (l->system_error != 0)
        words = strerrordesc_np(l->system_error);
    if (!words && l->state != PEER_LINK_CONNECTING &&
        (number == CR_SERVER_LOST || number == CR_SERVER_GONE_ERROR))
        words = "the connection was lost";
    if (!words && (number == CR_SERVER_LOST || number == 0))
        words = "it hung up";
    error_set(out, ER_UNKNOWN, "%s", words ? words : text);
}

/* The library's own errors: numbers that servers do not use, and two for
 * unreadable answers. */
static bool
is_library(unsigned number)
{
    return number == 0 || number == ER_PACKETS_OUT_OF_ORDER ||
           number == ER_PACKET_TOO_LARGE ||
           (number >= CR_MIN_ERROR && number < 3000) ||
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

/* Like the library when it grows: the buffer is malloc's, and has room for two
 * headers behind it. */
void
peer_link_trim(struct peer_link *l, size_t kept)
{
    enum { HEADERS = 16 };
    NET *net = &l->mysql.net;
    unsigned char *less;

    if (net->pvio && net->max_packet > kept) {
        less = realloc(net->buff, kept + HEADERS);
        if (less) {
            net->buff = net->write_pos = net->read_pos = less;
            net->max_packet = kept;
            net->buff_end = less + net->max_packet;
        }
    }
    if (l->large && net->max_packet <= PEER_LINK_KEPT) {
        l->large = false;
        l->events->shrank(l);
    }
}

void
peer_link_abandon(struct peer_link *l)
{
    if (!l->made_mysql)
        return;
    /* An idle one says farewell, for which the socket always has room. */
    if (l->state != PEER_LINK_READY && l->fd >= 0)
        (void)shutdown(l->fd, SHUT_RDWR);
    /* A call under way fails where it waits, and frees what it holds. */
    l->abandoned = true;
    if (l->pending)
        (void)peer_stack_go_on(l);
    l->pending = false;
    if (l->result) {
        l->result->handle = NULL; /* otherwise it would read to the end */
        mysql_free_result(l->result);
        l->result = NULL;
    }
    mysql_close(&l->mysql);
}
