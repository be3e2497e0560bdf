#pragma once

// Functions at more points than those where a discretisation takes them: common code of assembly/unresolved_data.cpp and of its
// counterpart for patches. `Cells` are cells, or intervals or rectangles of a boundary:
//
//     D                 how many fractions give a point of a cell
//     P                 the type of points
//     count()           how many cells there are
//     cell(k)           cell k, with at(fractions), a point, and measure(fractions), what the product of dt counts
//
// Of many cells some are looked at, so that the work is bounded.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>

namespace stratum::detail {

/// use(fractions, weight) for the points of a rule in each of D directions.
template <std::size_t D, class Use>
void for_each_fraction(std::span<const GaussPoint> rule, const Use& use) {
  std::size_t points = 1;
  for (std::size_t d = 0; d < D; ++d) points *= rule.size();
  for (std::size_t n = 0; n < points; ++n) {
    std::array<double, D> at{};
    double weight = 1;
    std::size_t rest = n;
    for (std::size_t d = 0; d < D; ++d) {
      at[d] = rule[rest % rule.size()].t;
      weight *= rule[rest % rule.size()].weight;
      rest /= rule.size();
    }
    use(at, weight);
  }
}

/// The cells that are looked at: all of them, or some of many.
template <std::size_t D>
struct LookedAt {
  std::int64_t cells, count;
  std::vector<GaussPoint> samples{};  // of a direction

  explicit LookedAt(std::int64_t cells_) : cells(cells_), count(std::min(cells_, std::int64_t{D == 1 ? 4096 : 8192})) {
    constexpr double most_points = 1 << 17;
    const int more = static_cast<int>(std::pow(most_points / static_cast<double>(count), 1.0 / static_cast<double>(D)));
    const int n = std::clamp(more, 4, 32);
    for (int k = 0; k < n; ++k) samples.push_back({(k + 0.5) / n, 1.0 / n});
  }
  [[nodiscard]] bool all() const { return cells == count; }
  [[nodiscard]] std::int64_t cell(int n) const {
    if (all()) return n;
    const std::int64_t stride = cells / count;  // a place in each of the parts, so that columns are not skipped
    return n * stride + (n * std::int64_t{7919}) % stride;
  }
};

/// What a function is worth where it is taken, and at more points.
template <class P>
struct DataSamples {
  /// Of integrals by both, the sum over cells of its magnitude; or what lies outside of nodal values.
  double difference = 0;
  double size = 0;                     // integral of the magnitude, or of the difference from the mean of nodal values
  double taken = 0;                    // integral of the magnitude where it is taken
  std::int64_t points = 0, cells = 0;  // where it is taken; cells that differ or where it is not zero
  bool all = true, zero = true;        // all cells are looked at; nothing else than zero is found
  double value = 0;                    // the largest magnitude, in the cell that differs most
  P where{};
};

/// Of a cell.
template <class P>
struct CellSamples {
  double taken = 0, taken_size = 0, sampled = 0, sampled_size = 0;
  double value = 0;
  P where{};

