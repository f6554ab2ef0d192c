/*
 * get_view.c - see get_view.h.
 *
 * A form is a function of SQL on the node, so get is one SELECT of it.  The
 * node is asked for its forms first: this program has no list of its own, and a
 * typing error gets the list of what there is.  The bytes go out unchanged,
 * except for the two cases in write_view().
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
#include "client.h"

enum { STATEMENT_MAX = 4096, FORMS_MAX = 4096, BINARY_CHARSET = 63 };

/* The names of the node's forms, clean, with blanks between. */
static enum client_status
ask_forms(const char *const *given, struct buffer *out)
{
    static const char statement[] =
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE "
        "ROUTINE_SCHEMA = 'heapwire' AND ROUTINE_TYPE = 'FUNCTION'";
    enum client_status status = CLIENT_OK;
    MYSQL_RES *rows = client_ask(
        given, (struct span){statement, sizeof(statement) - 1}, false, &status);
    MYSQL_ROW row;

    buffer_text(out, "");
    while (rows && (row = mysql_fetch_row(rows)))
        if (row[0] && text_is_plain((struct span){row[0], strlen(row[0])}))
            buffer_format(out, "%s%s", out->size > 0 ? " " : "", row[0]);
    mysql_free_result(rows);
    if (status == CLIENT_OK && out->failed) {
        warnx("the node has too many forms");
        status = CLIENT_FAILED;
    }
    return status;
}

enum client_status
view_list_forms(const char *const *given)
{
    enum client_status status;
    struct buffer forms;

    buffer_init(&forms, FORMS_MAX);
    status = ask_forms(given, &forms);
    for (size_t i = 0; status == CLIENT_OK && i <= forms.size; i++)
        putchar(forms.data[i] == ' ' || i == forms.size ? '\n' : forms.data[i]);
    buffer_fini(&forms);
    return status;
}

/* CLIENT_USAGE: the node does not have it. */
static enum client_status
check_form(const char *const *given, const char *form)
{
    enum client_status status;
    struct buffer forms;

    buffer_init(&forms, FORMS_MAX);
    status = ask_forms(given, &forms);
    if (status == CLIENT_OK &&
        !span_is_any((struct span){form, strlen(form)}, forms.data)) {
        warnx("there is no form %s; the node has %s", form, forms.data);
        status = CLIENT_USAGE;
    }
    buffer_fini(&forms);
    return status;
}

/* A file, a picture or JSON. */
static bool
is_for_programs(struct span view, bool binary)
{
    return binary || (view.size > 1 && (memcmp(view.data, "<?", 2) == 0 ||
                                        memcmp(view.data, "{\"", 2) == 0));
}

static enum client_status
write_view(MYSQL_RES *rows, const char *form, const char *file)
{
    MYSQL_ROW row = rows ? mysql_fetch_row(rows) : NULL;
    struct span view;
    bool binary;

    if (!row || !row[0]) {
        warnx("the node did not answer that");
        return CLIENT_FAILED;
    }
    view = (struct span){row[0], mysql_fetch_lengths(rows)[0]};
    binary = mysql_fetch_fields(rows)->charsetnr == BINARY_CHARSET;
    /* A text comes without its last newline, for clients that add one: so do
     * we, in the place of the NUL behind it. */
    if (!binary && view.size > 0 && row[0][view.size - 1] != '\n')
        row[0][view.size++] = '\n';
    if (file)
        return output_file_write(view, file, 0666);
    if (!isatty(STDOUT_FILENO)) {
        fwrite(view.data, 1, view.size, stdout);
        return CLIENT_OK;
    }
    if (is_for_programs(view, binary)) {
        warnx("%s is for programs, and would fill the terminal: use -o FILE, "
              "or | PROGRAM",
              form);
        return CLIENT_USAGE;
    }
    client_show(view, CLIENT_LINES);
    return CLIENT_OK;
}

enum client_status
view_get(const char *const *given, const char *form, const char *snapshot)
{
    enum client_status status = check_form(given, form);
    struct buffer text;
    MYSQL_RES *rows;

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
        enum client_status written = write_view(rows, form, given['o']);

        status = written == CLIENT_OK ? status : written;
    }
    mysql_free_result(rows);
    buffer_fini(&text);
    return status;
}
