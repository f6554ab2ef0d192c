/* admin.h - opens ADMIN EXECUTE, and ADMIN FORWARD, which only another node's
 * session may run. */
#ifndef HW_ADMIN_H
#define HW_ADMIN_H

struct cursor;
struct error;
struct opening;

struct cursor *admin_open(struct opening *opening, struct error *err);
struct cursor *forward_open(struct opening *opening, struct error *err);

#endif
