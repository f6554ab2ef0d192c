// sites.cc - the corpus's allocation sites: many small functions without a
// linkage name, inlined into one, as servers have them, and templates.
#include <cstdlib>

int sites_entry(int n);

static void *volatile sink;

#define SITE(n)                                                                \
    static inline void churn##n(int k)                                         \
    {                                                                          \
        for (int i = 0; i < k; i++) {                                          \
            void *block = malloc(16 + n * 8 + i);                              \
            sink = block;                                                      \
            if (i % 3)                                                         \
                free(block);                                                   \
        }                                                                      \
    }
#define TEN(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5)       \
    of(n##6) of(n##7) of(n##8) of(n##9)

TEN(SITE, 1)
TEN(SITE, 2)
TEN(SITE, 3)
TEN(SITE, 4)

template <int N> struct Site {
    static void keep(int k) { sink = malloc(N + 100 + k); }
};

namespace {

struct Held {
    explicit Held(int n) { block = malloc(n); }
    ~Held() { free(block); }
    void *block;
};

} // namespace

#define CALL(n) churn##n(k + n % 4);
#define KEEP(n) Site<n>::keep(k);

int
sites_entry(int k)
{
    auto twice = [&](int n) { sink = malloc(2 * n); };
    Held held(k + 1);

    TEN(CALL, 1)
    TEN(CALL, 2)
    TEN(CALL, 3)
    TEN(CALL, 4)
    TEN(KEEP, 1)
    TEN(KEEP, 2)
    TEN(KEEP, 3)
    TEN(KEEP, 4)
    twice(k);
    [](int n) { sink = malloc(n + 3); }(k);
    return sink == held.block;
}
