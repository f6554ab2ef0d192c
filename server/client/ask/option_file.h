/* option_file.h - the option file that a connection is made with. */
#ifndef HW_OPTION_FILE_H
#define HW_OPTION_FILE_H

#include "client.h"

/* Reads the file once, before the first connection.  path NULL means ~/.my.cnf:
 * it may be missing, and its keys may be those of other programs.  A fault in
 * any other file is printed with its line and answers CLIENT_USAGE; a file that
 * cannot be read answers CLIENT_NO_INPUT. */
enum client_status option_file_read(const char *path);

/* The descriptor of the copy, which the library reads; -1 if none was read. */
int option_file_fd(void);

#endif
