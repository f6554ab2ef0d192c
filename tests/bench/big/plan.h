/*
 * plan.h - the frame of a big program: operators that call each other in an
 * order drawn by lot, and allocate at the end, never to free.
 */
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <iomanip>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace plan
{
class Operator;

struct Context {
    unsigned long dice = 1;
    unsigned left = 0;     // calls until something is allocated
    unsigned sites = 1000; // how many of an operator's ways are taken
    unsigned long kept = 0;

    unsigned
    roll(unsigned sides)
    {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        return static_cast<unsigned>((dice >> 32) % sides);
    }
    long descend(); // into the next operator
    void keep(const void *object);
};

class Operator
{
  public:
    Operator(const char *name);
    virtual ~Operator() = default;
    virtual long next(Context &context) = 0;

    const char *name;
};

struct Shared {
};

// What rows, pages and entries have in common; each is a type of its own.
template <class Tag, int N> struct Record {
    std::string key, value;
    std::array<long, 1 + N % 3> columns{};
    std::vector<std::pair<int, std::string>> notes;

    explicit Record(Context &context)
        : key("a key that is too long to lie in a string " +
              std::to_string(context.roll(100))),
          value(40 + context.roll(100), 'v')
    {
        notes.emplace_back(N, key);
    }
    bool
    operator<(const Record &other) const
    {
        return std::tie(key, value) < std::tie(other.key, other.value);
    }
};

template <class Row> struct Less {
    template <class A, class B>
    bool
    operator()(const A &a, const B &b) const
    {
        return a < b;
    }
};

template <class Key, class Row, class Order = Less<Key>> class Table
{
  public:
    using Rows = std::map<Key, Row, Order>;

    template <class... Args>
    auto
    put(Key key, Args &&...args)
    {
        auto [at, fresh] =
            rows_.try_emplace(std::move(key), std::forward<Args>(args)...);
        if (fresh)
            ++count_;
        return at;
    }
    template <class Visitor>
    long
    each(Visitor &&visit)
    {
        long sum = 0;
        for (auto &[key, row] : rows_)
            sum += visit(key, row);
        return sum + count_;
    }

  private:
    Rows rows_;
    long count_ = 0;
};

template <class T, class... Args>
T &
make(Context &context, Args &&...args)
{
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    context.keep(owned.get());
    return *owned.release();
}
} // namespace plan
