/*
 * show_rows.h - prints rows on standard output.  No control character that a
 * node sent reaches a terminal.
 */
#ifndef HW_SHOW_ROWS_H
#define HW_SHOW_ROWS_H

#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

enum client_form { CLIENT_TEXT, CLIENT_TSV, CLIENT_JSON };
/* CLIENT_LINES leaves newlines and tabs as they are. */
enum client_quoting { CLIENT_LINES, CLIENT_CELL, CLIENT_QUOTED };

/* Control characters, and bytes that are not UTF-8, become \xNN, in JSON \u00NN
 * and U+FFFD. Answers the width, roughly. */
size_t client_show(struct span text, enum client_quoting how);

/* Answers whether a cell stands in JSON without quotes: see json_is_number().
 */
bool client_is_number(const MYSQL_FIELD *field, struct span cell);

/* rows NULL prints an empty array as JSON, and nothing else.  In text, rows
 * that are wider than the terminal stand upright, with a line for each column.
 */
void client_show_rows(MYSQL_RES *rows, enum client_form form);

#endif
