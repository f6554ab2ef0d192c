/*
 * objects.h - descriptors of the files mapped by one incarnation of the node.
 *
 * The holder of the agent's lock fills it, because the agent can open files
 * that heapwired cannot (another user's, or in another mount namespace); the
 * holder of the names' lock reads it.  Its own lock is the last in the order.
 */
#ifndef HW_OBJECTS_H
#define HW_OBJECTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct mapping;
struct mappings;
struct profile;

enum { OBJECTS_MAX = 256 };

struct objects {
    pthread_mutex_t lock; /* guards all below */
    struct {
        uint64_t device, inode;
        int fd; /* -1: the agent could not open it */
    } list[OBJECTS_MAX];
    int count;
};

void objects_init(struct objects *objects);
void objects_fini(struct objects *objects);
/* when the database was started anew */
void objects_clear(struct objects *objects);

bool objects_known(struct objects *objects, uint64_t device, uint64_t inode);
/* Takes fd (-1: there is none); closes it when the table is full. */
void objects_put(struct objects *objects, uint64_t device, uint64_t inode,
                 int fd);
/* A fresh descriptor that the caller closes, or -1. */
int objects_open(struct objects *objects, uint64_t device, uint64_t inode);
/* The same, for requests that open mappings' files; objects: struct objects. */
int objects_open_mapping(void *objects, const struct mapping *mapping);

enum { MODULES_MAX = 1024 /* executable mappings of files */ };

/* Fills the profile's modules, the mapped files of code, with build-ids; call
 * it before others see the profile.  objects has the files' descriptors; NULL:
 * no build-id is known.  Mappings past the ceiling are left out.  -1 with *err
 * without memory. */
int modules_fill(struct profile *profile, const struct mappings *maps,
                 struct objects *objects, struct error *err);

#endif
