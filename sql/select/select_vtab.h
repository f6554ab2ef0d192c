/* select_vtab.h - the catalog's tables as SQLite's virtual tables. */
#ifndef HW_SELECT_VTAB_H
#define HW_SELECT_VTAB_H

struct handle;

/* The catalog's databases, still empty, in a new handle.  -1 when SQLite
 * refuses. */
int select_vtab_attach(struct handle *handle);
/* Those tables of handle->readable that it has not yet.  Likewise. */
int select_vtab_create(struct handle *handle);

#endif
