/*
 * show_rows.c - see show_rows.h.
 *
 * Cells hold names that people of a database chose, so control characters are
 * written out: those of ASCII, and those of two bytes in UTF-8 (U+0080 to
 * U+009F), which some terminals obey too.  Text aligns columns by the widths
 * that the library has counted in bytes; rows that would wrap are printed
 * upright.
 */
#include "show_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "arena.h"
#include "clean_text.h"

enum {
    WIDTH_MAX = 60,     /* of an aligned column */
    NUMBER_BYTES = 12,  /* for "_2" and so on behind a name */
    NAMES_MAX = 1 << 20 /* bytes of all names that are made */
};

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
        else if (c1) /* U+0080 to U+009F */
            printf("%s%02x", escape, (unsigned char)text.data[++i]);
        else if ((c < 0x20 && !space) || c == 0x7f || (c >= 0x80 && !utf8))
            printf("%s%02x", escape, c);
        else
            putchar(c);
        width += !utf8 || (c & 0xc0) != 0x80;
    }
    return width;
}

bool
client_is_number(const MYSQL_FIELD *field, struct span cell)
{
    return IS_NUM(field->type) &&
           json_is_number(cell, field->type == MYSQL_TYPE_DOUBLE ||
                                    field->type == MYSQL_TYPE_FLOAT);
}

static void
print_json_cell(const MYSQL_FIELD *field, struct span cell)
{
    bool bare = !cell.data || client_is_number(field, cell);

    client_show((struct span){field->name, field->name_length}, CLIENT_QUOTED);
    fputs(bare ? "\": " : "\": \"", stdout);
    client_show(cell.data ? cell : (struct span){"null", 4}, CLIENT_QUOTED);
    if (!bare)
        putchar('"');
}

/* Prints a row, or the names of the columns if cells is NULL. */
static void
print_result_line(MYSQL_RES *rows, MYSQL_ROW cells, enum client_form form)
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
            print_json_cell(&fields[i], cell);
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

/* Answers the columns of the terminal that standard output is; 0 if it is none.
 */
static size_t
find_terminal_width(void)
{
    struct winsize size = {0};

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Answers how wide print_result_line() would make the widest row, roughly. */
static size_t
find_width(MYSQL_RES *rows)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    size_t width = 0;

    for (unsigned i = 0; i < mysql_num_fields(rows); i++)
        width += (i > 0 ? 2 : 0) + (fields[i].max_length > fields[i].name_length
                                        ? fields[i].max_length
                                        : fields[i].name_length);
    return width;
}

static void
show_upright(MYSQL_RES *rows, MYSQL_ROW cells, unsigned long number)
{
    const unsigned long *sizes = mysql_fetch_lengths(rows);
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    unsigned count = mysql_num_fields(rows);
    size_t widest = 0;

    for (unsigned i = 0; i < count; i++)
        if (fields[i].name_length > widest && fields[i].name_length < WIDTH_MAX)
            widest = fields[i].name_length;
    printf("-- row %lu --\n", number);
    for (unsigned i = 0; i < count; i++) {
        size_t at = client_show(
            (struct span){fields[i].name, fields[i].name_length}, CLIENT_CELL);

        printf("%*s", (int)(at < widest ? widest - at : 0) + 2, "");
        client_show(cells[i] ? (struct span){cells[i], sizes[i]}
                             : (struct span){"NULL", 4},
                    CLIENT_CELL);
        putchar('\n');
    }
}

/* Answers whether one of the first count fields, other than of, has that name.
 */
static bool
is_name_taken(const MYSQL_FIELD *fields, unsigned count, const MYSQL_FIELD *of,
              struct span name)
{
    for (const MYSQL_FIELD *f = fields; f < fields + count; f++)
        if (f != of && f->name_length == name.size &&
            memcmp(f->name, name.data, name.size) == 0)
            return true;
    return false;
}

/* Keys of a JSON object must differ, so a second column "a" becomes "a_2".  If
 * memory runs out, names stay as they are. */
static void
make_names_differ(MYSQL_RES *rows, struct arena *names)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(rows);
    unsigned count = mysql_num_fields(rows), number;

    for (MYSQL_FIELD *f = fields; names && f < fields + count; f++) {
        size_t room = f->name_length + NUMBER_BYTES;
        struct span name = {f->name, f->name_length};
        char *made;

        if (!is_name_taken(fields, (unsigned)(f - fields), f, name) ||
            !(made = arena_alloc(names, room)))
            continue;
        for (number = 2; is_name_taken(fields, count, f, name); number++)
            name = (struct span){
                made, (size_t)snprintf(made, room, "%s_%u", f->name, number)};
        f->name = made;
        f->name_length = (unsigned)name.size;
    }
}

void
client_show_rows(MYSQL_RES *rows, enum client_form form)
{
    size_t room = form == CLIENT_TEXT ? find_terminal_width() : 0;
    bool upright = room > 0 && rows && find_width(rows) > room;
    struct arena *names = NULL;
    const char *before = "[\n";
    unsigned long number = 0;
    MYSQL_ROW row;

    if (rows && form == CLIENT_JSON)
        make_names_differ(rows, names = arena_new(NAMES_MAX));
    if (form != CLIENT_JSON && !upright)
        print_result_line(rows, NULL, form);
    for (; rows && (row = mysql_fetch_row(rows)); before = ",\n") {
        if (form == CLIENT_JSON)
            fputs(before, stdout);
        if (upright)
            show_upright(rows, row, ++number);
        else
            print_result_line(rows, row, form);
    }
    if (form == CLIENT_JSON)
        fputs(*before == '[' ? "[]\n" : "\n]\n", stdout);
    arena_free(names);
}
