/* show_rows.c - see show_rows.h. */
#include "show_rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clean_text.h"

enum { WIDTH_MAX = 60 /* of an aligned column */ };

size_t
client_show(struct span text, enum client_quoting how)
{
    const char *escape = how == CLIENT_QUOTED ? "\\u00" : "\\x";
    bool utf8 = text_is_utf8(text);
    size_t width = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool space = c == '\n' || c == '\t',
             c1 = utf8 && c == 0xc2 && (text.data[i + 1] & 0xe0) == 0x80;

        if (space && how != CLIENT_LINES)
            fputs(c == '\n' ? "\\n" : "\\t", stdout);
        else if ((c == '\\' && how != CLIENT_LINES) ||
                 (c == '"' && how == CLIENT_QUOTED))
            printf("\\%c", c);
        else if (c >= 0x80 && !utf8 && how == CLIENT_QUOTED)
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

    client_show((struct span){field->name, field->name_length}, CLIENT_QUOTED);
    fputs(bare ? "\": " : "\": \"", stdout);
    client_show(cell.data ? cell : (struct span){"null", 4}, CLIENT_QUOTED);
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
        at = client_show(cell.data ? cell : (struct span){"NULL", 4},
                         CLIENT_CELL);
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
