/* checks.c - runs all checks over facts: see facts.h. */
#include "checks.h"

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
