/* shapes.cc - the corpus's second unit: it shares inlined code with main.cc,
 * and has names of its own that are the same. */
#include "shapes.hh"

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace
{
struct Node { /* main.cc has another one */
    int weight;
    int sum() const { return weight; }
};

__attribute__((noinline)) int
insert(std::vector<Node> &nodes, int weight)
{
    nodes.push_back({weight});
    return std::max_element(
               nodes.begin(), nodes.end(),
               [](const Node &a, const Node &b) { return a.weight < b.weight; })
        ->sum();
}

template <typename T> struct Visitor {
    T total{};
    template <typename U> Visitor &operator<<(const U &item)
    {
        total += static_cast<T>(item);
        return *this;
    }
};
} // namespace

static double
checked(const shapes::Shape &shape)
{
    double area = shape.area();

    if (area > 1e9)
        throw std::out_of_range("area");
    return area;
}

double
shapes::total(const std::vector<std::unique_ptr<Shape>> &all)
{
    Visitor<double> visitor;
    std::vector<Node> nodes;

    for (const auto &shape : all)
        visitor << checked(*shape) << insert(nodes, 3);
    return visitor.total;
}

int
shapes::words(const std::string &text)
{
    std::unordered_map<std::string, int> seen;
    std::istringstream in(text);
    std::ostringstream out;
    std::string word;

    while (std::getline(in, word, '/'))
        seen[word] += counted(word);
    for (const auto &[key, count] : seen)
        out << key << '=' << count << ';';
    return Deep<4>::sum({1, 2, counted(out.str())});
}
