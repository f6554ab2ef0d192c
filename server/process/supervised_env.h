/* supervised_env.h - the messages between heapwire-run and heapwired:
 * supervised.h. */
#ifndef HW_SUPERVISED_ENV_H
#define HW_SUPERVISED_ENV_H

#define SUPERVISED_ENV "HEAPWIRE_HEARTBEAT"
/* Set if heapwire-run was attached to a running database. */
#define SUPERVISED_ATTACHED "HEAPWIRE_ATTACHED"

/* Set if its stdout is the segment of the database's recorder. */
#define SUPERVISED_RECORDER "HEAPWIRE_SEGMENT"

/* heapwired's exit status where its state directory was deleted. */
enum { SUPERVISED_STATE_DIR_LOST = 74 };

/* heapwire-run says on the line: a database comes, before its agent can be
 * asked. */
#define SUPERVISED_DATABASE "database uid %u pid %d\n"
enum { SUPERVISED_MESSAGE_MAX = 64 };

#endif
