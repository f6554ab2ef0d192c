/*
 * daemon_give.h - gives the state directory's files to another user.
 *
 * The directory's owner of an earlier run may have moved other users' files
 * into it, or linked them: those are never given away.
 */
#ifndef HW_DAEMON_GIVE_H
#define HW_DAEMON_GIVE_H

#include <sys/types.h>

struct account;
struct state_dir;

enum { GIVEN_FILES = 7 };

struct given_files {
    const struct state_dir *dir; /* opened anew now and then */
    ino_t strange[GIVEN_FILES];  /* another user's; 0: none */
};

/* Once root has the directory, before any file in it is made or opened. */
void given_files_note(struct given_files *files, const struct state_dir *dir);

/* Both leave a strange file as it is and return 0; -1 with errno: EPERM also
 * for a file with several names. */
int given_files_give(const struct given_files *files, int fd,
                     const struct account *account);
/* Two of the directory's, where they exist. */
int given_files_give_two(const struct given_files *files, const char *one,
                         const char *other, const struct account *account);

#endif
