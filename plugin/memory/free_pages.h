/*
 * free_pages.h - why free pages stay in memory, and what gives them back.
 *
 * Pure: from a node's figures, in words for people.
 */
#ifndef HW_FREE_PAGES_H
#define HW_FREE_PAGES_H

struct buffer;
struct stats;

/* One sentence without a full stop; nothing where they are few (less than 16
 * MB, or than a twentieth of resident), or not known. */
void free_pages_write(const struct stats *stats, struct buffer *out);

#endif
