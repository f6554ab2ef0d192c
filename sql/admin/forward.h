/* forward.h - opens ADMIN FORWARD, which only another node's session may
 * run. */
#ifndef HW_FORWARD_H
#define HW_FORWARD_H

struct cursor;
struct error;
struct opening;

struct cursor *forward_open(struct opening *opening, struct error *err);

#endif