  void sample(const P& p, double value_there) {
    if (std::abs(value_there) > std::abs(value) || (value == 0 && value_there != 0)) value = value_there, where = p;
  }
  [[nodiscard]] bool is_finite() const { return std::isfinite(taken_size + sampled_size); }
};

/// body(n, cell, samples of it, own copy of the function) for all that are looked at.
template <class Cells, class Body>
std::vector<CellSamples<typename Cells::P>>
samples_of_cells(const Context& ctx, const Cells& cells, const LookedAt<Cells::D>& some,
                 const std::function<double(const typename Cells::P&)>& f, const Body& body) {
  std::vector<CellSamples<typename Cells::P>> found(static_cast<std::size_t>(some.count));
  for_each_row(
      ctx, static_cast<int>(some.count),
      [&](int n, const auto& own) { body(cells.cell(some.cell(n)), found[static_cast<std::size_t>(n)], own); }, f);
  return found;
}

/// Of integrals by a rule in each direction.
template <class Cells>
DataSamples<typename Cells::P> samples_of_integrals(const Context& ctx, const Cells& cells,
                                                    const std::function<double(const typename Cells::P&)>& f,
                                                    std::span<const GaussPoint> rule) {
  using P = typename Cells::P;
  const LookedAt<Cells::D> some(cells.count());
  const auto found = samples_of_cells(ctx, cells, some, f, [&](const auto& cell, CellSamples<P>& s, const auto& own) {
    for_each_fraction<Cells::D>(rule, [&](const auto& at, double weight) {
      const double part = weight * cell.measure(at) * own(cell.at(at));
      s.taken += part;
      s.taken_size += std::abs(part);
    });
    for_each_fraction<Cells::D>(some.samples, [&](const auto& at, double weight) {
      const P p = cell.at(at);
      const double value = own(p), part = weight * cell.measure(at) * value;
      s.sampled += part;
      s.sampled_size += std::abs(part);
      s.sample(p, value);
    });
  });
  DataSamples<P> all;
  all.all = some.all();
  all.points = cells.count();
  for (std::size_t d = 0; d < Cells::D; ++d) all.points *= static_cast<std::int64_t>(rule.size());
  double most = -1;
  for (const CellSamples<P>& s : found) {
    all.zero = all.zero && s.taken_size == 0 && s.sampled_size == 0;
    if (!s.is_finite()) continue;
    const double size = std::max(s.taken_size, s.sampled_size), difference = std::abs(s.taken - s.sampled);
    all.difference += difference;
    all.size += size;
    all.taken += s.taken_size;
    if (size > 0) ++all.cells;
    if (difference > most) most = difference, all.value = s.value, all.where = s.where;
  }
  return all;
}

/// Of values at the corners of cells, between which they are linear in each direction.
template <class Cells>
DataSamples<typename Cells::P> samples_of_nodes(const Context& ctx, const Cells& cells,
                                                const std::function<double(const typename Cells::P&)>& f) {
  using P = typename Cells::P;
  constexpr std::array<GaussPoint, 2> ends{{{0, 0.5}, {1, 0.5}}};
  const LookedAt<Cells::D> some(cells.count());
  // Nodal values first, whose mean is what sizes are measured from.
  const auto nodal = samples_of_cells(ctx, cells, some, f, [&](const auto& cell, CellSamples<P>& s, const auto& own) {
    for_each_fraction<Cells::D>(ends, [&](const auto& at, double weight) {
      const double measure = weight * cell.measure(at), value = own(cell.at(at));
      s.taken += measure * value;
      s.taken_size += measure * std::abs(value);
      s.sampled += measure;
    });
  });
  DataSamples<P> all;
  double sum = 0, measure = 0;
  for (const CellSamples<P>& s : nodal) {
    all.zero = all.zero && s.taken_size == 0;
    if (!std::isfinite(s.taken)) continue;
    sum += s.taken;
    measure += s.sampled;
    all.taken += s.taken_size;
  }
  const double mean = measure > 0 ? sum / measure : 0;
  const auto found = samples_of_cells(ctx, cells, some, f, [&](const auto& cell, CellSamples<P>& s, const auto& own) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for_each_fraction<Cells::D>(ends, [&](const auto& at, double /*weight*/) {
      const double value = own(cell.at(at));
      low = std::min(low, value);
      high = std::max(high, value);
    });
    for_each_fraction<Cells::D>(some.samples, [&](const auto& at, double weight) {
      const P p = cell.at(at);
      const double value = own(p), part = weight * cell.measure(at),
                   outside = std::max({value - high, low - value, 0.0});
      s.taken += part * outside;
      s.taken_size += part * std::abs(value);
      s.sampled_size += part * std::abs(value - mean);
      if (outside > 0) s.sample(p, value);
    });
  });
  all.all = some.all();
  all.points = cells.count();
  double most = -1, values = all.taken;
  for (const CellSamples<P>& s : found) {
    all.zero = all.zero && s.taken_size == 0;
    if (!s.is_finite()) continue;
    all.difference += s.taken;
    all.size += s.sampled_size;
    values += s.taken_size;
    if (s.taken > 0) ++all.cells;
    if (s.taken > most) most = s.taken, all.value = s.value, all.where = s.where;
  }
  constexpr double rounding = 1e-10;
  if (all.difference <= rounding * values) all.difference = 0;
  return all;
}

inline std::string text_of(const Point& p) { return message("(", p.x, ", ", p.y, ")"); }
inline std::string text_of(const Point3D& p) { return message("(", p.x, ", ", p.y, ", ", p.z, ")"); }

