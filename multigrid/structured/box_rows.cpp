#include <stratum/multigrid/structured/box_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/multigrid/structured/box_places.hpp>

namespace stratum {

namespace {

using namespace detail;

constexpr double eps = std::numeric_limits<double>::epsilon();
class Reader {
 public:
  Reader(const SparseRows& a, const std::array<int, 3>& n, const BoxRowsParams& params)
      : a_(a), box_{n}, params_(params), given_(params.widths) {
    check();
    for (std::size_t k = 0; k < box_.size(); ++k) fixed_.push_back(is_alone(k) ? 1 : 0);
    find_places();
    leave_out_layers();
    rows_.shape.n = {box_.n[0], box_.n[1], box_.n[2]};
    neighbours_ = Neighbours(box_.n);
    read();
    make_symmetric();
    rows_.general = !rows_.symmetric && rows_.scales.empty();
    if (rows_.general) look_at_convection();
    const auto parts = find_parts();
    make_bands();
    look_at(parts);
    find_axes();
  }
  BoxRows take() { return std::move(rows_); }

 private:
  [[nodiscard]] std::size_t unknowns() const { return static_cast<std::size_t>(a_.rows); }
  /// A place of what is left, as the caller counts.
  [[nodiscard]] std::string text(const Place& p) const {
    return message("(", p[0] + first_[0], ", ", p[1] + first_[1], ", ", p[2] + first_[2], ")");
  }
  /// An unknown, likewise.
  [[nodiscard]] std::size_t number(std::size_t k) const { return k + at(a_.first_row); }
  void check() const {
    double all = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      expects(box_.n[d] > 0, "a box has at least one node in ", axis_names[d], ", not ", box_.n[d]);
      all *= box_.n[d];
    }
    const auto& n = box_.n;
    expects(a_.rows == all && a_.columns == all, "the matrix is ", a_.rows, " x ", a_.columns, ", and a box of ", n[0],
            " x ", n[1], " x ", n[2], " nodes has ", all, " unknowns");
    a_.validate();
    for (std::size_t k = 0; k < box_.size(); ++k) {
      double diagonal = 0;
      for_entries(k, [&](std::size_t m, double value) {
        expects(std::isfinite(value), "entry (", number(k), ", ", number(m), ") of the matrix is ", value);
        if (m == k) diagonal = value;
      });
      expects(diagonal > 0, "row ", number(k), " of the matrix has the diagonal ", diagonal,
              "; the diagonals must be positive, or all of them negative");
    }
  }
  template <class F>
  void for_entries(std::size_t k, const F& f) const {
    for (auto e = at(a_.start[k]); e < at(a_.start[k + 1]); ++e)
      if (a_.value[e] != 0) f(at(a_.column[e]), a_.value[e]);
  }
  [[nodiscard]] bool is_alone(std::size_t k) const {
    bool alone = true;
    for_entries(k, [&](std::size_t m, double) { alone = alone && m == k; });
    return alone;
  }

