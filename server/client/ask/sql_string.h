/* sql_string.h - writes a text as a string of SQL. */
#ifndef HW_SQL_STRING_H
#define HW_SQL_STRING_H

struct buffer;

void sql_string(const char *text, struct buffer *out); /* with its quotes */

#endif
