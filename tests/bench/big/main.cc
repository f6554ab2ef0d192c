// main.cc - see plan.h.  big OPERATORS SITES STACKS DEPTH: that many stacks of
// up to DEPTH operators, from the first OPERATORS of them.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "plan.h"

namespace plan
{
static Operator *operators[1 << 16];
static unsigned operator_count, operator_limit;
static const void *objects[1 << 22];

Operator::Operator(const char *name) : name(name)
{
    if (operator_count < sizeof(operators) / sizeof(operators[0]))
        operators[operator_count++] = this;
}

long
Context::descend()
{
    left--;
    return operators[roll(operator_limit)]->next(*this) + 1;
}

void
Context::keep(const void *object)
{
    objects[kept++ % (sizeof(objects) / sizeof(objects[0]))] = object;
}
} // namespace plan

int
main(int argc, char **argv)
{
    auto argument = [&](int i, unsigned long otherwise) {
        return argc > i ? strtoul(argv[i], nullptr, 10) : otherwise;
    };
    plan::Context context;
    long sum = 0;

    plan::operator_limit = static_cast<unsigned>(argument(1, 100));
    if (plan::operator_limit == 0 ||
        plan::operator_limit > plan::operator_count)
        plan::operator_limit = plan::operator_count;
    context.sites = static_cast<unsigned>(argument(2, 1000));
    for (unsigned long i = argument(3, 1000); i > 0; i--) {
        context.dice = i * 0x9e3779b97f4a7c15ul;
        context.roll(1);
        context.left = 1 + context.roll(static_cast<unsigned>(argument(4, 6)));
        sum += context.descend();
    }
    fprintf(stderr, "%u of %u operators, %ld\n", plan::operator_limit,
            plan::operator_count, sum);
    if (argc > 5) { // to be asked as a node
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    return 0;
}