  /// What couples nodes that are no neighbours, in words; empty: nothing.
  template <class PlaceOf>
  [[nodiscard]] std::string fault(const PlaceOf& place) const {
    std::string found;
    for (std::size_t k = 0; k < box_.size() && found.empty(); ++k) {
      const Place here = place(k);
      for_entries(k, [&](std::size_t m, double value) {
        if (m == k || fixed_[m] != 0 || !found.empty() || Offset(box_, here, place(m)).fits()) return;
        found = message("row ", number(k), " of the matrix has ", value, " in column ", number(m), ": in a box of ",
                        box_.n[0], " x ", box_.n[1], " x ", box_.n[2], " nodes these are ", text(here), " and ",
                        text(place(m)), ", which are no neighbours");
      });
    }
    return found;
  }
  void find_places() {
    const std::size_t size = box_.size();
    if (!params_.numbering.empty()) {
      expects(params_.numbering.size() == size, "the numbering has ", params_.numbering.size(),
              " numbers, and there are ", size, " unknowns");
      std::vector<char> taken(size, 0);
      for (std::size_t k = 0; k < size; ++k) {
        const int node = params_.numbering[k];
        expects(node >= 0 && at(node) < size, "unknown ", k, " is said to be node ", node, " of ", size);
        expects(taken[at(node)] == 0, "two unknowns are said to be node ", node, "; unknown ", k, " is one of them");
        taken[at(node)] = 1;
      }
      rows_.node = params_.numbering;
      const std::string why = fault([&](std::size_t k) { return box_.place(rows_.at(k)); });
      expects(why.empty(), why, " by the numbering that is given");
      return;
    }
    // Of orders that fit the one whose couplings are the shortest: others see lines as diagonals, and sides as around the box.
    std::array<int, 3> order{0, 1, 2};
    std::string first;
    double shortest = std::numeric_limits<double>::infinity();
    std::vector<Place> seen;  // sizes by order: directions of one size are the same but for their names
    do {
      const Place sizes{box_.n[at(order[0])], box_.n[at(order[1])], box_.n[at(order[2])]};
      if (std::find(seen.begin(), seen.end(), sizes) != seen.end()) continue;
      seen.push_back(sizes);
      const auto place = [&](std::size_t k) { return place_of(order, k); };
      const std::string why = fault(place);
      if (first.empty()) first = why.empty() ? " " : why;
      if (!why.empty()) continue;
      const double length = length_of_couplings(place);
      if (!(length < shortest)) continue;
      shortest = length;
      rows_.order = order;
    } while (std::next_permutation(order.begin(), order.end()));
    expects(std::isfinite(shortest), first,
            ". No order of the three directions fits; check the shape, or say which node each unknown is");
    if (rows_.order == std::array{0, 1, 2}) return;
    for (std::size_t k = 0; k < size; ++k) rows_.node.push_back(static_cast<int>(box_.node(place_of(rows_.order, k))));
  }
  [[nodiscard]] Place place_of(const std::array<int, 3>& order, std::size_t k) const {
    Place p{};
    for (const int d : order) {
      const auto n = at(box_.n[at(d)]);
      p[at(d)] = static_cast<int>(k % n);
      k /= n;
    }
    return p;
  }
  template <class PlaceOf>
  [[nodiscard]] double length_of_couplings(const PlaceOf& place) const {
    double length = 0;
    for (std::size_t k = 0; k < box_.size(); ++k) {
      const Place here = place(k);
      for_entries(k, [&](std::size_t m, double) {
        if (m == k || fixed_[m] != 0) return;
        const Offset offset(box_, here, place(m));
        for (std::size_t d = 0; d < 3; ++d) length += std::abs(offset.d[d]) + (offset.across[d] ? 2 : 0);
      });
    }
    return length;
  }

  /// Outer layers of unknowns that are all fixed, such as kept Dirichlet rows, are no nodes of the box.
  void leave_out_layers() {
    std::vector<char> is_fixed(box_.size());
    for (std::size_t k = 0; k < unknowns(); ++k) is_fixed[rows_.at(k)] = fixed_[k];
    std::array<int, 3> begin{}, end = box_.n;
    const auto may_go = [&](std::size_t d, int layer) {
      Place p{}, low = begin, high = end;
      low[d] = layer;
      high[d] = layer + 1;
      for (p[2] = low[2]; p[2] < high[2]; ++p[2])
        for (p[1] = low[1]; p[1] < high[1]; ++p[1])
          for (p[0] = low[0]; p[0] < high[0]; ++p[0])
            if (is_fixed[box_.node(p)] == 0) return false;
      return true;
    };
    for (bool gone = true; gone;) {
      gone = false;
      for (std::size_t d = 0; d < 3; ++d) {
        if (end[d] - begin[d] > 1 && may_go(d, begin[d])) ++begin[d], gone = true;
        if (end[d] - begin[d] > 1 && may_go(d, end[d] - 1)) --end[d], gone = true;
      }
    }
    if (begin == Place{} && end == box_.n) return;
    const Box whole = box_;
    first_ = begin;
    for (std::size_t d = 0; d < 3; ++d) {
      box_.n[d] = end[d] - begin[d];
      if (!given_[d].empty()) leave_out_widths(d, whole.n[d], begin[d], end[d]);
    }
    std::vector<int> node(unknowns(), -1);
    for (std::size_t k = 0; k < unknowns(); ++k) {
      Place p = whole.place(rows_.at(k));
      bool inside = true;
      for (std::size_t d = 0; d < 3; ++d) {
        inside = inside && p[d] >= begin[d] && p[d] < end[d];
        p[d] -= begin[d];
      }
      if (inside) node[k] = static_cast<int>(box_.node(p));
    }
    rows_.node = std::move(node);
  }
  /// Of widths that are given for n nodes those of nodes begin .. end - 1, and beyond them where nodes have gone.
  void leave_out_widths(std::size_t d, int n, int begin, int end) {
    std::vector<double>& widths = given_[d];
    const int count = static_cast<int>(widths.size());
    if (count < n - 1 || count > n + 1 || (params_.widths_beyond_ends && count != n + 1)) return expects_widths(d, n);
    // The interval before node i is number i + shift.
    const int shift = count == n + 1 || (count == n && begin == 0) ? 0 : -1;
    const int from = std::max(begin + shift + (begin == 0 && shift < 0 ? 1 : 0), 0),
              to = std::min(end + shift + 1, count);
    widths = std::vector<double>(widths.begin() + from, widths.begin() + to);
  }

