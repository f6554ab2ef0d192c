/* curl_memory.h - gives libcurl an allocator that wipes memory when it is
 * freed. */
#ifndef HW_CURL_MEMORY_H
#define HW_CURL_MEMORY_H

/* In place of curl_global_init. */
void curl_memory_init(void);

#endif
