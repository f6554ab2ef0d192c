/* admin.h - opens ADMIN EXECUTE. */
#ifndef HW_ADMIN_H
#define HW_ADMIN_H

struct cursor;
struct error;
struct opening;

struct cursor *admin_open(struct opening *opening, struct error *err);

#endif