  /// Of rows without what is fixed, by the numbers of neighbours.
  void read() {
    const std::size_t size = box_.size();
    entries_[box_neighbours].assign(size, 0.0);
    for (std::size_t k = 0; k < unknowns(); ++k) {
      if (!rows_.has(k)) {
        rows_.fixed.push_back(static_cast<int>(k));
        for_entries(k, [&](std::size_t, double value) { rows_.fixed_diagonal.push_back(value); });
        continue;
      }
      const std::size_t node = rows_.at(k);
      const Place here = box_.place(node);
      for_entries(k, [&](std::size_t m, double value) {
        if (m == k) {
          entries_[box_neighbours][node] = value;
          return;
        }
        if (fixed_[m] != 0) return;
        const Offset offset(box_, here, box_.place(rows_.at(m)));
        auto& band = entries_[offset.number()];
        if (band.empty()) band.assign(size, 0.0);
        band[node] += value;
        for (std::size_t d = 0; d < 3; ++d) rows_.shape.periodic[d] = rows_.shape.periodic[d] || offset.across[d];
      });
      if (fixed_[k] == 0) continue;
      rows_.fixed.push_back(static_cast<int>(k));
      rows_.fixed_diagonal.push_back(diagonal(node));
    }
    for (int n = box_neighbours + 1; n < box_row; ++n) {
      auto &band = entries_[at(n)], &mirrored = entries_[at(box_row - 1 - n)];
      if (band.empty() && mirrored.empty()) continue;
      later_.push_back(n);
      if (band.empty()) band.assign(size, 0.0);
      if (mirrored.empty()) mirrored.assign(size, 0.0);
    }
  }

