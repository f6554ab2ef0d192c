/*
 * prepared_client.c - a program over libmariadb that prepares statements.
 *
 * prepared_client SOCKET QUERY: QUERY has one parameter, the number of rows,
 * and two columns, a number and a text.  Prints what it sees; prepared.py
 * compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

static MYSQL_STMT *
prepare(MYSQL *db, const char *text)
{
    MYSQL_STMT *st = mysql_stmt_init(db);

    if (!st || mysql_stmt_prepare(st, text, strlen(text)) != 0) {
        fprintf(stderr, "%s: %s\n", text, mysql_error(db));
        exit(1);
    }
    return st;
}

static void
check(MYSQL_STMT *st, int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "%s: %u %s\n", what, mysql_stmt_errno(st),
            mysql_stmt_error(st));
    exit(1);
}

/* Rows one by one, the server's cursor prefetching some. */
static void
count_rows(MYSQL *db, const char *query, unsigned long cursor,
           unsigned long prefetch)
{
    MYSQL_STMT *st = prepare(db, query);
    long long wanted = 1000, number = 0;
    char text[64];
    unsigned long size = 0, rows = 0;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &wanted};
    MYSQL_BIND out[2] = {
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &number},
        {.buffer_type = MYSQL_TYPE_STRING,
         .buffer = text,
         .buffer_length = sizeof(text),
         .length = &size},
    };

    printf("%lu parameters, %u columns, ", mysql_stmt_param_count(st),
           mysql_stmt_field_count(st));
    mysql_stmt_attr_set(st, STMT_ATTR_CURSOR_TYPE, &cursor);
    mysql_stmt_attr_set(st, STMT_ATTR_PREFETCH_ROWS, &prefetch);
    mysql_stmt_bind_param(st, &in);
    for (int i = 0; i < 2; i++) { /* the second ends what the first left */
        check(st, mysql_stmt_execute(st), "execute");
        mysql_stmt_bind_result(st, out);
        for (rows = 0; rows < (i ? 2000 : 7); rows++)
            if (mysql_stmt_fetch(st) != 0)
                break;
        check(st, mysql_stmt_errno(st) != 0, "fetch");
        mysql_stmt_free_result(st);
    }
    printf("%lu rows, last %lld %.*s\n", rows, number, (int)size, text);
    mysql_stmt_close(st);
}

static void
send_time_and_pieces(MYSQL *db)
{
    MYSQL_STMT *st = prepare(db, "SELECT ?, ?, ?");
    MYSQL_TIME when = {.year = 2026,
                       .month = 11,
                       .day = 21,
                       .hour = 12,
                       .second_part = 1000,
                       .time_type = MYSQL_TIMESTAMP_DATETIME};
    char text[3][64];
    unsigned long sizes[3];
    my_bool nulls[3], yes = 1;
    MYSQL_BIND in[3] = {
        {.buffer_type = MYSQL_TYPE_DATETIME, .buffer = &when},
        {.buffer_type = MYSQL_TYPE_BLOB},
        {.buffer_type = MYSQL_TYPE_LONG, .is_null = &yes},
    };
    MYSQL_BIND out[3] = {{0}};

    for (int i = 0; i < 3; i++)
        out[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                              .buffer = text[i],
                              .buffer_length = sizeof(text[i]),
                              .length = &sizes[i],
                              .is_null = &nulls[i]};
    mysql_stmt_bind_param(st, in);
    check(st, mysql_stmt_send_long_data(st, 1, "in ", 3), "long data");
    check(st, mysql_stmt_send_long_data(st, 1, "pieces", 6), "long data");
    check(st, mysql_stmt_execute(st), "execute");
    mysql_stmt_bind_result(st, out);
    check(st, mysql_stmt_fetch(st) != 0, "fetch");
    printf("%.*s, %.*s, %s\n", (int)sizes[0], text[0], (int)sizes[1], text[1],
           nulls[2] ? "NULL" : "?");
    mysql_stmt_close(st);
}

int
main(int argc, char **argv)
{
    MYSQL *db = mysql_init(NULL);

    if (argc != 3 || !db)
        return 64;
    if (!mysql_real_connect(db, NULL, "root", NULL, NULL, 0, argv[1], 0)) {
        fprintf(stderr, "%s\n", mysql_error(db));
        return 1;
    }
    count_rows(db, argv[2], CURSOR_TYPE_NO_CURSOR, 1);
    count_rows(db, argv[2], CURSOR_TYPE_READ_ONLY, 1);
    count_rows(db, argv[2], CURSOR_TYPE_READ_ONLY, 300);
    send_time_and_pieces(db);
    mysql_close(db);
    return 0;
}
