/* controller_parts.c - see controller_parts.h. */
#include "controller_parts.h"

#include "controller.h"
#include "errors.h"
#include "index_keeper.h"
#include "log.h"
#include "store.h"

/* Without its directory the store keeps snapshots in memory, and
 * heapwire.snapshots says so for each. */
struct store *
controller_open_store(const struct controller_options *options,
                      struct error *err)
{
    struct store_options in_memory = options->store;
    struct store *store = store_open(&options->store, options->log, err);

    if (store || !options->store.dir)
        return store;
    log_to(options->log,
           "snapshots are kept in memory alone, until heapwired ends: %s",
           err->text);
    in_memory.dir = NULL;
    return store_open(&in_memory, options->log, err);
}

/* Without indexes names take longer, but are the same. */
struct index_keeper *
controller_start_indexes(const struct controller_options *options)
{
    struct index_keeper_options indexes = index_keeper_defaults;
    struct index_keeper *keeper;
    struct error err;

    if (!options->index_dir)
        return NULL;
    indexes.dir = options->index_dir;
    indexes.program = options->symbolizer;
    indexes.rules.bytes = options->index_bytes;
    indexes.reader_mb = options->reader_mb;
    indexes.log = options->log;
    keeper = index_keeper_start(&indexes, &err);
    if (!keeper)
        log_to(options->log, "no symbol indexes are made: %s", err.text);
    return keeper;
}
