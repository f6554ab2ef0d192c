/* fake_steps.c - the cursors of the fake sql/. */
#include "fake_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"

static void
add(struct fake *f, struct rows *out, const char *text, size_t size)
{
    struct value *v = out->values + out->count++ * f->base.column_count;

    memset(v, 0, sizeof(*v));
    v->type = VALUE_TEXT;
    v->data = text;
    v->size = size;
}

enum step
step_rows(struct fake *f, struct rows *out, struct error *err)
{
    struct value *v;
    size_t i;

    (void)err;
    for (i = 0; i < out->capacity && f->done < f->left; i++, f->done++) {
        snprintf(f->text[i], ROW_TEXT, "row number %" PRIu64, f->done);
        v = out->values + out->count++ * 2;
        v[0] = (struct value){.type = VALUE_INT, .integer = (int64_t)f->done};
        v[1] = (struct value){
            .type = VALUE_TEXT, .data = f->text[i], .size = strlen(f->text[i])};
    }
    return f->done < f->left ? STEP_MORE : STEP_DONE;
}

enum step
step_late(struct fake *f, struct rows *out, struct error *err)
{
    if (f->done < f->left) {
        (void)step_rows(f, out, err);
        return STEP_MORE;
    }
    error_set(err, ER_UNKNOWN, "this came late");
    return STEP_FAIL;
}

enum step
step_text(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    add(f, out, f->big ? f->big : f->text[0],
        f->big ? f->big_size : strlen(f->text[0]));
    return STEP_DONE;
}

enum step
step_empty(struct fake *f, struct rows *out, struct error *err)
{
    (void)f;
    (void)out;
    (void)err;
    return STEP_DONE;
}

static bool
progress_of(void *of, struct progress *out)
{
    (void)of;
    *out = (struct progress){2, 3, 42, "waiting for nothing"};
    return true;
}

/* Its time being up is no fault. */
enum step
step_wait(struct fake *f, struct rows *out, struct error *err)
{
    uint64_t deadline_ms = f->await->deadline_ms;
    uint64_t until_ms = clock_ms() + f->left;
    struct error over;

    await_watch(f->await, progress_of, f);
    if (deadline_ms == 0 || until_ms < deadline_ms)
        f->await->deadline_ms = until_ms;
    (void)await_notification(f->await, &over);
    f->await->deadline_ms = deadline_ms;
    await_watch(f->await, NULL, NULL);
    if (await_is_over(f->await)) {
        *err = over;
        return STEP_FAIL;
    }
    return step_text(f, out, err);
}

enum step
step_hang(struct fake *f, struct rows *out, struct error *err)
{
    (void)out;
    while (await_notification(f->await, err) == 0)
        ;
    return STEP_FAIL;
}

enum step
step_block(struct fake *f, struct rows *out, struct error *err)
{
    struct timespec nap = {0, 2000000};

    (void)out;
    while (!await_cancelled(f->await))
        nanosleep(&nap, NULL);
    error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    return STEP_FAIL;
}

/* A row at once, and each other one when it has been cancelled. */
enum step
step_stubborn(struct fake *f, struct rows *out, struct error *err)
{
    struct timespec nap = {0, 2000000};

    (void)err;
    while (f->done > 0 && !await_cancelled(f->await))
        nanosleep(&nap, NULL);
    f->done++;
    add(f, out, "here", 4);
    return STEP_MORE;
}

enum step
step_types(struct fake *f, struct rows *out, struct error *err)
{
    struct value *v = out->values;

    (void)f;
    (void)err;
    v[0] = (struct value){.type = VALUE_INT, .integer = INT64_MIN};
    v[1] = (struct value){.type = VALUE_DOUBLE, .real = 0.1};
    v[2] = (struct value){.type = VALUE_BLOB, .data = "\0\1\xff", .size = 3};
    v[3] = (struct value){.type = VALUE_NULL};
    out->count = 1;
    return STEP_DONE;
}

enum step
step_echo(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    memcpy(out->values, f->given, f->base.column_count * sizeof(*f->given));
    out->count = 1;
    return STEP_DONE;
}

const struct fake_typed fake_typed[COLUMNS] = {
    {"null", COLUMN_NULL, 0, NULL, 0},
    {"text", COLUMN_TEXT, 0, NULL, 42},
    {"longtext", COLUMN_LONGTEXT, COLUMN_NOT_NULL, "long", 0},
    {"blob", COLUMN_BLOB, 0, "\xff\xfe", 0},
    {"int", COLUMN_INT, 0, "-7", 0},
    {"bigint", COLUMN_BIGINT, COLUMN_UNSIGNED, "18446744073709551615", 0},
    {"double", COLUMN_DOUBLE, 0, "0.5", 0},
    {"decimal", COLUMN_DECIMAL, 0, "1234567890.123456789", 0},
    {"date", COLUMN_DATE, 0, "2026-11-21", 0},
    {"time", COLUMN_TIME, 0, "-99:30:15.5", 0},
    {"datetime", COLUMN_DATETIME, 0, "2026-11-21 13:14:15.123", 0},
    {"timestamp", COLUMN_TIMESTAMP, 0, "no time at all", 0},
};

enum step
step_typed(struct fake *f, struct rows *out, struct error *err)
{
    (void)f;
    (void)err;
    for (size_t i = 0; i < COLUMNS; i++) {
        struct value *v = &out->values[i];

        *v =
            (struct value){.type = VALUE_INT, .integer = fake_typed[i].integer};
        if (fake_typed[i].text)
            *v = (struct value){.type = VALUE_TEXT,
                                .data = fake_typed[i].text,
                                .size = strlen(fake_typed[i].text)};
    }
    out->count = 1;
    return STEP_DONE;
}

enum step
step_list(struct fake *f, struct rows *out, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < out->capacity && f->done < f->left; i++, f->done++) {
        struct sql_session_row *row = &f->list[f->done];
        struct value *v = out->values + out->count++ * 4;

        v[0] = (struct value){.type = VALUE_INT, .integer = row->id};
        v[1] = (struct value){
            .type = VALUE_TEXT, .data = row->user, .size = strlen(row->user)};
        v[2] = (struct value){.type = VALUE_TEXT,
                              .data = row->command,
                              .size = strlen(row->command)};
        v[3] = (struct value){.type = row->has_info ? VALUE_TEXT : VALUE_NULL,
                              .data = row->info,
                              .size = strlen(row->info)};
    }
    return f->done < f->left ? STEP_MORE : STEP_DONE;
}

static enum step
run_step(struct cursor *cursor, struct rows *out, struct error *err)
{
    struct fake *f = (struct fake *)cursor;

    if (f->computes)
        await_compute(f->await);
    if (f->await && await_check(f->await, err) != 0)
        return STEP_FAIL;
    return f->step(f, out, err);
}

void
fake_free(struct cursor *cursor)
{
    struct fake *f = (struct fake *)cursor;

    mem_free(f->big);
    mem_free(f->list);
    for (size_t i = 0; i < f->given_count; i++)
        mem_free((char *)f->given[i].data);
    mem_free(f->given);
    mem_free(f);
}

const struct cursor_ops fake_ops = {run_step, fake_free};
