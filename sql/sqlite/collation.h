/*
 * collation.h - how SQLite compares texts.
 *
 * COLLATION_TEXT stands in for SQLite's own BINARY, too, which is that of all
 * that names none: columns, DISTINCT, UNION, MIN, joins.  Two cases need its
 * name: a comparison of expressions, and what is sorted (ORDER BY, GROUP BY,
 * PARTITION BY), since SQLite's sorter compares its default byte by byte.
 */
#ifndef HW_COLLATION_H
#define HW_COLLATION_H

#include <sqlite3.h>

#define COLLATION_TEXT "hw_text" /* collate_compare */
#define COLLATION_BIN  "hw_bin"  /* collate_compare_bin */

/* -1 if SQLite refuses. */
int collation_add(sqlite3 *db);

#endif
