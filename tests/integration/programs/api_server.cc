// api_server.cc - a C++ server that links libheapwire.a.  It takes lines:
// "hold N" allocates N MiB in strings of 4 KiB and answers with the bytes that
// it holds then; the settings are HEAPWIRE_... of its environment.
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "heapwire.h"

extern "C" heapwire_mallctl MALLCTL;

// The program's own, and so no business of the library's.
extern "C" int agent_log(int x);
extern "C" int
agent_log(int x)
{
    return x + 1;
}

static std::vector<std::string> held;

__attribute__((noinline)) static void
hold_strings(size_t count)
{
    for (size_t i = 0; i < count; i++)
        held.emplace_back(4095, 'x');
}

int
main()
{
    std::string word;
    size_t mib;

    if (heapwire_use(nullptr, "") != 0 ||
        heapwire_use(MALLCTL, PREFIX) != 0 ||
        heapwire_start(nullptr) != 0 ||
        heapwire_use(MALLCTL, PREFIX) != EALREADY)
        return 3;
    while (std::cin >> word && word == "hold" && std::cin >> mib) {
        hold_strings(mib * 256);
        std::cout << held.size() * 4096 << std::endl;
    }
    return heapwire_stop() != 0 || agent_log(1) != 2;
}
