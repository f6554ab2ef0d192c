/* output.c - rows on standard output: see client.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean_text.h"
#include "client.h"

enum { WIDTH_MAX = 60 /* of an aligned column */ };

/* Control characters, and bytes that are no UTF-8, become \xNN; in JSON \u00NN
 * and U+FFFD.  The width, roughly. */
size_t
client_show(struct span text, enum client_quoting how)
{
    const char *escape = how == JSON ? "\\u00" : "\\x";
    bool utf8 = text_is_utf8(text);
    size_t width = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool space = c == '\n' || c == '\t',
             c1 = utf8 && c == 0xc2 && (text.data[i + 1] & 0xe0) == 0x80;

        if (space && how != LINES)
            fputs(c == '\n' ? "\\n" : "\\t", stdout);
        else if ((c == '\\' && how != LINES) || (c == '"' && how == JSON))
            printf("\\%c", c);
        else if (c >= 0x80 && !utf8 && how == JSON)
            fputs("\\ufffd", stdout);
        else if (c1) /* a control character of two bytes */
            printf("%s%02x", escape, (unsigned char)text.data[++i]);
        else if ((c < 0x20 && !space) || c == 0x7f || (c >= 0x80 && !utf8))
            printf("%s%02x", escape, c);
        else
            putchar(c);
        width += !utf8 || (c & 0xc0) != 0x80;
    }
    return width;
}

static void
show_json(const MYSQL_FIELD *field, struct span cell)
{
    bool bare = !cell.data || (IS_NUM(field->type) &&
                               cell.size == strspn(cell.data, "-.e0123456789"));

    client_show((struct span){field->name, field->name_length}, JSON);
    fputs(bare ? "\": " : "\": \"", stdout);
    client_show(cell.data ? cell : (struct span){"null", 4}, JSON);
    if (!bare)
        putchar('"');
}

/* cells NULL: the names. */
static void
show_line(MYSQL_RES *rows, MYSQL_ROW cells, enum client_form form)
{
    const unsigned long *sizes = cells ? mysql_fetch_lengths(rows) : NULL;
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    unsigned count = mysql_num_fields(rows);

    for (unsigned i = 0; i < count; i++) {
        struct span cell = {fields[i].name, fields[i].name_length};
        size_t wide = fields[i].max_length, at;

        wide = wide > cell.size ? wide : cell.size;
        if (cells)
            cell = (struct span){cells[i], sizes[i]};
        if (form == CLIENT_JSON) {
            fputs(i == 0 ? "{\"" : ", \"", stdout);
            show_json(&fields[i], cell);
            continue;
        }
        at = client_show(cell.data ? cell : (struct span){"NULL", 4}, CELL);
        if (i + 1 < count && form == CLIENT_TEXT)
            printf("%*s",
                   (int)(at < wide && wide <= WIDTH_MAX ? wide - at : 0) + 2,
                   "");
        else if (i + 1 < count)
            putchar('\t');
    }
    fputs(form == CLIENT_JSON ? "}" : "\n", stdout);
}

void
client_show_rows(MYSQL_RES *rows, enum client_form form)
{
    const char *before = "[\n";
    MYSQL_ROW row;

    if (form != CLIENT_JSON)
        show_line(rows, NULL, form);
    for (; rows && (row = mysql_fetch_row(rows)); before = ",\n") {
        if (form == CLIENT_JSON)
            fputs(before, stdout);
        show_line(rows, row, form);
    }
    if (form == CLIENT_JSON)
        fputs(*before == '[' ? "[]\n" : "\n]\n", stdout);
}

bool
client_show_nodes(MYSQL_RES *rows, enum client_form form)
{
    bool all = true, ok;
    struct span line;
    struct reader r;
    MYSQL_ROW row;

    while ((row = mysql_fetch_row(rows))) {
        ok = row[1] && strcmp(row[1], "OK") == 0;
        all = all && ok;
        r = reader_of(row[2], row[2] ? mysql_fetch_lengths(rows)[2] : 0);
        for (bool more = form == CLIENT_TEXT; more;
             more = reader_left(&r) > 0) {
            line = (struct span){"", 0}; /* of an answer without any */
            (void)reader_line(&r, &line);
            printf("%llu%s", row[0] ? strtoull(row[0], NULL, 10) : 0,
                   ok ? ": " : ": ERROR: ");
            client_show(line, LINES);
            putchar('\n');
        }
    }
    mysql_data_seek(rows, 0);
    mysql_fetch_fields(rows)->type = MYSQL_TYPE_LONGLONG; /* as elsewhere */
    if (form != CLIENT_TEXT)
        client_show_rows(rows, form);
    return all;
}