  [[nodiscard]] double diagonal(std::size_t node) const { return entries_[box_neighbours][node]; }
  /// The node whose row is not symmetric, and that of the other entry; both `size` where all are.
  [[nodiscard]] std::pair<std::size_t, std::size_t> unsymmetric(double tolerance) const {
    const std::size_t size = box_.size();
    std::vector<double> roots;
    roots.reserve(size);
    for (const double v : entries_[box_neighbours]) roots.push_back(std::sqrt(v));
    std::pair<std::size_t, std::size_t> found{size, size};
    for (const int n : later_) {
      const double *const band = entries_[at(n)].data(), *const mirrored = entries_[at(box_row - 1 - n)].data();
      neighbours_.for_each(n, [&](std::size_t k, std::size_t m) {
        if (std::abs(band[k] - mirrored[m]) > tolerance * roots[k] * roots[m] && k < found.first) found = {k, m};
      });
    }
    return found;
  }
  void make_symmetric() {
    constexpr double tolerance = 1e-12, of_scaled = 1e-9;
    const std::size_t size = box_.size();
    const auto [row, column] = unsymmetric(tolerance);
    rows_.symmetric = row == size;
    expects(
        !params_.symmetric || *params_.symmetric == rows_.symmetric, "the matrix is said to be ",
        *params_.symmetric ? "symmetric" : "unsymmetric", ", and it is ", rows_.symmetric ? "" : "not ", "symmetric",
        rows_.symmetric ? "" : message(": rows of nodes ", text(box_.place(row)), " and ", text(box_.place(column))));
    if (rows_.symmetric) return;
    SparseRows free;
    free.rows = free.columns = a_.rows;
    for (std::size_t k = 0; k < unknowns(); ++k) {
      for_entries(k, [&](std::size_t m, double value) {
        if (m != k && (fixed_[k] != 0 || fixed_[m] != 0)) return;
        free.column.push_back(static_cast<int>(m));
        free.value.push_back(value);
      });
      free.start.push_back(static_cast<int>(free.column.size()));
    }
    rows_.scales = scale_to_symmetry(free);
    if (rows_.scales.empty()) return;
    const auto as_given = entries_;
    for (auto& band : entries_)
      for (std::size_t k = 0; k < rows_.scales.size(); ++k)
        if (rows_.has(k) && !band.empty()) band[rows_.at(k)] *= rows_.scales[k];
    if (unsymmetric(of_scaled).first == size) return;
    entries_ = as_given;
    rows_.scales.clear();
  }

  /// Of A, and what couples nodes with those behind them.
  void make_bands() {
    const std::size_t size = box_.size();
    rows_.power = std::ldexp(
        1.0, -std::ilogb(*std::max_element(entries_[box_neighbours].begin(), entries_[box_neighbours].end())));
    // Means of A and the transposed matrix.
    std::array<std::vector<double>, box_row> means;
    for (auto& c : couplings_) c.assign(size, 0.0);
    for (const int n : later_) {
      const double *const band = entries_[at(n)].data(), *const mirrored = entries_[at(box_row - 1 - n)].data();
      auto& mean = means[at(n)];
      mean.resize(size);
      neighbours_.for_each(n, [&](std::size_t k, std::size_t m) { mean[k] = (band[k] + mirrored[m]) / 2; });
      for (std::size_t d = 0; d < 3; ++d) {
        double* const coupling = couplings_[d].data();
        if (step_of(n, d) > 0)
          for (std::size_t k = 0; k < size; ++k) coupling[k] -= mean[k];
        else if (step_of(n, d) < 0)
          neighbours_.for_each(n, [&](std::size_t k, std::size_t m) { coupling[m] -= mean[k]; });
      }
    }
    take_sums(means);
    for (const int n : later_) {
      auto& band = rows_.bands[at(n - box_neighbours)];
      band = std::move(rows_.general ? entries_[at(n)] : means[at(n)]);
      for (double& v : band) v *= rows_.power;
      if (!rows_.general) continue;
      auto& before = rows_.before[at(n - box_neighbours - 1)];
      before = std::move(entries_[at(box_row - 1 - n)]);
      for (double& v : before) v *= rows_.power;
    }
  }
  /// What rows have left, of A and of the means.
  void take_sums(const std::array<std::vector<double>, box_row>& means) {
    const std::size_t size = box_.size(), count = later_.size();
    held_.resize(size);
    left_.resize(size);
    std::vector<double>& of_rows = rows_.bands[0];
    of_rows.resize(size);
    // Entries of files have few digits: what is said to be singular is believed so far.
    const double rounding = params_.singular.value_or(false) ? 1e-6 : 64 * eps;
    std::vector<int> numbers = later_;  // and those before, in the same order
    for (const int n : later_) numbers.push_back(box_row - 1 - n);
    std::vector<const double*> mean, behind, before;
    for (const int n : later_) {
      mean.push_back(means[at(n)].data());
      behind.push_back(entries_[at(n)].data());
      before.push_back(entries_[at(box_row - 1 - n)].data());
    }
    neighbours_.for_each(numbers, [&](std::size_t k, const std::vector<std::size_t>& there) {
      Sum of_both, of_row, of_column;
      of_both.add(diagonal(k));
      for (std::size_t e = 0; e < count; ++e) {
        of_both.add(mean[e][k]);
        of_both.add(mean[e][there[count + e]]);
      }
      left_[k] = of_both.value(rounding) * rows_.power;
      of_rows[k] = left_[k];
      if (rows_.general) {
        of_row.add(diagonal(k));
        of_column.add(diagonal(k));
        for (std::size_t e = 0; e < count; ++e) {
          of_row.add(behind[e][k]);
          of_row.add(before[e][k]);
          of_column.add(before[e][there[e]]);
          of_column.add(behind[e][there[count + e]]);
        }
        of_rows[k] = of_row.value(rounding) * rows_.power;
        columns_are_balanced_ = columns_are_balanced_ && of_column.value(rounding) == 0;
      }
      held_[k] = of_rows[k] != 0 ? 1 : 0;
    });
  }

