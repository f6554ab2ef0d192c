// control_load.cc - a program whose allocations a test decides.
//
// control_load STACKS MEGABYTES ORDERS: allocates so many MB a second through so many
// distinct stacks and keeps 64 MB of them; 0: waits.  The file of orders (a
// FIFO) says "go N", another number, or "quit".  It answers "at N" once it does.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace load {

constexpr size_t block = 16384, kept = (64u << 20) / block;
std::vector<void *> blocks(kept);
size_t next;

__attribute__((noinline)) void leaf() {
  free(blocks[next % kept]);
  blocks[next++ % kept] = malloc(block);
}

// A way through `left` and `right` for each number: a stack of its own.
__attribute__((noinline)) void walk(unsigned number, int depth);
__attribute__((noinline)) void left(unsigned number, int depth) {
  walk(number >> 1, depth - 1);
  asm volatile("");
}
__attribute__((noinline)) void right(unsigned number, int depth) {
  walk(number >> 1, depth - 1);
  asm volatile("");
}
void walk(unsigned number, int depth) {
  if (depth == 0)
    leaf();
  else if (number & 1)
    right(number, depth);
  else
    left(number, depth);
  asm volatile("");
}

} // namespace load

int main(int argc, char **argv) {
  unsigned stacks = argc > 1 ? unsigned(std::stoul(argv[1])) : 1;
  std::atomic<unsigned> rate(argc > 2 ? unsigned(std::stoul(argv[2])) : 0);
  std::atomic<bool> ends(false);
  std::thread worker([&] {
    unsigned number = 0, said = rate;
    while (!ends) {
      if (rate != said) {
        said = rate;
        dprintf(1, "at %u\n", said); // which allocates nothing
      }
      auto from = std::chrono::steady_clock::now();
      for (unsigned i = 0; i < said * (1u << 20) / load::block / 20; i++)
        load::walk(number++ % stacks, 15);
      std::this_thread::sleep_until(from + std::chrono::milliseconds(50));
    }
  });
  std::ifstream orders(argc > 3 ? argv[3] : "/dev/null");
  std::string word;
  while (orders >> word && word != "quit")
    if (word == "go") {
      unsigned to;
      orders >> to;
      rate = to;
    }
  ends = true;
  worker.join();
}
