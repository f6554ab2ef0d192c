/* output_file.h - a file that --output names. */
#ifndef HW_OUTPUT_FILE_H
#define HW_OUTPUT_FILE_H

#include <sys/types.h>

#include "client.h"

/* In one step: before it there is the old file, or none, whatever fails.  What
 * is there and is no regular file, such as a pipe, is written to as it is.  A
 * link stays, and what it names is written: nothing, where that is not there
 * and the link another user's. */
enum client_status output_file_write(struct span data, const char *file,
                                     mode_t mode);

#endif
