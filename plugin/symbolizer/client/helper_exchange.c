/*
 * helper_exchange.c - see helper_exchange.h: which reply may follow which.  The
 * helper may be in the hands of a hostile object, so a reply that was not asked
 * for, too many of them, or a WIRE_DONE too early are garbage, and garbage ends
 * the helper.
 */
#include "helper_exchange.h"

#include "errors.h"
#include "symbolizer_wire.h"

struct helper_sent
helper_sent_of(const struct helper_question *question)
{
    return (struct helper_sent){
        .object_fd = question->object_fd,
        .index_fd = question->index_fd,
        .count = question->count,
        .flags = (question->symbols_only ? WIRE_SYMBOLS_ONLY : 0) |
                 (question->index_fd >= 0 ? WIRE_HAS_INDEX : 0) |
                 (question->no_lines ? WIRE_NO_LINES : 0)};
}

bool
helper_sent_is(const struct helper_sent *a, const struct helper_sent *b)
{
    return a->object_fd == b->object_fd && a->index_fd == b->index_fd &&
           a->count == b->count && a->flags == b->flags;
}

struct helper_exchange
helper_exchange_of(const struct helper_question *question)
{
    return (struct helper_exchange){
        .question = question,
        .fds = {question->object_fd, question->index_fd},
        .fd_count = question->index_fd >= 0 ? 2 : 1};
}

/* The remark on an index comes once, before its bytes. */
static enum helper_take
take_index_remark(struct helper_exchange *x, struct span why)
{
    /* not asked for, twice, or too late */
    if (!x->index->symbols_only || x->texts > 0 || x->parts ||
        why.size > WIRE_COMPLAINT_MAX)
        return HELPER_TAKE_GARBAGE;
    x->texts++;
    x->index->symbols_only(x->index->arg, why);
    return HELPER_TAKE_MORE;
}

static enum helper_take
take_reply_text(struct helper_exchange *x, struct span text)
{
    const struct helper_question *question = x->question;

    if (x->index)
        return take_index_remark(x, text);
    if (!question || x->texts == WIRE_TEXTS_MAX ||
        !question->text(question->arg, text))
        return HELPER_TAKE_GARBAGE;
    x->texts++;
    return HELPER_TAKE_MORE;
}

static enum helper_take
take_answer(struct helper_exchange *x, const struct wire_reply *reply)
{
    const struct helper_question *question = x->question;

    if (!question || x->answered == question->count ||
        !question->answer(question->arg, reply))
        return HELPER_TAKE_GARBAGE;
    x->answered++;
    return HELPER_TAKE_MORE;
}

static enum helper_take
take_part(struct helper_exchange *x, struct span part, struct error *err)
{
    if (!x->index)
        return HELPER_TAKE_GARBAGE;
    x->parts = true;
    return x->index->write(x->index->arg, part.data, part.size, err) == 0
               ? HELPER_TAKE_MORE
               : HELPER_TAKE_REFUSED;
}

static enum helper_take
take_index_refusal(struct helper_exchange *x, struct span why)
{
    /* no index was sent, or it was refused already */
    if (x->fds[1] < 0 || x->refused)
        return HELPER_TAKE_GARBAGE;
    x->refused = true;
    if (x->question->refused)
        x->question->refused(x->question->arg, why);
    return HELPER_TAKE_MORE;
}

enum helper_take
helper_exchange_take(struct helper_exchange *x, struct span payload,
                     struct error *err)
{
    struct wire_reply reply;

    if (!wire_parse_reply(payload, &reply))
        return HELPER_TAKE_GARBAGE;
    if (reply.type == WIRE_TEXT)
        return take_reply_text(x, reply.text);
    if (reply.type == WIRE_ANSWER)
        return take_answer(x, &reply);
    if (reply.type == WIRE_PART)
        return take_part(x, reply.part, err);
    if (reply.type == WIRE_REFUSED)
        return take_index_refusal(x, reply.complaint);
    /* fewer answers than offsets need a complaint that explains it */
    if (x->question && x->answered < x->question->count &&
        reply.complaint.size == 0)
        return HELPER_TAKE_GARBAGE;
    error_set(err, ER_UNKNOWN, "%.*s", (int)reply.complaint.size,
              reply.complaint.data);
    return HELPER_TAKE_DONE;
}
