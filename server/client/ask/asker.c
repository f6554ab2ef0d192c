/*
 * asker.c - see asker.h.
 *
 * libmariadb's calls that do not wait come in pairs: *_start() begins and
 * *_cont() goes on when the descriptor is ready or a time has passed.  A
 * statement walks through the stages of enum asker_stage, and call_stage() has
 * the pair of each.  Both answer what they wait for as MYSQL_WAIT_ bits, 0 if
 * the stage is done.  An error of the connection drops it, and the next
 * statement connects again; an error of the statement leaves it open.
 */
#include "asker.h"

#include <errmsg.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "clean_text.h"
#include "client.h"
#include "clock.h"
#include "connection.h"
#include "memory.h"

enum asker_stage { IDLE, CONNECT, QUERY, STORE, WARN, WARN_STORE };

struct asker {
    const char *const *given;
    MYSQL mysql;
    bool open, connected;
    enum asker_stage stage;
    int waits; /* MYSQL_WAIT_ bits of the stage */
    /* when the library wants to be called again; 0 means not at all */
    uint64_t deadline_ms, library_ms;
    char *statement;
    MYSQL_RES *rows, *warned;
    MYSQL *made; /* what the stages answer; NULL if connecting failed */
    int failed;
    unsigned number;
    char error[ASKER_TEXT], warnings[ASKER_TEXT];
};

static const char show_warnings[] = "SHOW WARNINGS";

/* out has ASKER_TEXT bytes.  Text from the node must not move the cursor. */
static void
keep_clean(const char *text, char *out)
{
    clean_text((struct span){text, strnlen(text, ASKER_TEXT - 1)}, out);
}

static void
drop_connection(struct asker *asker)
{
    if (!asker->open)
        return;
    /* mysql_close() would send COM_QUIT and wait for room; after a shutdown it
     * cannot. */
    if (asker->connected)
        (void)shutdown((int)mysql_get_socket(&asker->mysql), SHUT_RDWR);
    mysql_close(&asker->mysql);
    asker->open = asker->connected = false;
}

struct asker *
asker_new(const char *const *given)
{
    struct asker *asker = mem_zalloc(1, sizeof(*asker));

    /* Asks for the password before the terminal becomes a screen: there the
     * prompt could not be answered. */
    (void)connection_password(given);
    if (asker)
        asker->given = given;
    return asker;
}

void
asker_free(struct asker *asker)
{
    if (!asker)
        return;
    mysql_free_result(asker->rows);
    drop_connection(asker);
    mem_free(asker->statement);
    mem_free(asker);
}

static int
start_connect(struct asker *asker)
{
    struct connection_target to;

    if (!mysql_init(&asker->mysql)) {
        asker->made = NULL;
        return 0;
    }
    asker->open = true;
    connection_prepare(&asker->mysql, asker->given, &to);
    mysql_optionsv(&asker->mysql, MYSQL_OPT_NONBLOCK, 0);
    asker->connected = true; /* from here on there may be a socket to poll */
    return mysql_real_connect_start(&asker->made, &asker->mysql, to.host,
                                    to.user, to.password, NULL, to.port,
                                    to.socket, 0);
}

/* Starts the stage if ready is 0, else goes on with it.  Answers the
 * MYSQL_WAIT_ bits; 0 means that the stage is done. */
static int
call_stage(struct asker *a, int ready)
{
    switch (a->stage) {
    case CONNECT:
        return ready ? mysql_real_connect_cont(&a->made, &a->mysql, ready)
                     : start_connect(a);
    case QUERY:
        return ready
                   ? mysql_real_query_cont(&a->failed, &a->mysql, ready)
                   : mysql_real_query_start(&a->failed, &a->mysql, a->statement,
                                            strlen(a->statement));
    case STORE:
        return ready ? mysql_store_result_cont(&a->rows, &a->mysql, ready)
                     : mysql_store_result_start(&a->rows, &a->mysql);
    case WARN:
        return ready ? mysql_real_query_cont(&a->failed, &a->mysql, ready)
                     : mysql_real_query_start(&a->failed, &a->mysql,
                                              show_warnings,
                                              sizeof(show_warnings) - 1);
    case WARN_STORE:
        return ready ? mysql_store_result_cont(&a->warned, &a->mysql, ready)
                     : mysql_store_result_start(&a->warned, &a->mysql);
    case IDLE:
    default:
        return 0;
    }
}

static void
fail_statement(struct asker *asker, unsigned number, const char *why)
{
    bool dialled = asker->stage != CONNECT;
    char text[CONNECTION_TEXT];

    asker->number = number;
    connection_explain(number, why, dialled, asker->given, text);
    keep_clean(text, asker->error);
    if (!dialled || (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR))
        drop_connection(asker);
    asker->stage = IDLE;
}

