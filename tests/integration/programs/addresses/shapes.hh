/* shapes.hh - what both units of the corpus have: inlined in each of them. */
#ifndef SHAPES_H
#define SHAPES_H

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes
{
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

template <int Sides> class Polygon : public Shape
{
    double edge;

  public:
    explicit Polygon(double e) : edge(e)
    {
        if (e < 0)
            throw std::invalid_argument("negative edge");
    }
    double area() const override { return scaled(edge) * Sides; }

  private:
    static double scaled(double e) { return squared(e) / 4; }
    static double squared(double e) { return e * e; }
};

template <typename Key, typename Value> class Cache
{
    std::map<Key, std::shared_ptr<Value>> entries;

  public:
    template <typename Make> Value &get(const Key &key, Make make)
    {
        auto found = entries.find(key);
        if (found == entries.end())
            found = entries.emplace(key, make(key)).first;
        return *found->second;
    }
    std::size_t size() const { return entries.size(); }
};

/* Deep, and all of it inlined. */
template <int N> struct Deep {
    static int sum(const std::vector<int> &v)
    {
        return v[N % v.size()] + Deep<N - 1>::sum(v);
    }
};
template <> struct Deep<0> {
    static int sum(const std::vector<int> &v) { return v.at(0); }
};

inline int
counted(const std::string &text)
{
    static int calls;
    int letters = 0;

    for (char c : text)
        letters += c >= 'a' && c <= 'z';
    return letters + ++calls;
}

double total(const std::vector<std::unique_ptr<Shape>> &all);
int words(const std::string &text);
} // namespace shapes

extern "C" int plain_entry(int n);
int sites_entry(int n);
extern "C" int leaf_entry(int n);

#endif
