/*
 * controller_parts.h - what a controller has that may be missing.
 */
#ifndef HW_CONTROLLER_PARTS_H
#define HW_CONTROLLER_PARTS_H

struct controller_options;
struct error;
struct index_keeper;
struct store;

/* In memory alone where its directory cannot be used, which is logged.  NULL
 * with *err. */
struct store *controller_open_store(const struct controller_options *options,
                                    struct error *err);
/* NULL: none are wanted, or, which is logged, they cannot be made. */
struct index_keeper *
controller_start_indexes(const struct controller_options *options);

#endif
