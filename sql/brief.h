/*
 * brief.h - finds statements that are cheap enough for the event loop to open.
 *
 * It looks at their words alone; see sql_is_brief.
 */
#ifndef HW_BRIEF_H
#define HW_BRIEF_H

#include <stdbool.h>

struct sql_statement;

bool brief_statement(const struct sql_statement *statement);

#endif
