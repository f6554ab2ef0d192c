/* curl_memory.h - libcurl, whose memory is wiped when it gives it back. */
#ifndef HW_CURL_MEMORY_H
#define HW_CURL_MEMORY_H

/* In place of curl_global_init. */
void curl_memory_init(void);

#endif
