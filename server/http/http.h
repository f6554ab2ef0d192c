/*
 * http.h - HTTP as a session's conversation: requests in, statements run,
 * answers out.
 *
 * See README.md.
 */
#ifndef HW_HTTP_H
#define HW_HTTP_H

struct conversation;

extern const struct conversation http_conversation; /* for session_accept */

#endif
