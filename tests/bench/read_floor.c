/*
 * read_floor.c - what reading costs that does nothing else: SIZE bytes of FILE
 * from OFFSET on, in pieces, added up.
 *
 *     read_floor FILE OFFSET SIZE
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 256 * 1024 };

int
main(int argc, char **argv)
{
    static char piece[PIECE];
    uint64_t sum = 0, word;
    off_t at, end;
    ssize_t n;
    int fd;

    if (argc != 4 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0) {
        fputs("usage: read_floor FILE OFFSET SIZE\n", stderr);
        return 64;
    }
    at = strtoll(argv[2], NULL, 10);
    end = at + strtoll(argv[3], NULL, 10);
    while (at < end && (n = pread(fd, piece, PIECE, at)) > 0) {
        for (size_t i = 0; i + sizeof(word) <= (size_t)n; i += sizeof(word)) {
            memcpy(&word, piece + i, sizeof(word));
            sum += word;
        }
        at += n;
    }
    close(fd);
    printf("%llx\n", (unsigned long long)sum);
    return at < end;
}
