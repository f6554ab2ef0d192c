/* output_file.h - writes the file that --output names. */
#ifndef HW_OUTPUT_FILE_H
#define HW_OUTPUT_FILE_H

#include <sys/types.h>

#include "client.h"

/* Replaces a regular file in one step: whatever fails, the old file, or none,
 * is there as before.  Other files, such as a pipe, are written to as they are.
 * A link stays, and what it names is written; if that does not exist and the
 * link is another user's, nothing is written. */
enum client_status output_file_write(struct span data, const char *file,
                                     mode_t mode);

#endif
