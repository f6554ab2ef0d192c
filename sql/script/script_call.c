/* script_call.c - see script_call.h. */
#include "script_call.h"

#include <string.h>

#include "errors.h"
#include "view_choice.h"

enum { SHOWN = 64 /* bytes of a wrong word in its error */ };

static int
shown(struct span text)
{
    return (int)(text.size < SHOWN ? text.size : SHOWN);
}

enum step
script_blame(struct script_call *call, size_t i)
{
    call->blamed = i + 1;
    return STEP_FAIL;
}

int
script_check_name(struct span name, struct error *err)
{
    if (snapshot_is_name(name.data, name.size))
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' is not a snapshot's name (1 to %d of a-z, 0-9, _); "
              "snapshot() returns one",
              shown(name), name.data, SNAPSHOT_NAME_MAX);
    return -1;
}

int
script_snapshot_name(struct script_call *call, size_t i,
                     char out[SNAPSHOT_NAME_MAX + 1], struct error *err)
{
    struct span given = call->arguments[i].text;

    if (script_check_name(given, err) != 0) {
        script_blame(call, i);
        return -1;
    }
    memcpy(out, given.data, given.size);
    out[given.size] = '\0';
    return 0;
}

int
script_count(struct script_call *call, size_t i, double least, double most,
             uint32_t *out, struct error *err)
{
    if (choice_count(call->method->name, call->arguments[i].number, least, most,
                     out, err) == 0)
        return 0;
    script_blame(call, i);
    return -1;
}

void
script_return_instance(struct script_call *call, const void *state)
{
    call->result.type = SCRIPT_INSTANCE;
    call->result.class_name = call->method->class_name;
    call->result.state = state;
}

void
script_return_text(struct script_call *call, const char *data, size_t size)
{
    call->result.type = SCRIPT_STRING;
    call->result.text.data = data;
    call->result.text.size = size;
}
