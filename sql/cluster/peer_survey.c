/*
 * peer_survey.c - asks all other nodes for their state at once, for the table
 * of nodes (fetch.h).
 *
 * It is not one of cluster_ask.c's questions, because a node that is down is
 * the answer here and not a failure, and the limit is two seconds: an operator
 * who looks for the dead node does not want to wait for it.  At most 6 KB of
 * each answer and 48 MB of all are kept; what other nodes send is cut, cleaned
 * of control characters and checked for its form.
 */
#include "fetch.h"

#include <string.h>

#include "arena.h"
#include "await.h"
#include "clean_text.h"
#include "ascii.h"
#include "errors.h"
#include "memory.h"
#include "peers.h"
#include "search.h"
#include "sql_session.h"

enum {
    TEXTS = 6,                    /* columns of an answer */
    TEXT_MAX = 1024,              /* bytes kept of each text */
    COUNT_DIGITS = 9,             /* of a count, at most */
    SURVEY_BYTES_MAX = 48 << 20,  /* bytes of all answers */
    ANSWER_MAX = TEXTS * TEXT_MAX /* bytes of one node's answer */
};

static const char question[] =
    "SELECT state, since, profiling, reason, started, cpus "
    "FROM heapwire.profiler";
static const char no_answer[] = "rpc failed: the answer has no row";
static const char no_memory[] = "Out of memory for the answer";

struct peer_survey {
    const struct sql_peers *peers;
    struct peer_fanout *fanout;
    struct arena *arena; /* holds all that follows */
    uint64_t *ids;       /* ascending */
    size_t id_count;
    struct peer_survey_answer *answers; /* one for each id */
};

/* ---- asking ---- */

static int
list_others(struct peer_survey *survey, const struct sql_session *session)
{
    struct peer_row *rows;
    size_t count = peers_list(session, &rows);

    if (!rows)
        return -1;
    survey->ids = arena_alloc(survey->arena, (count + 1) * sizeof(uint64_t));
    survey->answers =
        arena_alloc(survey->arena, (count + 1) * sizeof(*survey->answers));
    for (size_t i = 0; survey->ids && i < count; i++)
        if (!rows[i].self)
            survey->ids[survey->id_count++] = rows[i].id;
    mem_free(rows);
    return survey->ids && survey->answers ? 0 : -1;
}

static int
ask_survey_peers(struct peer_survey *survey, const struct sql_session *session,
                 struct await *await, struct error *err)
{
    const struct peer_request request = {
        .ids = survey->ids,
        .id_count = survey->id_count,
        .verb = PEER_SELECT,
        .text = {question, sizeof(question) - 1},
        .column_count = TEXTS,
        .timeout_ms = PEER_SURVEY_MS,
        .node_bytes_max = ANSWER_MAX,
        .bytes_max = SURVEY_BYTES_MAX,
        .caller = &session->who,
        .connection_id = session->connection_id,
        .waker = await_waker(await)};

    if (survey->id_count == 0)
        return 0;
    survey->fanout = survey->peers->ask(survey->peers->arg, &request, err);
    return survey->fanout ? 0 : -1;
}

struct peer_survey *
peer_survey_new(const struct sql_session *session, struct await *await,
                struct error *err)
{
    struct peer_survey *survey = mem_zalloc(1, sizeof(*survey));

    if (survey) {
        survey->peers = session->node->peers;
        survey->arena = arena_new(SURVEY_BYTES_MAX);
    }
    if (!survey || !survey->arena || list_others(survey, session) != 0) {
        error_memory(err, "the list of nodes");
        goto fail;
    }
    if (ask_survey_peers(survey, session, await, err) == 0)
        return survey;
fail:
    peer_survey_free(survey);
    return NULL;
}

void
peer_survey_free(struct peer_survey *survey)
{
    if (!survey)
        return;
    if (survey->fanout)
        survey->peers->release(survey->fanout);
    arena_free(survey->arena);
    mem_free(survey);
}

/* ---- answers ---- */

static const char *
copy_survey_text(struct peer_survey *survey, struct peer_survey_answer *answer,
                 struct span text)
{
    size_t size = text.size < TEXT_MAX ? text.size : TEXT_MAX;
    char *copy = text.data ? arena_alloc(survey->arena, size + 1) : NULL;

    if (copy)
        clean_text((struct span){text.data, size}, copy);
    else if (text.data)
        answer->error = no_memory;
    return copy;
}

/* Has it the form of "2026-11-21 02:31:00"?  Another version's text must not
 * become a date. */
static bool
is_timestamp_text(struct span text)
{
    static const char form[] = "0000-00-00 00:00:00";

    if (!text.data || text.size != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (form[i] == '0' ? !is_digit(text.data[i]) : text.data[i] != form[i])
            return false;
    return true;
}

/* Reads a count; 0: the text is none. */
static unsigned
parse_peer_cpu_count(struct span text)
{
    unsigned count = 0;

    if (text.size > COUNT_DIGITS)
        return 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return 0;
        count = 10 * count + (unsigned)(text.data[i] - '0');
    }
    return count;
}

/* Each node answers with one row; the first one counts.  Its cells are in the
 * order of question. */
static void
take_survey_block(struct peer_survey *survey, const struct peer_block *block)
{
    struct peer_survey_answer *answer = &survey->answers[block->id_index];

    if (answer->state || block->row_count == 0)
        return;
    answer->state = copy_survey_text(survey, answer, block->cells[0]);
    if (is_timestamp_text(block->cells[1]))
        answer->since = copy_survey_text(survey, answer, block->cells[1]);
    answer->profiling = copy_survey_text(survey, answer, block->cells[2]);
    answer->reason = copy_survey_text(survey, answer, block->cells[3]);
    if (is_timestamp_text(block->cells[4]))
        answer->started = copy_survey_text(survey, answer, block->cells[4]);
    answer->cpus = parse_peer_cpu_count(block->cells[5]);
}

static void
take_survey_node_end(struct peer_survey *survey, const struct peer_end *end)
{
    struct peer_survey_answer *answer = &survey->answers[end->id_index];
    struct span text = {end->error.text, strlen(end->error.text)};

    const char *why;

    if (end->error.code) {
        why = copy_survey_text(survey, answer, text);
        answer->error = why ? why : no_memory;
    } else if (!answer->state && !answer->error) {
        answer->error = no_answer;
    }
}

int
peer_survey_wait(struct peer_survey *survey, struct await *await,
                 struct error *err)
{
    struct peer_block *block;
    struct peer_end end;

    while (survey->fanout)
        switch (survey->peers->take(survey->fanout, &block, &end)) {
        case PEER_NOTHING_YET:
            if (await_notification(await, err) != 0)
                return -1;
            break;
        case PEER_BLOCK:
            take_survey_block(survey, block);
            mem_free(block);
            break;
        case PEER_END:
            take_survey_node_end(survey, &end);
            break;
        case PEER_ALL_ENDED:
            survey->peers->release(survey->fanout);
            survey->fanout = NULL;
            break;
        }
    return 0;
}

const struct peer_survey_answer *
peer_survey_find(const struct peer_survey *survey, uint64_t id)
{
    size_t above;

    if (!survey)
        return NULL;
    above = search_above(survey->ids, survey->id_count, sizeof(*survey->ids), 0,
                         id);
    return above > 0 && survey->ids[above - 1] == id
               ? &survey->answers[above - 1]
               : NULL;
}
