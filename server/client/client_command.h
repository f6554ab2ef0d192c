/*
 * client_command.h - commands of heapwire that show what a statement answers:
 * diagnose, on, sql.
 */
#ifndef HW_CLIENT_COMMAND_H
#define HW_CLIENT_COMMAND_H

#include "client.h"

/* Prints why and what, and how to get help; answers CLIENT_USAGE. */
enum client_status command_usage(const char *why, const char *what);

/* nodes NULL means the node that is asked. */
enum client_status command_diagnose(const char *const *given,
                                    const char *nodes);
enum client_status command_on(const char *const *given, const char *nodes,
                              const char *script);
enum client_status command_sql(const char *const *given, const char *statement);

#endif
