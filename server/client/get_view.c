/*
 * get_view.c - see get_view.h.
 *
 * A form is a function of SQL on the node, so get is one SELECT of it.  Names
 * that are not in VIEW_FORMS are looked up there first: a newer node may have
 * forms that this program has never heard of, and a typing error gets the list
 * of what there is.  The bytes go out unchanged, except for the two cases in
 * write_view().
 */
#include "get_view.h"

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "clean_text.h"
#include "output_file.h"
#include "show_rows.h"
#include "sql_string.h"

enum { STATEMENT_MAX = 4096, FORMS_MAX = 4096, BINARY_CHARSET = 63 };

static const char for_programs[] = "flamegraph svg pdf calls pprof export";

/* Writes the forms' names with blanks between.  Only plain names are taken,
 * since they are printed on a terminal. */
static void
read_forms(MYSQL_RES *rows, struct buffer *out)
{
    MYSQL_ROW row;

    while (rows && (row = mysql_fetch_row(rows)))
        if (row[0] && text_is_plain((struct span){row[0], strlen(row[0])}))
            buffer_format(out, "%s%s", out->size > 0 ? " " : "", row[0]);
}

/* Answers CLIENT_USAGE if neither this program nor the node knows the form. */
static enum client_status
check_form(const char *const *given, const char *form)
{
    static const char statement[] =
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE "
        "ROUTINE_SCHEMA = 'heapwire' AND ROUTINE_TYPE = 'FUNCTION'";
    struct span asked = {form, strlen(form)};
    enum client_status status = CLIENT_OK;
    struct buffer forms;
    MYSQL_RES *rows;

    if (span_is_any(asked, VIEW_FORMS))
        return CLIENT_OK;
    rows = client_ask(given, (struct span){statement, sizeof(statement) - 1},
                      false, &status);
    buffer_init(&forms, FORMS_MAX);
    buffer_text(&forms, "");
    read_forms(rows, &forms);
    if (status == CLIENT_OK &&
        (forms.failed || !span_is_any(asked, forms.data))) {
        warnx("there is no form %s; the node has %s", form,
              forms.failed ? VIEW_FORMS : forms.data);
        status = CLIENT_USAGE;
    }
    mysql_free_result(rows);
    buffer_fini(&forms);
    return status;
}

static enum client_status
write_view(MYSQL_RES *rows, const char *file)
{
    MYSQL_ROW row = rows ? mysql_fetch_row(rows) : NULL;
    struct span view;

    if (!row || !row[0]) {
        warnx("the node did not answer that");
        return CLIENT_FAILED;
    }
    view = (struct span){row[0], mysql_fetch_lengths(rows)[0]};
    /* The node drops the last newline of a text, because clients of MySQL add
     * one.  We add it too, in the place of the NUL that the library puts behind
     * each cell. */
    if (mysql_fetch_fields(rows)->charsetnr != BINARY_CHARSET &&
        view.size > 0 && row[0][view.size - 1] != '\n')
        row[0][view.size++] = '\n';
    if (file)
        return output_file_write(view, file, 0666);
    if (isatty(STDOUT_FILENO))
        client_show(view, CLIENT_LINES);
    else
        fwrite(view.data, 1, view.size, stdout);
    return CLIENT_OK;
}

enum client_status
view_get(const char *const *given, const char *form, const char *snapshot)
{
    enum client_status status;
    struct buffer text;
    MYSQL_RES *rows;

    if (!given['o'] && isatty(STDOUT_FILENO) &&
        span_is_any((struct span){form, strlen(form)}, for_programs)) {
        warnx("%s is for programs, and would fill the terminal: say -o FILE, "
              "or | PROGRAM",
              form);
        return CLIENT_USAGE;
    }
    status = check_form(given, form);
    if (status != CLIENT_OK)
        return status;
    buffer_init(&text, STATEMENT_MAX);
    buffer_format(&text, "SELECT %s(", form);
    sql_string(snapshot, &text);
    buffer_char(&text, ')');
    if (text.failed) {
        warnx("a snapshot's name is not so long");
        buffer_fini(&text);
        return CLIENT_USAGE;
    }
    rows =
        client_ask(given, (struct span){text.data, text.size}, true, &status);
    if (rows || status == CLIENT_OK) {
        enum client_status written = write_view(rows, given['o']);

        status = written == CLIENT_OK ? status : written;
    }
    mysql_free_result(rows);
    buffer_fini(&text);
    return status;
}