  void look_at_convection() {
    std::size_t inner = 0;
    std::array<std::size_t, 3> strong{}, wrong{};
    for (std::size_t k = 0; k < box_.size(); ++k) {
      const Place here = box_.place(k);
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        const int i = here[at(d)];
        inside = inside && (box_.n[at(d)] == 1 || (rows_.shape.has(d, i - 1) && rows_.shape.has(d, i + 1)));
      }
      if (!inside) continue;
      ++inner;
      std::array<double, 3> before{}, behind{};
      for (const int n : later_)
        for (std::size_t d = 0; d < 3; ++d) {
          const int step = step_of(n, d);
          if (step == 0) continue;
          (step < 0 ? before : behind)[d] -= entries_[at(n)][k];
          (step < 0 ? behind : before)[d] -= entries_[at(box_row - 1 - n)][k];
        }
      for (std::size_t d = 0; d < 3; ++d) {
        constexpr double half = 0.5;
        const auto [less, more] = std::minmax(before[d], behind[d]);
        if (more - less > half * (std::abs(more) + std::abs(less))) ++strong[d];
        if (less < -half * std::abs(more)) ++wrong[d];
      }
    }
    constexpr std::size_t part = 20;
    for (std::size_t d = 0; d < 3; ++d) {
      rows_.convective = rows_.convective || (strong[d] > 0 && strong[d] * part >= inner);
      rows_.oscillating = rows_.oscillating || (wrong[d] > 0 && wrong[d] * part >= inner);
    }
  }

  /// Nodes that are coupled, in one direction or in both.
  [[nodiscard]] Parts find_parts() const {
    Parts parts(box_.size());
    for (const int n : later_) {
      const double *const band = entries_[at(n)].data(), *const mirrored = entries_[at(box_row - 1 - n)].data();
      neighbours_.for_each(n, [&](std::size_t k, std::size_t m) {
        if (band[k] != 0 || mirrored[m] != 0) parts.unite(k, m);
      });
    }
    return parts;
  }
  /// Parts that nothing couples to the others, without those of one fixed node.
  void look_at(Parts parts) {
    const std::size_t size = box_.size();
    std::vector<char> is_fixed(size, 0), is_held(size, 0);
    for (std::size_t k = 0; k < unknowns(); ++k)
      if (fixed_[k] != 0 && rows_.has(k)) is_fixed[rows_.at(k)] = 1;
    for (std::size_t k = 0; k < size; ++k)
      if (held_[k] != 0) is_held[parts.first(k)] = 1;
    int count = 0, floating = 0;
    std::size_t of_floating = 0;
    for (std::size_t k = 0; k < size; ++k) {
      if (is_fixed[k] != 0 || parts.first(k) != k) continue;
      ++count;
      if (is_held[k] != 0) continue;
      ++floating;
      of_floating = k;
    }
    rows_.singular = floating == 1 && count == 1 && rows_.fixed.empty();
    expects(floating == 0 || rows_.singular, "the unknowns around node ", text(box_.place(of_floating)),
            " are coupled to no others, and their rows sum to zero: they are known up to a constant only. Fix one of "
            "them, or "
            "take them out");
    expects(
        !rows_.singular || !rows_.general || columns_are_balanced_,
        "the matrix is singular, since all of its rows sum to zero, and it is not symmetric, nor do its columns sum to "
        "zero: which right-hand sides have a solution is not known. Fix an unknown, or write the matrix so that "
        "columns sum to zero");
    expects(!params_.singular || *params_.singular == rows_.singular, "the matrix is said to be ",
            *params_.singular ? "singular" : "regular", ", and ",
            rows_.singular ? "all of its rows sum to zero" : "not all of its rows sum to zero");
  }

