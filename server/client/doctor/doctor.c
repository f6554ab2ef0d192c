/*
 * doctor.c - heapwire doctor: see doctor.h.
 *
 * Facts are gathered first, then judged, then printed.  The checks see nothing
 * but facts, so tests can give them any machine.  Texts may come from a node
 * and are printed as cells, without control characters.
 */
#include "doctor.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "memory.h"
#include "show_rows.h"

static const char *const verdicts[] = {"ok", "warning", "stops"};

static void
show_text(const char *text, enum client_quoting how)
{
    client_show((struct span){text, strlen(text)}, how);
}

static void
print_line_of(const struct finding *f)
{
    printf("%-7s  %s: ", verdicts[f->verdict], f->feature);
    show_text(f->why, CLIENT_CELL);
    if (f->act[0] && f->verdict != VERDICT_OK) {
        fputs(". Do: ", stdout);
        show_text(f->act, CLIENT_CELL);
    }
    putchar('\n');
}

static void
print_object(const struct finding *f, bool first)
{
    printf("%s{\"verdict\": \"%s\", \"feature\": \"%s\", \"why\": \"",
           first ? "[\n" : ",\n", verdicts[f->verdict], f->feature);
    show_text(f->why, CLIENT_QUOTED);
    fputs("\", \"do\": ", stdout);
    if (f->act[0]) {
        putchar('"');
        show_text(f->act, CLIENT_QUOTED);
        fputs("\"}", stdout);
    } else {
        fputs("null}", stdout);
    }
}

size_t
facts_check(const struct facts *facts, struct finding *findings)
{
    static const struct check *const lists[] = {checks_of_node,
                                                checks_of_machine};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const struct check *c = lists[i]; c->feature; c++) {
            findings[count].feature = c->feature;
            count += c->run(facts, &findings[count]);
        }
    return count;
}

int
doctor_run(const char *const *given, char *const *command)
{
    struct facts *facts = mem_zalloc(1, sizeof(*facts));
    struct finding *findings = mem_zalloc(FINDINGS_MAX, sizeof(*findings));
    int worst = VERDICT_STOPS;
    size_t count = 0;

    if (!facts || !findings) {
        warnx("no memory");
        goto out;
    }
    if (command)
        facts_add_program(facts, command);
    else
        facts_ask_node(facts, given);
    facts_add_machine(facts);
    count = facts_check(facts, findings);
    worst = VERDICT_OK;
    /* libmariadb ignores it, and `doctor | head` must end */
    signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < count; i++) {
        if ((int)findings[i].verdict > worst)
            worst = (int)findings[i].verdict;
        if (given['j'])
            print_object(&findings[i], i == 0);
        else
            print_line_of(&findings[i]);
    }
    if (given['j'])
        puts(count ? "\n]" : "[]");
out:
    mem_free(facts);
    mem_free(findings);
    return worst;
}
