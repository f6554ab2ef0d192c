// heap_load.cc - a heap with the names that C++ makes: templates, lambdas,
// overloads, anonymous namespaces, recursion, inlined frames.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace store {

static std::vector<void *> kept;

__attribute__((noinline)) void keep(void *p) { kept.push_back(p); }

// Two functions of one name: jeprof tells them apart by address.
__attribute__((noinline)) void reserve(int n) { keep(malloc(n * 64)); }
__attribute__((noinline)) void reserve(double n) {
  keep(calloc((size_t)n, 48));
}

template <typename Key, typename Value> class Table {
public:
  __attribute__((noinline)) void put(const Key &key, Value value) {
    rows_[key].push_back(std::move(value));
  }
  template <typename F> __attribute__((noinline)) void each(F f) const {
    for (auto &row : rows_)
      f(row.first, row.second);
  }

private:
  std::map<Key, std::vector<Value>> rows_;
};

namespace {
static inline __attribute__((always_inline)) char *innermost(size_t n) {
  return static_cast<char *>(malloc(n));
}
inline __attribute__((always_inline)) char *middle(size_t n) {
  return innermost(n + 8);
}
__attribute__((noinline)) void hidden(size_t n) { keep(middle(n)); }
} // namespace

__attribute__((noinline)) void recurse(int depth) {
  keep(::operator new[](128));
  if (depth > 0)
    recurse(depth - 1);
  keep(nullptr);
}

struct Callback {
  std::function<void()> work;
};
struct DoneCallback {
  int kind;
  __attribute__((noinline)) void Run();
};
__attribute__((noinline)) void first_done() {
  keep(aligned_alloc(64, 4096));
}
__attribute__((noinline)) void second_done() { keep(malloc(3000)); }
void DoneCallback::Run() {
  if (kind)
    first_done();
  else
    second_done();
  keep(nullptr);
}

struct Shape {
  virtual ~Shape() = default;
  virtual void grow() = 0;
};
template <int N> struct Grid : Shape {
  std::vector<double> cells;
  __attribute__((noinline)) void grow() override {
    cells.resize(cells.size() + N * 100);
  }
};

} // namespace store

int main() {
  using namespace store;
  Table<std::string, int> *strings = new Table<std::string, int>;
  Table<int, std::string> *numbers = new Table<int, std::string>;
  std::vector<std::unique_ptr<Shape>> shapes;
  std::set<std::string> *words = new std::set<std::string>;

  for (int i = 0; i < 3000; i++) {
    reserve(i % 7 + 1);
    reserve(double(i % 5 + 1));
    hidden(i % 300);
    strings->put("a rather long key number " + std::to_string(i), i);
    numbers->put(i % 100, std::string(i % 200, 'x'));
    words->insert(std::string(40 + i % 40, char('a' + i % 26)));
  }
  auto deep = [](int n) {
    auto deeper = [n](auto value) {
      keep(realloc(malloc(10), n * sizeof(value)));
    };
    deeper(n);
    deeper(double(n));
  };
  for (int i = 1; i < 500; i++)
    deep(i);
  for (int i = 0; i < 40; i++)
    recurse(i);
  for (int i = 0; i < 100; i++) {
    DoneCallback done{i % 3};
    done.Run();
  }
  for (int i = 0; i < 50; i++) {
    shapes.push_back(std::make_unique<Grid<3>>());
    shapes.push_back(std::make_unique<Grid<17>>());
    for (auto &shape : shapes)
      shape->grow();
  }
  strings->each([&](const std::string &key, const std::vector<int> &) {
    words->emplace(key + " again");
  });
  std::thread other([] {
    auto *v = new std::unordered_map<int, std::string>;
    for (int i = 0; i < 1000; i++)
      (*v)[i] = std::string(100, 'y');
  });
  other.join();
  // prof_final writes the profile; nothing here is freed before that.
  std::exit(0); // without destroying the locals
}
