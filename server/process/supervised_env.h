/* supervised_env.h - by which heapwired knows heapwire-run: supervised.h. */
#ifndef HW_SUPERVISED_ENV_H
#define HW_SUPERVISED_ENV_H

#define SUPERVISED_ENV "HEAPWIRE_HEARTBEAT"
/* Set where heapwire-run was attached to the database while that ran. */
#define SUPERVISED_ATTACHED "HEAPWIRE_ATTACHED"

/* What heapwire-run says on the line: the database that comes, before its agent
 * can be asked. */
#define SUPERVISED_DATABASE "database uid %u pid %d\n"
enum { SUPERVISED_WORD_MAX = 64 };

#endif
