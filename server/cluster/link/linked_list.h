/*
 * linked_list.h - items in order, each in one list, which know their
 * neighbours.
 *
 * list has `first` and `last`, an item `next` and `previous`; all zeroed, it is
 * empty.  Arguments are evaluated more than once.
 */
#ifndef HW_LINKED_LIST_H
#define HW_LINKED_LIST_H

#include <stddef.h>

#define LINKED_LIST_APPEND(list, item)                                         \
    do {                                                                       \
        (item)->next = NULL;                                                   \
        (item)->previous = (list)->last;                                       \
        *((list)->last ? &(list)->last->next : &(list)->first) = (item);       \
        (list)->last = (item);                                                 \
    } while (0)

#define LINKED_LIST_REMOVE(list, item)                                         \
    do {                                                                       \
        *((item)->previous ? &(item)->previous->next : &(list)->first) =       \
            (item)->next;                                                      \
        *((item)->next ? &(item)->next->previous : &(list)->last) =            \
            (item)->previous;                                                  \
        (item)->next = (item)->previous = NULL;                                \
    } while (0)

#endif