/// Empty where a function is no expression, or one of the time.
inline std::string text_of_steady(const ScalarFunction& f) {
  const auto expression = expression_of(f);
  return expression ? expression->text : "";
}
inline std::string text_of_steady(const ScalarFunction3D& f) {
  const auto expression = expression_of(f);
  return expression && !expression->has_time ? expression->text : "";
}

/// Of a text that is one.
inline std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 ? std::optional(value) : std::nullopt;
}

/// The smallest and the largest f at the centres of cell k and of those around it, in directions that are `periodic` also from
/// the other end.
template <class Cells>
std::array<double, 2> range_around(const Cells& cells, const std::array<bool, Cells::D>& periodic, std::int64_t k,
                                   const std::function<double(const typename Cells::P&)>& f) {
  constexpr std::size_t D = Cells::D;
  const std::array<int, D> sizes = cells.sizes();
  std::array<double, D> middle;
  middle.fill(0.5);
  double low = HUGE_VAL, high = 0;
  int around = 1;
  for (std::size_t d = 0; d < D; ++d) around *= 3;
  for (int n = 0; n < around; ++n) {
    std::int64_t rest = k, stride = 1, other = 0;
    bool there = true;
    int offsets = n;
    for (std::size_t d = 0; d < D; ++d, offsets /= 3) {
      int at = static_cast<int>(rest % sizes[d]) + offsets % 3 - 1;
      if (periodic[d]) at = (at + sizes[d]) % sizes[d];
      there = there && at >= 0 && at < sizes[d];
      other += at * stride;
      rest /= sizes[d];
      stride *= sizes[d];
    }
    if (!there) continue;
    const double value = f(cells.cell(other).at(middle));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high};
}

/// A coefficient in a cell that lies far from what the cells around have at their centres.
template <class P>
struct LostLayer {
  double times = 1;                     // by more points the cell conducts so many times as much, or as little
  double value = 0, low = 0, high = 0;  // there, and at the centres around
  P where{};
};

/// Of a coefficient that is taken at the centres of cells, on lines through the centre of cell k in each direction: of a layer
/// across a line the mean is what it conducts along, or of 1/K what it conducts across. Where that is far from the centre's K,
/// it may yet be that of a neighbour's. `most`: what is changed by the largest factor so far.
template <class Cells>
void look_for_layers(const Cells& cells, const std::array<bool, Cells::D>& periodic, std::int64_t k, int samples,
                     const std::function<double(const typename Cells::P&)>& f, LostLayer<typename Cells::P>& most) {
  constexpr std::size_t D = Cells::D;
  constexpr double far = 4;
  std::array<double, D> middle;
  middle.fill(0.5);
  const auto cell = cells.cell(k);
  const double own = f(cell.at(middle));
  if (!(own > 0) || !std::isfinite(own)) return;  // for assembly to refuse
  for (std::size_t d = 0; d < D; ++d) {
    double sum = 0, inverse = 0;
    LostLayer<typename Cells::P> high{}, low{};
    low.value = HUGE_VAL;
    for (int n = 0; n < samples; ++n) {
      std::array<double, D> at = middle;
      at[d] = (n + 0.5) / samples;
      const auto p = cell.at(at);
      const double value = f(p);
      if (!(value > 0) || !std::isfinite(value)) return;
      sum += value / samples;
      inverse += 1 / value / samples;
      if (value > high.value) high.value = value, high.where = p;
      if (value < low.value) low.value = value, low.where = p;
    }
    if (sum <= far * own && inverse * own <= far) continue;
    const auto [least, largest] = range_around(cells, periodic, k, f);
    for (LostLayer<typename Cells::P>* const layer : {&high, &low}) {
      layer->times = layer == &high ? sum / largest : inverse * least;
      layer->low = least;
      layer->high = largest;
      if (layer->times > far && layer->times > most.times) most = *layer;
    }
  }
}

/// What all data of a problem come to.
template <class P>
class DataCheck {
 public:
  using Function = std::function<double(const P&)>;
  explicit DataCheck(const Context& ctx) : ctx_(ctx) {}

