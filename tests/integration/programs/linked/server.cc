// server.cc - a server that holds what it is ordered to, and knows how much.
//
// Orders, a line each: "pages N", "index N" (so many MB more, by the main thread
// and by one that was born with the server), "drop" (half of the pages),
// "allocated" (its allocator's own figure), "stop".  It ends with status 7.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// WITH(je, mallctl): the allocator's own names, where it is linked into it.
#define PASTE(prefix, name) prefix##name
#define WITH(prefix, name) PASTE(prefix, name)
#ifdef PREFIX
extern "C" {
int WITH(PREFIX, mallctl)(const char *, void *, size_t *, void *, size_t);
void *WITH(PREFIX, malloc)(size_t);
void WITH(PREFIX, free)(void *);
#ifdef COMPILED_IN
extern const char *WITH(PREFIX, malloc_conf);
const char *WITH(PREFIX, malloc_conf) = COMPILED_IN;
#endif
}
#endif
#ifdef OWN // calls its allocator by name, and leaves malloc to libc
#define allocate WITH(PREFIX, malloc)
#define release WITH(PREFIX, free)
#else
#define allocate malloc
#define release free
#endif

class PageCache {
public:
  static constexpr size_t page = 16384;
  __attribute__((noinline)) void load(size_t megabytes) {
    for (size_t i = megabytes * (1 << 20) / page; i-- > 0;)
      pages_.push_back(allocate(page));
  }
  __attribute__((noinline)) void drop_half() {
    for (size_t i = pages_.size() / 2; i-- > 0; pages_.pop_back())
      release(pages_.back());
  }
  size_t held() const { return pages_.size() * page; }

private:
  std::vector<void *> pages_;
};

template <typename Key> class Index {
public:
  static constexpr size_t entry = 1024;
  __attribute__((noinline)) void grow(size_t megabytes) {
    for (size_t i = megabytes * (1 << 20) / entry; i-- > 0;) {
      void **added = static_cast<void **>(allocate(entry));
      *added = last_;
      last_ = added;
      entries_++;
    }
  }
  size_t held() const { return entries_ * entry; }

private:
  void *last_ = nullptr;
  size_t entries_ = 0;
};

// Carries one order out at a time.
class Worker {
public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    grow(0);
    thread_.join();
  }
  void grow(size_t megabytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    order_ = static_cast<long>(megabytes);
    changed_.notify_all();
    changed_.wait(lock, [this] { return order_ < 0; });
  }
  size_t held() const { return index_.held(); }

private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (bool on = true; on;) {
      changed_.wait(lock, [this] { return order_ >= 0; });
      on = order_ > 0;
      index_.grow(static_cast<size_t>(order_));
      order_ = -1;
      changed_.notify_all();
    }
  }
  Index<std::string> index_;
  std::mutex mutex_;
  std::condition_variable changed_;
  long order_ = -1;
  std::thread thread_; // last: it uses the others
};

static size_t allocated() {
  size_t bytes = 0;
#ifdef PREFIX
  uint64_t epoch = 1;
  size_t size = sizeof(bytes);
  WITH(PREFIX, mallctl)("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
  WITH(PREFIX, mallctl)("stats.allocated", &bytes, &size, nullptr, 0);
#endif
  return bytes;
}

int main() {
  PageCache pages;
  Worker worker;
  std::string word;
  size_t count;

  std::cout << "ready" << std::endl;
  while (std::cin >> word && word != "stop") {
    if (word == "pages" && std::cin >> count)
      pages.load(count);
    else if (word == "index" && std::cin >> count)
      worker.grow(count);
    else if (word == "drop")
      pages.drop_half();
    if (word == "allocated")
      std::cout << allocated() << std::endl;
    else
      std::cout << "pages " << pages.held() << " index " << worker.held()
                << std::endl;
  }
  std::cout << "stopped" << std::endl;
  return 7;
}
