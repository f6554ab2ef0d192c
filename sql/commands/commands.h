/* commands.h - opens every statement that is neither SELECT nor ADMIN. */
#ifndef HW_COMMANDS_H
#define HW_COMMANDS_H

#include <stdbool.h>

struct cursor;
struct error;
struct opening;
struct show;

struct cursor *show_open(struct opening *opening, struct error *err);
/* Whether it never waits, and its rows are not filtered by an expression. */
bool show_is_short_statement(const struct show *show);
struct cursor *set_open(struct opening *opening, struct error *err);
struct cursor *explain_open(struct opening *opening, struct error *err);
struct cursor *import_open(struct opening *opening, struct error *err);
struct cursor *budget_open(struct opening *opening, struct error *err);
/* CHECK, ANALYZE, OPTIMIZE and REPAIR TABLE. */
struct cursor *maintain_open(struct opening *opening, struct error *err);

#endif
