/*
 * json_text.h - JSON as text: checked, in MySQL's form, walked, and found by
 * MySQL's paths.
 *
 * Pure functions.  A value is the text of a checked document, or a part of it.
 */
#ifndef HW_JSON_TEXT_H
#define HW_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

struct buffer;

enum { JSON_DEPTH_MAX = 100 /* levels, as in MySQL */ };

enum json_kind {
    JSON_NULL,
    JSON_BOOLEAN,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

enum json_fault {
    JSON_FINE,
    JSON_WRONG,     /* it is no JSON from a position on */
    JSON_TOO_DEEP,  /* more than JSON_DEPTH_MAX levels */
    JSON_ALL_LEVELS /* a path with **, which is not supported */
};

/* Appends the document in MySQL's form: blanks behind commas and colons alone,
 * the members of an object sorted by their names, the shorter first, of equal
 * ones the last.  Numbers stay as written.  The text is NUL-terminated; *at is
 * the position of a fault.  Without memory out has failed. */
enum json_fault json_normalize(struct span text, struct buffer *out,
                               size_t *at);

enum json_kind json_kind(struct span value);
size_t json_depth(struct span value);

/* The elements of an array, or the members of an object, whose names are
 * strings in quotes; any other value has itself alone. */
struct json_walk {
    const char *at, *end;
    bool object;
};

struct json_walk json_walk(struct span value);
bool json_next(struct json_walk *walk, struct span *name, struct span *value);
size_t json_count(struct span value);
/* The value of that name, in quotes.  False: none. */
bool json_member(struct span object, struct span name, struct span *out);

/* Checks a string from its quote on.  Returns its end, or NULL with the fault's
 * position in *at. */
const char *json_read_string(const char *p, const char *end, const char **at);
/* The text in a checked string's quotes, and back. */
void json_decode(struct buffer *out, struct span string);
void json_quote(struct buffer *out, struct span text);

/* Checks a path; *many: it may find several values. */
enum json_fault json_path(struct span path, bool *many, size_t *at);
/* Calls found for each value that a checked path finds, and spend before it
 * reads that many bytes.  Ends once one of them returns false.  False: no
 * memory. */
bool json_find(struct span value, struct span path,
               bool (*found)(void *arg, struct span value),
               bool (*spend)(void *arg, size_t bytes), void *arg);

#endif
