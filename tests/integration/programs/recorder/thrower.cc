// thrower.cc - C++ whose stacks are hard to walk, for given_tables.py: it
// allocates while it sorts, throws, and unwinds, on several threads.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct cleanup {
    std::string text;
    ~cleanup() { text.append(100, 'x'); } // allocates while it is unwound
};

static std::string
fail(int depth)
{
    cleanup c{std::string(40, 'a')};
    alignas(64) volatile char line[64];

    line[0] = 1;
    if (depth == 0)
        throw std::runtime_error(std::string(60, 'e') + c.text);
    try {
        return fail(depth - 1) + c.text;
    } catch (const std::invalid_argument &) {
        return c.text;
    }
}

struct shape {
    virtual ~shape() = default;
    virtual std::string name() const = 0;
};
struct square : shape {
    std::string name() const override { return std::string(50, 's'); }
};

static void
work()
{
    for (int i = 0; i < 300; i++) {
        std::vector<std::string> words;
        std::map<int, std::unique_ptr<shape>> shapes;
        std::function<int(int)> deep = [&](int n) {
            auto p = std::make_unique<int[]>(n + 10);
            return n == 0 ? 0 : deep(n - 1) + p[0];
        };

        for (int w = 0; w < 20; w++)
            words.push_back(std::to_string((w * 7919 + i) % 1000) +
                            std::string(30, 'w'));
        std::sort(words.begin(), words.end(),
                  [](std::string a, std::string b) { return a < b; });
        for (int s = 0; s < 10; s++)
            shapes[s] = std::make_unique<square>();
        for (auto &s : shapes)
            words.push_back(s.second->name());
        deep(i % 90);
        try {
            words.push_back(fail(i % 12));
        } catch (const std::exception &e) {
            words.push_back(e.what());
            words.push_back(std::string(80, 'c'));
        }
    }
}

int
main()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < 4; i++)
        threads.emplace_back(work);
    work();
    for (auto &t : threads)
        t.join();
}
