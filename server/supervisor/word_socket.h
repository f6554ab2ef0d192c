/*
 * word_socket.h - a datagram socket for words to heapwire-run: the kernel
 * chooses its abstract name in the network namespace, and each word comes with
 * its sender's pid and uid.
 */
#ifndef HW_WORD_SOCKET_H
#define HW_WORD_SOCKET_H

enum { WORD_SOCKET_NAME = 16 };

/* -1: there is none; else the descriptor, and its name without the NUL that it
 * begins with. */
int word_socket_open(char name[WORD_SOCKET_NAME]);

/* From now on SIGIO says that a word has come: to be called where that is
 * blocked, for it ends a process. */
void word_socket_wake(int fd);

#endif
