/* supervised_env.h - by which heapwired knows heapwire-run: supervised.h. */
#ifndef HW_SUPERVISED_ENV_H
#define HW_SUPERVISED_ENV_H

#define SUPERVISED_ENV "HEAPWIRE_HEARTBEAT"

#endif
