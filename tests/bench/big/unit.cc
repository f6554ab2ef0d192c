// unit.cc - one unit of a big program: UNIT is its namespace, KIND what is
// varied in it, OPS how many operators it has.  See big_program.sh.
#include "plan.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

namespace UNIT
{
using plan::Context;

// Names that only this unit knows: no linkage names in DWARF.
namespace
{
struct Hidden {
    std::vector<std::string> words;

    long
    learn(Context &context, int n)
    {
        words.emplace_back("a word that does not fit in itself " +
                           std::to_string(n));
        return static_cast<long>(words.size()) + context.roll(7);
    }
};

long
file_local(Context &context, int n)
{
    auto &hidden = plan::make<Hidden>(context);
    hidden.words.reserve(2);
    return hidden.learn(context, n) + n;
}
} // namespace

struct Tag {
};

template <int N> using Row = plan::Record<Tag, N>;
// Of all units: the linker keeps one of each.
template <int N> using Common = plan::Record<plan::Shared, N>;

template <int N> class Index
{
  public:
    struct Entry {
        Row<N> row;
        std::shared_ptr<Common<N>> next;
        long weight;
    };

    explicit Index(Context &context) : context_(context)
    {
    }

    long
    insert(long key)
    {
        auto row = std::make_shared<Common<N>>(context_);
        auto at = entries_.put(key, Entry{Row<N>(context_), row, key});
        by_name_[at->second.row.key].push_back(std::move(row));
        return entries_.each([&](long k, Entry &entry) {
            return k + static_cast<long>(entry.row.key.size()) + entry.weight;
        });
    }
    long
    sorted()
    {
        std::vector<Entry> list;

        for (long i = 0; i < 3; i++)
            list.push_back(Entry{Row<N>(context_), nullptr, -i});
        std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) {
            return a.weight < b.weight || a.row < b.row;
        });
        history_.push_back(std::move(list));
        return static_cast<long>(history_.size());
    }
    template <class Visitor>
    long
    visit(Visitor visitor)
    {
        struct Local {
            Visitor &visitor;
            long
            run(Context &context, long n)
            {
                return n > 0 ? run(context, n - 1) + 1 : visitor(context);
            }
        } local{visitor};

        return local.run(context_, N % 3);
    }

  private:
    Context &context_;
    plan::Table<long, Entry> entries_;
    std::unordered_map<std::string, std::vector<std::shared_ptr<Common<N>>>>
        by_name_;
    std::deque<std::vector<Entry>> history_;
};

