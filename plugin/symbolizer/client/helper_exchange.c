/* helper_exchange.c - see helper_exchange.h. */
#include "helper_exchange.h"

#include "errors.h"
#include "symbolizer_wire.h"

struct sent
sent_of(const struct helper_question *question)
{
    return (struct sent){.object_fd = question->object_fd,
                         .index_fd = question->index_fd,
                         .count = question->count,
                         .flags =
                             (question->symbols_only ? WIRE_SYMBOLS_ONLY : 0) |
                             (question->index_fd >= 0 ? WIRE_HAS_INDEX : 0) |
                             (question->no_lines ? WIRE_NO_LINES : 0)};
}

bool
sent_is(const struct sent *a, const struct sent *b)
{
    return a->object_fd == b->object_fd && a->index_fd == b->index_fd &&
           a->count == b->count && a->flags == b->flags;
}

struct exchange
exchange_of(const struct helper_question *question)
{
    return (struct exchange){.question = question,
                             .fds = {question->object_fd, question->index_fd},
                             .fd_count = question->index_fd >= 0 ? 2 : 1};
}

/* Of an index: once, and before its bytes. */
static enum take
take_remark(struct exchange *x, struct span why)
{
    if (!x->index->symbols_only || x->texts > 0 || x->parts ||
        why.size > WIRE_COMPLAINT_MAX)
        return TAKE_GARBAGE;
    x->texts++;
    x->index->symbols_only(x->index->arg, why);
    return TAKE_MORE;
}

static enum take
take_text(struct exchange *x, struct span text)
{
    const struct helper_question *question = x->question;

    if (x->index)
        return take_remark(x, text);
    if (!question || x->texts == WIRE_TEXTS_MAX ||
        !question->text(question->arg, text))
        return TAKE_GARBAGE;
    x->texts++;
    return TAKE_MORE;
}

static enum take
take_answer(struct exchange *x, const struct wire_reply *reply)
{
    const struct helper_question *question = x->question;

    if (!question || x->answered == question->count ||
        !question->answer(question->arg, reply))
        return TAKE_GARBAGE;
    x->answered++;
    return TAKE_MORE;
}

static enum take
take_part(struct exchange *x, struct span part, struct error *err)
{
    if (!x->index)
        return TAKE_GARBAGE;
    x->parts = true;
    return x->index->write(x->index->arg, part.data, part.size, err) == 0
               ? TAKE_MORE
               : TAKE_REFUSED;
}

static enum take
take_refusal(struct exchange *x, struct span why)
{
    if (x->fds[1] < 0 || x->refused)
        return TAKE_GARBAGE;
    x->refused = true;
    if (x->question->refused)
        x->question->refused(x->question->arg, why);
    return TAKE_MORE;
}

enum take
exchange_take(struct exchange *x, struct span payload, struct error *err)
{
    struct wire_reply reply;

    if (!wire_parse_reply(payload, &reply))
        return TAKE_GARBAGE;
    if (reply.type == WIRE_TEXT)
        return take_text(x, reply.text);
    if (reply.type == WIRE_ANSWER)
        return take_answer(x, &reply);
    if (reply.type == WIRE_PART)
        return take_part(x, reply.part, err);
    if (reply.type == WIRE_REFUSED)
        return take_refusal(x, reply.complaint);
    if (x->question && x->answered < x->question->count &&
        reply.complaint.size == 0)
        return TAKE_GARBAGE;
    error_set(err, ER_UNKNOWN, "%.*s", (int)reply.complaint.size,
              reply.complaint.data);
    return TAKE_DONE;
}
