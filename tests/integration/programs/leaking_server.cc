// leaking_server.cc - a server that works in a steady heap, but for its log of
// sessions, which is never shortened.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

class PageCache {
public:
  // At most so many pages: what is put in pushes others out.
  __attribute__((noinline)) void put(unsigned key) {
    pages_[key % 4000].assign(4096, 'p');
  }

private:
  std::map<unsigned, std::string> pages_;
};

class SessionLog {
public:
  __attribute__((noinline)) void append(unsigned id) {
    char *entry = new char[512];
    entry[0] = static_cast<char>(id);
    entries_.push_back(entry);
  }

private:
  std::deque<char *> entries_;
};

__attribute__((noinline)) static unsigned handle(unsigned request) {
  std::vector<unsigned> work(2000, request);
  unsigned sum = 0;

  for (unsigned value : work)
    sum += value;
  return sum;
}

int main() {
  PageCache cache;
  SessionLog log;
  volatile unsigned sink = 0;

  for (unsigned request = 0;; request++) {
    sink = sink + handle(request);
    cache.put(request * 2654435761u);
    for (int i = 0; i < 10; i++)
      log.append(request);
    if (request % 100 == 99)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}