  /// That are taken at Gauss points.
  template <class Cells>
  void add_integrals(const std::string& what, const Function& f, const Cells& cells, std::span<const GaussPoint> rule,
                     bool is_f = false) {
    constexpr double most = 0.2;
    if (!is_to_be_looked_at(f)) return;
    const DataSamples<P> found = samples_of_integrals(ctx_, cells, f, rule);
    add(what, found, most, message("all ", found.points, " points where it is taken"),
        "its integrals over cells, by more points, differ by ", is_f);
  }
  /// That are taken at nodes.
  template <class Cells>
  void add_nodal(const std::string& what, const Function& f, const Cells& cells) {
    constexpr double most = 0.25;
    if (!is_to_be_looked_at(f)) return;
    add(what, samples_of_nodes(ctx_, cells, f), most, "all nodes", "between nodes it lies outside of their values by ",
        false);
  }

  /// Of K, which is taken at the centres of cells.
  template <class Cells>
  void add_layers(const std::string& what, const Function& f, const Cells& cells,
                  const std::array<bool, Cells::D>& periodic) {
    if (!f || number_of(text_of_steady(f))) return;
    const LookedAt<Cells::D> some(cells.count());
    constexpr double most_points = 1 << 17;
    constexpr int least = 8, most = 32;
    const int samples =
        std::clamp(static_cast<int>(most_points / static_cast<double>(some.count * Cells::D)), least, most);
    std::vector<LostLayer<P>> found(static_cast<std::size_t>(some.count));
    for_each_row(
        ctx_, static_cast<int>(some.count),
        [&](int n, const Function& own) {
          look_for_layers(cells, periodic, some.cell(n), samples, own, found[static_cast<std::size_t>(n)]);
        },
        f);
    const auto lost =
        std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.times < b.times; });
    if (lost == found.end() || lost->times <= 1) return;
    if (!warning_.empty()) warning_ += "; ";
    const std::string around = lost->low == lost->high ? message(lost->low) : message(lost->low, " to ", lost->high);
    warning_ += message("the mesh does not resolve ", what, ": it is ", lost->value, " at ", text_of(lost->where),
                        ", but ", around, " at the centres of the cells around, where it is taken. A layer that is ",
                        "thinner than a cell is lost; it needs a finer mesh there");
  }

  /// `vanishes`: all equations have zero on their right-hand side, bodies and what else is not looked at here included.
  [[nodiscard]] std::string warning(bool vanishes) const {
    if (!warning_.empty() || missed_.empty()) return warning_;
    const char* const to_do = "A source that is narrower than a cell needs a finer mesh there";
    if (zero_ && (all_ || vanishes)) return message(missed_, ", as all data are: so u is zero. ", to_do);
    return misses_f_ ? message(missed_, ". ", to_do) : "";
  }
  /// Something else than what was added is known not to be zero.
  void is_not_zero() { zero_ = false; }

 private:
  /// Numbers are resolved.
  bool is_to_be_looked_at(const Function& f) {
    if (!f) return false;
    text_ = text_of_steady(f);
    const auto value = number_of(text_);
    if (value && *value != 0) zero_ = false;
    return !value;
  }

  void add(const std::string& what, const DataSamples<P>& found, double most, const std::string& points,
           const char* differ_by, bool is_f) {
    zero_ = zero_ && found.zero;
    all_ = all_ && found.all;
    if (found.zero && missed_.empty() && !text_.empty()) {
      missed_ = message(what, " is zero at ", points);
      misses_f_ = is_f && found.all;  // an expression for boundaries may be there for another of them
    }
    // Some of many cells say little where few of them have anything.
    constexpr std::int64_t few = 16;
    if (!(found.difference > most * found.size) || (!found.all && found.cells < few)) return;
    if (!warning_.empty()) warning_ += "; ";
    const std::string where = text_of(found.where);
    if (found.taken == 0 && found.all)
      warning_ += message(what, " is zero at ", points, ", but ", found.value, " at ", where,
                          " between them: what is narrower than a cell needs a finer mesh there");
    else
      warning_ += message("the mesh does not resolve ", what, ": ", differ_by,
                          std::lround(100 * found.difference / found.size), " % of its size, most of all near ", where,
                          ", where it is ", found.value, ". It needs a finer mesh there");
  }

  const Context& ctx_;
  std::string warning_, text_, missed_;
  bool zero_ = true, all_ = true, misses_f_ = false;
};

}  // namespace stratum::detail
