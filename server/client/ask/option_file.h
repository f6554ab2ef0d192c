/* option_file.h - the file of options that a connection is made with. */
#ifndef HW_OPTION_FILE_H
#define HW_OPTION_FILE_H

#include "client.h"

/* Reads it once, before the first connection.  path NULL: ~/.my.cnf, which may
 * be missing, and whose keys may be other programs'.  Else a fault is printed
 * with its line: CLIENT_USAGE, or CLIENT_NO_INPUT if it cannot be read. */
enum client_status option_file_read(const char *path);

/* For the library, whose reader it goes through; -1: none was read. */
int option_file_fd(void);

#endif