  /// So that samples are enough, and lie in all layers: prime to the sizes.
  [[nodiscard]] std::size_t stride_of_samples() const {
    constexpr std::size_t enough = 200000;
    const auto fits = [&](std::size_t step) {
      return std::all_of(box_.n.begin(), box_.n.end(), [&](int n) { return std::gcd(step, at(n)) == 1; });
    };
    std::size_t step = std::max<std::size_t>(box_.size() / enough, 1);
    while (step > 1 && !fits(step)) --step;
    return step;
  }
  /// Logarithms of the widths behind the nodes of direction d from those of f: c_d / c_f = (h_f / h_d)^2.
  void take_widths(std::size_t d, std::size_t f, std::array<std::vector<double>, 3>& logs) const {
    std::vector<std::vector<double>> of_layer(at(box_.n[d]));
    const std::size_t step = stride_of_samples();
    for (std::size_t k = 0; k < box_.size(); k += step) {
      const double c = couplings_[d][k], other = couplings_[f][k];
      if (!(c > 0) || !(other > 0)) continue;
      const Place p = box_.place(k);
      of_layer[at(p[d])].push_back(logs[f][at(p[f])] - (std::log(c) - std::log(other)) / 2);
    }
    std::vector<double> all;
    for (auto& layer : of_layer)
      if (!layer.empty()) all.push_back(median(layer));
    const double of_none = all.empty() ? 0 : median(all);
    for (std::size_t i = 0; i < of_layer.size(); ++i) logs[d][i] = of_layer[i].empty() ? of_none : median(of_layer[i]);
  }
  [[nodiscard]] bool is_coupled(std::size_t d) const {
    return std::any_of(couplings_[d].begin(), couplings_[d].end(), [](double c) { return c > 0; });
  }
  /// Rows at an end have no more left than those behind them.
  [[nodiscard]] bool is_natural(std::size_t d, bool last) const {
    const int n = box_.n[d], end = last ? n - 1 : 0, behind = last ? n - 2 : 1;
    if (n < 2) return false;
    constexpr double tenth = 0.1;
    std::vector<double> ratios;
    Place low{}, high = box_.n, p{};
    low[d] = end;
    high[d] = end + 1;
    for (p[2] = low[2]; p[2] < high[2]; ++p[2])
      for (p[1] = low[1]; p[1] < high[1]; ++p[1])
        for (p[0] = low[0]; p[0] < high[0]; ++p[0]) {
          Place next = p;
          next[d] = behind;
          const std::size_t k = box_.node(p), other = box_.node(next);
          const double c = couplings_[d][last ? other : k] * rows_.power;
          if (c > 0) ratios.push_back((left_[k] - left_[other]) / c);
        }
    return !ratios.empty() && median(ratios) < tenth;
  }
  void find_axes() {
    std::array<bool, 3> coupled{};
    std::array<std::vector<double>, 3> logs;
    for (std::size_t d = 0; d < 3; ++d) {
      coupled[d] = is_coupled(d);
      logs[d].assign(at(box_.n[d]), 0.0);
    }
    const auto reference = at(std::find(coupled.rbegin(), coupled.rend(), true) != coupled.rend()
                                  ? std::distance(std::find(coupled.rbegin(), coupled.rend(), true), coupled.rend()) - 1
                                  : 0);
    for (std::size_t d = 0; d < 3; ++d)
      if (d != reference && coupled[d]) take_widths(d, reference, logs);
    for (std::size_t d = 0; d < 3; ++d)
      if (d != reference && coupled[d]) {
        take_widths(reference, d, logs);
        break;
      }
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < 3; ++d)
      if (coupled[d]) most = std::max(most, *std::max_element(logs[d].begin(), logs[d].end()));
    // A direction without couplings is infinitely weak.
    constexpr double weak = 1e6;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto n = at(box_.n[d]);
      GatedAxis& axis = rows_.gate[d];
      axis.periodic = rows_.shape.periodic[d];
      axis.first = !axis.periodic && is_natural(d, false);
      axis.last = !axis.periodic && is_natural(d, true);
      std::vector<double> between;
      for (std::size_t i = 0; i + (axis.periodic ? 0 : 1) < n; ++i)
        between.push_back(coupled[d] ? std::exp(logs[d][i] - (std::isfinite(most) ? most : 0)) : weak);
      if (!given_[d].empty()) {
        take_given(d, axis);
        if (std::isfinite(most)) scale_given(axis, between);
        continue;
      }
      const double beside_first = between.empty() ? weak : between.front(),
                   beside_last = between.empty() ? weak : between.back();
      if (!axis.periodic && !axis.first) between.insert(between.begin(), beside_first);
      if (!axis.periodic && !axis.last) between.push_back(beside_last);
      axis.widths = std::move(between);
    }
  }
  void expects_widths(std::size_t d, int n) const {
    expects(false, "there are ", given_[d].size(), " widths in ", axis_names[d], " for ", n, " unknowns: give ",
            params_.widths_beyond_ends
                ? message(n + 1)
                : message(n - 1, ", and one more beyond each boundary whose nodes are no unknowns"));
  }
  /// Couplings know more than widths, K that differs by directions: by their median.
  static void scale_given(GatedAxis& axis, const std::vector<double>& between) {
    std::vector<double> factors;
    const std::size_t beyond = axis.periodic || axis.first ? 0 : 1;
    for (std::size_t i = 0; i < between.size(); ++i) factors.push_back(between[i] / axis.widths[i + beyond]);
    if (factors.empty()) return;
    const double factor = median(factors);
    for (double& h : axis.widths) h *= factor;
  }
  void take_given(std::size_t d, GatedAxis& axis) const {
    const auto& widths = given_[d];
    const auto n = at(box_.n[d]);
    for (const double h : widths)
      expects(std::isfinite(h) && h > 0, "a width in ", axis_names[d], " is ", h, "; all must be positive");
    if (params_.widths_beyond_ends) {
      expects(widths.size() == n + 1, "there are ", widths.size(), " widths in ", axis_names[d], " for ", n,
              " unknowns: give ", n + 1);
      axis.widths.assign(widths.begin() + (axis.first ? 1 : 0), widths.end() - (axis.last || axis.periodic ? 1 : 0));
      return;
    }
    const bool fits = axis.periodic ? widths.size() == n : widths.size() + 1 >= n && widths.size() <= n + 1;
    expects(fits, "there are ", widths.size(), " widths in ", axis_names[d], " for ", n, " unknowns",
            axis.periodic ? " around" : "", ": give ",
            axis.periodic ? message(n)
                          : message(n - 1, ", and one more beyond each boundary whose nodes are no unknowns"));
    axis.widths = widths;
    if (axis.periodic) return;
    if (widths.size() + 1 == n) axis.first = axis.last = true;
    if (widths.size() == n + 1) axis.first = axis.last = false;
    if (widths.size() == n && axis.first == axis.last) axis.first = !axis.last;
  }

  const SparseRows& a_;
  Box box_;
  const BoxRowsParams& params_;
  std::array<std::vector<double>, 3> given_;  // widths
  Place first_{};                             // of what is left
  std::vector<char> fixed_, held_;            // the latter: nodes whose rows of A, or of D A, do not sum to zero
  bool columns_are_balanced_ = true;
  std::array<std::vector<double>, box_row> entries_;  // of nodes; empty: zeros
  std::vector<int> later_;  // numbers of 27 that there are entries of, or of their mirrored ones
  Neighbours neighbours_{{1, 1, 1}};
  std::array<std::vector<double>, 3> couplings_;  // with the node behind
  std::vector<double> left_;                      // of rows, the mean of A and A^T
  BoxRows rows_;
};

}  // namespace

BoxRows read_box_rows(const SparseRows& a, const std::array<int, 3>& n, const BoxRowsParams& params) {
  return Reader(a, n, params).take();
}

}  // namespace stratum
