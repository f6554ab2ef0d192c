/*
 * word_socket.h - a datagram socket for words to heapwire-run: the kernel
 * chooses its abstract name in the network namespace, and each word comes with
 * its sender's pid and uid.
 */
#ifndef HW_WORD_SOCKET_H
#define HW_WORD_SOCKET_H

enum { WORD_SOCKET_NAME = 16 };

/* -1: there is none; else the descriptor, and its name without the leading NUL.
 */
int word_socket_open(char name[WORD_SOCKET_NAME]);

/* From now on SIGIO announces a word: call it with SIGIO blocked, which would
 * end the process. */
void word_socket_wake(int fd);

#endif
