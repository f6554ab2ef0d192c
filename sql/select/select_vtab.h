/* select_vtab.h - the catalog's tables as SQLite's virtual tables. */
#ifndef HW_SELECT_VTAB_H
#define HW_SELECT_VTAB_H

struct handle;

/* Attaches the catalog's databases, still empty, to a new handle.  -1 if SQLite
 * refuses. */
int select_vtab_attach(struct handle *handle);
/* Creates the tables of handle->readable that the handle lacks.  -1 if SQLite
 * refuses. */
int select_vtab_create(struct handle *handle);

#endif
