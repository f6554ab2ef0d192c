/* interpose_new.h - C++'s operators: see interpose_new.c. */
#ifndef HW_INTERPOSE_NEW_H
#define HW_INTERPOSE_NEW_H

/* Before main, once the real functions are found and before the recorder
 * begins: tries whether operator new calls malloc by its name. */
void interpose_new_begin(void);

#endif
