/* test_time_profile.c - what a profile of time says of itself, and its turn at
 * the symboliser; samples and names are scripted. */
#include "time_profile.h"

#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "names.h"
#include "profile.h"
#include "suite.h"
#include "symbolizer.h"
#include "unwind_store.h"
#include "unwind_tables.h"

static atomic_bool cancelled;
static atomic_uint stage;
static struct sampler_report scripted;
static struct observe_names naming = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct error failure;

int
sampler_run(const struct sampler_options *options,
            int (*take)(void *arg, const struct sample *sample,
                        struct error *err),
            void *arg, struct sampler_report *report, struct error *err)
{
    (void)options, (void)take, (void)arg, (void)err;
    *report = scripted;
    return 0;
}

int
symbolizer_resolve(struct symbolizer *s, const struct resolve_request *request,
                   struct names **out, struct error *err)
{
    (void)s, (void)request, (void)err;
    *out = names_new(1 << 20);
    return *out ? 0 : -1;
}

static int looks; /* that are over */

/* Once names are looked for: its code was looked at before. */
static void
cancel_it(void *arg)
{
    if (++looks == 2)
        atomic_store((atomic_bool *)arg, true);
}

static bool
look(void *arg)
{
    (void)arg;
    return false;
}

static void
go_on(void *arg)
{
    (void)arg;
}

/* Of this process. */
static struct profile *
take_own(void (*looked)(void *arg))
{
    const struct unwind_store_options kept = {NULL, 1 << 20};
    struct unwind_store *store = unwind_store_new(&kept, &failure);
    const struct unwind_tables_options tables = {.program = "/nonexistent",
                                                 .store = store};
    const int32_t pid = getpid();
    const struct sampler_options options = {.pid = pid, .milliseconds = 2000};
    const struct observing observing = {
        .tables = unwind_tables_new(&tables, &failure),
        .names = &naming,
        .cancelled = &cancelled,
        .stop_fd = -1,
        .pid = pid,
        .exe = "db",
        .stage = &stage,
        .make_readable = look,
        .restore_closed = looked,
        .arg = &cancelled};
    struct profile *profile;

    ck_assert_ptr_nonnull(observing.tables);
    profile = time_profile_take(&observing, PROFILE_WALL, &options, &failure);
    unwind_tables_free(observing.tables);
    unwind_store_free(store);
    return profile;
}

START_TEST(time_that_was_not_seen_is_told)
{
    static const struct {
        struct sampler_report report;
        const char *told;
    } cases[] = {
        {{.unseen = 2}, "2 threads could not be looked at"},
        {{.unseen = 2, .unseen_ms = 1500},
         "2 threads could not be looked at, for 1.5 s in all"},
        {{.unmet = 1, .unseen_ms = 1500},
         "1 thread was not sampled: it ended, or the profile did, for 1.5 s in "
         "all"},
        {{.unseen_ms = 1500}, "threads could not be looked at for 1.5 s in "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile *profile;

        scripted = cases[i].report;
        scripted.way = SAMPLER_PTRACE;
        profile = take_own(go_on);
        ck_assert_msg(profile != NULL, "%s", failure.text);
        ck_assert_msg(
            strncmp(profile->note, cases[i].told, strlen(cases[i].told)) == 0,
            "%s", profile->note);
        profile_free(profile);
    }
}
END_TEST

START_TEST(whoever_waits_for_names_may_be_cancelled)
{
    pthread_mutex_lock(&naming.lock); /* of another observation */
    ck_assert_ptr_null(take_own(cancel_it));
    ck_assert_int_eq(failure.code, ER_QUERY_INTERRUPTED);
    pthread_mutex_unlock(&naming.lock);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("time_profile");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, time_that_was_not_seen_is_told);
    tcase_add_test(tcase, whoever_waits_for_names_may_be_cancelled);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
