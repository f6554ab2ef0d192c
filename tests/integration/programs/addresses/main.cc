/* main.cc - the corpus: templates, lambdas, local classes, exceptions, cold
 * parts, threads, and functions inlined into each other. */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <variant>

#include "shapes.hh"

namespace
{
std::atomic<int> work_done;
std::mutex lock;

struct Node {
    std::string key;
    std::vector<int> values;
    Node *left = nullptr, *right = nullptr;

    explicit Node(std::string k) : key(std::move(k)) {}
    ~Node()
    {
        delete left;
        delete right;
    }
    int sum() const { return std::accumulate(values.begin(), values.end(), 0); }
};

__attribute__((noinline)) Node *
insert(Node *node, const std::string &key, int value)
{
    if (!node)
        node = new Node(key);
    if (key < node->key)
        node->left = insert(node->left, key, value);
    else if (node->key < key)
        node->right = insert(node->right, key, value);
    else
        node->values.push_back(value);
    return node;
}

template <typename Visit>
void
walk(const Node *node, Visit &&visit)
{
    if (!node)
        return;
    walk(node->left, visit);
    visit(*node);
    walk(node->right, visit);
}

[[noreturn]] __attribute__((cold, noinline)) void
give_up(const char *why)
{
    std::fprintf(stderr, "%s\n", why);
    std::abort();
}

int
checked(int n)
{
    if (__builtin_expect(n > 1 << 20, 0))
        give_up("too many");
    return n + 1;
}

struct Counter {
    int operator()(int n) const { return n; }
    int operator()(const std::string &s) const { return shapes::counted(s); }
    template <typename T> int operator()(const std::vector<T> &v) const
    {
        return static_cast<int>(v.size());
    }
};
} // namespace

static int
with_local_class(int n)
{
    struct Order {
        bool backwards;
        bool operator()(const std::pair<int, std::string> &a,
                        const std::pair<int, std::string> &b) const
        {
            return backwards ? b < a : a < b;
        }
    };
    class Adder
    {
        int total = 0;

      public:
        void add(const std::pair<int, std::string> &p)
        {
            auto length = [&p] { return static_cast<int>(p.second.size()); };
            total += p.first * length();
        }
        int result() const { return total; }
    };
    std::vector<std::pair<int, std::string>> pairs;
    Adder adder;

    for (int i = 0; i < n; i++)
        pairs.emplace_back(i * 7 % 11, std::to_string(i));
    std::sort(pairs.begin(), pairs.end(), Order{n % 2 == 0});
    for (const auto &p : pairs)
        adder.add(p);
    return adder.result();
}

static int
with_exceptions(int n)
{
    std::vector<std::unique_ptr<shapes::Shape>> all;

    try {
        all.push_back(std::make_unique<shapes::Polygon<3>>(n));
        all.push_back(std::make_unique<shapes::Polygon<4>>(n - 2));
        all.push_back(std::make_unique<shapes::Polygon<7>>(2 - n));
        return static_cast<int>(shapes::total(all));
    } catch (const std::invalid_argument &e) {
        std::puts(e.what());
        try {
            return std::stoi("x" + std::to_string(n));
        } catch (...) {
            return -1;
        }
    }
}

static int
with_threads(int n)
{
    std::vector<std::thread> threads;

    for (int i = 0; i < n % 4; i++)
        threads.emplace_back([i, n] {
            std::lock_guard<std::mutex> guard(lock);
            std::function<int(int)> twice = [n](int x) { return x * 2 + n; };

            work_done += twice(checked(i));
        });
    for (auto &t : threads)
        t.join();
    return work_done;
}

static int
with_variants(int n)
{
    using Value = std::variant<int, std::string, std::vector<int>>;
    std::vector<Value> values = {n, std::string("some words"),
                                 std::vector<int>(3, n)};
    int total = 0;

    for (const auto &v : values)
        total += std::visit(Counter{}, v);
    return total;
}

template <typename T>
static T
recursive(T n)
{
    return n < 2 ? n : recursive(n - 1) + recursive(n - 2);
}

int
main(int argc, char **argv)
{
    shapes::Cache<std::string, Node> cache;
    Node *root = nullptr;
    int total = 0;

    for (int i = 0; i < argc * 5; i++) {
        root = insert(root, std::to_string(i * 37 % 13), i);
        cache.get(argv[0] + std::to_string(i % 3), [](const std::string &key) {
            return std::make_shared<Node>(key);
        });
    }
    walk(root, [&total](const Node &node) { total += node.sum(); });
    delete root;
    total += shapes::Deep<6>::sum(std::vector<int>(argc + 1, 1));
    total += with_local_class(argc) + with_exceptions(argc);
    total += with_threads(argc) + with_variants(argc);
    total += recursive(argc) + static_cast<int>(recursive(argc * 1.0));
    total += shapes::words(argv[0]) + plain_entry(argc) + leaf_entry(argc);
    total += sites_entry(argc);
    std::printf("%d %zu\n", total, cache.size());
    return total & 1;
}
