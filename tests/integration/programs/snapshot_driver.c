/*
 * snapshot_driver.c - a snapshot file from jemalloc's own profile.
 *
 *     snapshot_driver PROFILE PID >FILE
 *
 * Said to be of that process.  prof.sh has heapwire-prof read it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "snapshot.h"
#include "snapshot_file.h"

int
main(int argc, char **argv)
{
    struct snapshot *snapshot;
    struct buffer text, out;
    struct error err = {0};
    int rc = 1;

    if (argc != 3)
        return 2;
    buffer_init(&text, 1 << 30);
    buffer_init(&out, SNAPSHOT_FILE_MAX);
    if (file_read_all(argv[1], &text, &err) != 0 ||
        !(snapshot = snapshot_import(text.data, text.size, &err)))
        goto out;
    snprintf(snapshot->name, sizeof(snapshot->name), "of_%s", argv[2]);
    snapshot->hello.pid = (int32_t)strtol(argv[2], NULL, 10);
    if (snapshot_encode(snapshot, &out, &err) == 0 &&
        fwrite(out.data, 1, out.size, stdout) == out.size)
        rc = 0;
    snapshot_unref(snapshot);
out:
    if (rc != 0)
        fprintf(stderr, "snapshot_driver: %s\n", err.text);
    buffer_fini(&text);
    buffer_fini(&out);
    return rc;
}