template <int N> class Operation : public plan::Operator
{
  public:
    Operation() : Operator(TEXT(UNIT))
    {
    }

    long
    next(Context &context) override
    {
        unsigned site = context.roll(std::min(context.sites, 10u));

        return context.left > 0 ? deeper(context, site)
                                : allocate(context, site);
    }

  private:
    using Value =
        std::variant<long, std::string, Row<N>, std::vector<Common<N>>>;
    std::function<long(Context &)> hook_;
    long count_ = 0;

    long
    deeper(Context &context, unsigned site)
    {
        Index<N> index(context);

        switch (site) {
        case 0:
            return index.visit([this](Context &c) { return c.descend() + N; });
        case 1:
            hook_ = [this](Context &c) { return c.descend() + count_; };
            return std::function<long(Context &)>(hook_)(context) * 3;
        case 2: {
            std::array<int, 2> once{N, 0};
            return std::accumulate(
                once.begin(), once.end() - 1, 0L,
                [&](long sum, int n) { return sum + context.descend() * n; });
        }
        case 3: {
            std::variant<Operation *, int> either(this);
            return std::visit(
                [&](auto &what) {
                    if constexpr (std::is_same_v<decltype(what), int &>)
                        return static_cast<long>(what);
                    else
                        return what->again(context) - 3;
                },
                either);
        }
        case 4: {
            std::vector<int> three{1, 2, 3};
            std::for_each(three.begin(), three.begin() + 1,
                          [&](int n) { count_ += context.descend() + n; });
            return count_;
        }
        case 5:
            return guarded(context, [&] { return context.descend() ^ N; });
        case 6:
            count_ += again(context);
            return count_ - 1;
        case 7: {
            std::tuple<Context &, long> both(context, N);
            return std::apply(
                [](Context &c, long n) { return c.descend() % (n + 9); }, both);
        }
        case 8:
            return std::invoke(&Operation::again, this, context) | 1;
        default:
            return context.descend() * 5 + site;
        }
    }
    [[gnu::noinline]] long
    again(Context &context)
    {
        return context.descend() + N;
    }
    template <class Body>
    long
    guarded(Context &, Body body)
    {
        static std::shared_mutex mutex;
        std::shared_lock<std::shared_mutex> lock(mutex);

        return body() + 2;
    }

    long
    allocate(Context &context, unsigned site)
    {
        switch (site) {
        case 0: {
            auto &rows = plan::make<std::vector<Row<N>>>(context);
            rows.reserve(2);
            rows.emplace_back(context);
            rows.push_back(rows.back());
            rows.emplace_back(context);
            return static_cast<long>(rows.size());
        }
        case 1:
            return plan::make<Index<N>>(context, context).insert(N);
        case 2:
            return plan::make<Index<N>>(context, context).sorted();
        case 3: {
            auto &set =
                plan::make<std::set<Row<N>, plan::Less<Row<N>>>>(context);
            set.emplace(context);
            set.insert(Row<N>(context));
            return static_cast<long>(set.size());
        }
        case 4: {
            auto &values = plan::make<std::list<Value>>(context);
            values.emplace_back(std::string(100, 'x'));
            values.emplace_back(Row<N>(context));
            values.emplace_front(std::in_place_type<std::vector<Common<N>>>);
            std::get<std::vector<Common<N>>>(values.front())
                .emplace_back(context);
            return static_cast<long>(values.size());
        }
        case 5: {
            auto &later = plan::make<std::function<long(Context &)>>(context);
            later = [row = Row<N>(context), n = count_](Context &c) {
                return static_cast<long>(row.key.size()) + n + c.roll(3);
            };
            return later(context);
        }
        case 6: {
            auto &map = plan::make<
                std::unordered_map<std::string, std::unique_ptr<Common<N>>>>(
                context);
            map.reserve(20);
            map["of the first that was ever seen here"] =
                std::make_unique<Common<N>>(context);
            map.emplace("and of another one that came later",
                        std::make_unique<Common<N>>(context));
            return static_cast<long>(map.size());
        }
        case 7: {
            auto &queue = plan::make<
                std::deque<std::pair<Row<N>, std::optional<Common<N>>>>>(
                context);
            queue.emplace_back(Row<N>(context), std::nullopt);
            queue.emplace_front(Row<N>(context), Common<N>(context));
            return static_cast<long>(queue.size());
        }
        case 8: {
            auto &stream = plan::make<std::ostringstream>(context);
            stream << "row " << std::setw(60) << N << ' ' << TEXT(UNIT);
            return static_cast<long>(stream.str().size()) +
                   file_local(context, N);
        }
        default: {
            auto &tree =
                plan::make<std::multimap<std::tuple<int, std::string>, Row<N>>>(
                    context);
            tree.emplace(std::make_tuple(N, std::string(50, 'y')),
                         Row<N>(context));
            return static_cast<long>(tree.size()) + count_;
        }
        }
    }
};

#if KIND % 3 == 1
// As many database engines: an engine of templates over policies.
template <class Policy, int N> struct Engine : Operation<N> {
    std::map<Policy *, std::shared_ptr<Row<N>>> policies;
    std::future<Row<N>> coming;

    long
    next(Context &context) override
    {
        if (context.roll(4) == 0) {
            auto made = std::make_shared<Row<N>>(context);
            context.keep(new std::shared_ptr<Row<N>>(made));
            policies[nullptr] = std::move(made);
        }
        return Operation<N>::next(context) + 1;
    }
};
struct Lazy {
};
template <int N> using Chosen = Engine<Lazy, N>;
#else
template <int N> using Chosen = Operation<N>;
#endif

template <int... N>
std::tuple<Chosen<KIND % 5 + 2 * N>...>
    operators_of(std::integer_sequence<int, N...>);

static decltype(operators_of(std::make_integer_sequence<int, OPS>())) operators;

extern "C" const void *
UNIT()
{
    return &operators;
}
} // namespace UNIT