static void
read_warnings(struct asker *asker)
{
    char joined[ASKER_TEXT] = "";
    size_t size = 0;
    MYSQL_ROW row;

    while (asker->warned && mysql_num_fields(asker->warned) == 3 &&
           size < sizeof(joined) - 1 && (row = mysql_fetch_row(asker->warned)))
        size += (size_t)snprintf(joined + size, sizeof(joined) - size, "%s%s",
                                 size ? "; " : "", row[2] ? row[2] : "");
    mysql_free_result(asker->warned);
    asker->warned = NULL;
    keep_clean(joined, asker->warnings);
}

/* Judges the stage that is done, and chooses the next one. */
static void
end_stage(struct asker *asker)
{
    MYSQL *mysql = &asker->mysql;

    switch (asker->stage) {
    case CONNECT:
        if (!asker->made)
            fail_statement(asker, asker->open ? mysql_errno(mysql) : 0,
                           asker->open ? mysql_error(mysql) : "no memory");
        else if (!strstr(mysql_get_server_info(mysql), "heapwire"))
            fail_statement(asker, CR_UNKNOWN_ERROR, "that is no heapwire node");
        else
            asker->stage = QUERY;
        break;
    case QUERY:
    case STORE:
        if (mysql_errno(mysql))
            fail_statement(asker, mysql_errno(mysql), mysql_error(mysql));
        else if (asker->stage == QUERY)
            asker->stage = STORE;
        else
            asker->stage = mysql_warning_count(mysql) > 0 ? WARN : IDLE;
        break;
    case WARN:
    case WARN_STORE:
        if (mysql_errno(mysql)) {
            fail_statement(asker, mysql_errno(mysql), mysql_error(mysql));
        } else if (asker->stage == WARN) {
            asker->stage = WARN_STORE;
        } else {
            read_warnings(asker);
            asker->stage = IDLE;
        }
        break;
    case IDLE:
    default:
        break;
    }
}

/* Runs stages until one has to wait or the statement is done. */
static void
walk_stages(struct asker *asker, int ready)
{
    do {
        asker->waits = call_stage(asker, ready);
        ready = 0;
        if (!asker->waits)
            end_stage(asker);
    } while (!asker->waits && asker->stage != IDLE);
    asker->library_ms = 0;
    if (asker->waits & MYSQL_WAIT_TIMEOUT)
        asker->library_ms =
            clock_ms() + mysql_get_timeout_value_ms(&asker->mysql);
}

void
asker_ask(struct asker *asker, const char *statement)
{
    mem_free(asker->statement);
    mysql_free_result(asker->rows);
    asker->rows = NULL;
    *asker->error = *asker->warnings = '\0';
    asker->number = 0;
    asker->statement = mem_strdup(statement);
    asker->stage = asker->open ? QUERY : CONNECT;
    asker->deadline_ms = clock_ms() + ASKER_DEADLINE_S * 1000ULL;
    if (!asker->statement)
        fail_statement(asker, CR_OUT_OF_MEMORY, "no memory");
    else
        walk_stages(asker, 0);
}

bool
asker_asks(const struct asker *asker)
{
    return asker->stage != IDLE;
}

bool
asker_is_new(const struct asker *asker)
{
    return !asker->open;
}

int
asker_fd(struct asker *asker)
{
    return asker->stage == IDLE || !asker->connected
               ? -1
               : (int)mysql_get_socket(&asker->mysql);
}

short
asker_events(const struct asker *asker)
{
    return (short)((asker->waits & MYSQL_WAIT_READ ? POLLIN : 0) |
                   (asker->waits & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                   (asker->waits & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
}

int
asker_wait_ms(const struct asker *asker)
{
    uint64_t now = clock_ms(), until = asker->deadline_ms;

    if (asker->stage == IDLE)
        return -1;
    if (asker->library_ms && asker->library_ms < until)
        until = asker->library_ms;
    return until > now ? (int)(until - now) : 0;
}

bool
asker_step(struct asker *asker, short revents)
{
    int ready =
        (revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL) ? MYSQL_WAIT_READ
                                                           : 0) |
        (revents & (POLLOUT | POLLERR) ? MYSQL_WAIT_WRITE : 0) |
        (revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
    uint64_t now = clock_ms();

    if (asker->stage == IDLE)
        return false;
    ready &= asker->waits;
    /* an error came that the library did not ask for: let it read or write and
     * see */
    if (revents && !ready)
        ready = asker->waits & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
    if (!ready && asker->library_ms && now >= asker->library_ms)
        ready = MYSQL_WAIT_TIMEOUT;
    if (ready) {
        walk_stages(asker, ready);
    } else if (now >= asker->deadline_ms) {
        char why[64];

        snprintf(why, sizeof(why), "no answer for %d s", ASKER_DEADLINE_S);
        fail_statement(asker, CR_SERVER_LOST, why);
        drop_connection(asker);
    }
    return asker->stage == IDLE;
}

MYSQL_RES *
asker_take_rows(struct asker *asker)
{
    MYSQL_RES *rows = asker->rows;

    asker->rows = NULL;
    return rows;
}

const char *
asker_error(const struct asker *asker, unsigned *number)
{
    *number = asker->number;
    return asker->error;
}

const char *
asker_warnings(const struct asker *asker)
{
    return asker->warnings;
}
