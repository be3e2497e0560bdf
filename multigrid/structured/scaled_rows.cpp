#include <stratum/multigrid/structured/scaled_rows.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/multigrid/structured/scaled_rows_findings.hpp>

namespace stratum {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// log a(i -> i+1) / a(i+1 -> i) as far as volumes can make it, along x or along y; infinite where they do not couple.
template <class View>
struct Step {
  View a;
  Whole whole;
  bool in_x;
  FieldView<double> to;

  /// What couples node (i, j) to the next one, or to the one before: nothing beyond the ends.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double ahead(int i, int j) const {
    if (!whole.has(in_x ? i + 1 : i, in_x ? j : j + 1)) return 0;
    return in_x ? -a.template coefficient<1, 0>(i, j) : -a.template coefficient<0, 1>(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double behind(int i, int j) const {
    if (!whole.has(in_x ? i - 1 : i, in_x ? j : j - 1)) return 0;
    return in_x ? -a.template coefficient<-1, 0>(i, j) : -a.template coefficient<0, -1>(i, j);
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int p = in_x ? i + 1 : i, q = in_x ? j : j + 1;
    const double there = ahead(i, j), back = whole.has(p, q) ? behind(p, q) : 0;
    to(i, j) = HUGE_VAL;
    if (!(there > 0 && back > 0)) return;
    const double alike = log((magnitude(behind(i, j)) + there) / (back + magnitude(ahead(p, q)))),
                 step = log(there / back);
    const double least = alike < 0 ? alike : 0, most = alike > 0 ? alike : 0;
    to(i, j) = step < least ? least : step > most ? most : step;
  }
};

/// Of every row of a subdomain, or column of the grid.
struct Mean {
  double sum = 0, count = 0;
  void take(double v) {
    if (!std::isfinite(v)) return;
    sum += v;
    ++count;
  }
  [[nodiscard]] double value() const { return count > 0 ? sum / count : 0; }
};

/// d(i, j) = p_i q_j, the largest of them one.
std::vector<double> estimated(Context& ctx, const GridOperator<double>& a, const Whole& whole) {
  const auto [nx, ny] = std::pair(a.shape().nx, a.shape().ny);
  const auto steps = [&](bool in_x) {
    Field<double> to(ctx, a.shape());
    a.visit([&]<class View>(const View& view) {
      for_each_node(ctx, all_nodes(to.view()), Step<View>{view, whole, in_x, to.view()});
    });
    std::vector<double> numbers(at(to.shape().nodes()));
    copy_to_host(ctx, to.cview(), numbers.data());
    return numbers;
  };
  const auto along = [](const std::vector<Mean>& means) {
    std::vector<double> p(means.size());
    for (std::size_t k = 0; k + 1 < p.size(); ++k) p[k + 1] = p[k] + means[k].value();
    return p;
  };
  std::vector<Mean> columns(at(nx)), rows(at(ny));
  const auto in_x = steps(true), in_y = steps(false);
  for (std::size_t k = 0; k < in_x.size(); ++k) {
    columns[k % at(nx)].take(in_x[k]);
    rows[k / at(nx)].take(in_y[k]);
  }
  if (ctx.subdomains() > 1) {
    Communicator& comm = *ctx.communicator();
    std::vector<Mean> all(columns.size() * at(comm.size()));
    comm.gather_on_host(columns.data(), all.data(), columns.size() * sizeof(Mean));
    for (std::size_t k = columns.size(); k < all.size(); ++k) {
      Mean& column = all[k % columns.size()];
      column = {column.sum + all[k].sum, column.count + all[k].count};
    }
    std::copy_n(all.begin(), columns.size(), columns.begin());
    std::vector<double> means;
    for (const Mean& row : rows) means.push_back(row.value());
    rows.clear();
    for (const double mean : comm.join_on_host(means)) rows.push_back({mean, 1});
  }
  const auto p = along(columns), q = along(rows);
  const double top = *std::max_element(p.begin(), p.end()) + *std::max_element(q.begin(), q.end());
  std::vector<double> d;
  d.reserve(in_x.size());
  for (int j = 0; j < ny; ++j)
    for (const double x : p) d.push_back(std::exp(x + q[at(j + whole.first)] - top));
  return d;
}

/// The subdomain's first row towards the rows below, and the last towards those above: three lines of numbers each.
template <class View>
struct AcrossCuts {
  View a;
  int nx, last;
  double* to;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*row*/) const {
    to[i] = a.template coefficient<-1, -1>(i, 0);
    to[nx + i] = a.template coefficient<0, -1>(i, 0);
    to[2 * nx + i] = a.template coefficient<1, -1>(i, 0);
    to[3 * nx + i] = a.template coefficient<-1, 1>(i, last);
    to[4 * nx + i] = a.template coefficient<0, 1>(i, last);
    to[5 * nx + i] = a.template coefficient<1, 1>(i, last);
  }
};

/// What all subdomains know of each other's first and last rows.
class CutRows {
 public:
  CutRows(Context& ctx, const GridOperator<double>& a, const PartScales& own)
      : nx_(at(a.shape().nx)), numbers_(10 * nx_), all_(numbers_ * at(ctx.subdomains())) {
    const int nx = a.shape().nx, last = a.shape().ny - 1;
    Field<double> entries(ctx, 6 * nx);
    a.visit([&]<class View>(const View& view) {
      for_each_node(ctx, {0, nx, 1, 0, 1, 1}, AcrossCuts<View>{view, nx, last, entries.view().data});
    });
    std::vector<double> mine(numbers_);
    copy_to_host(ctx, entries.cview(), mine.data());
    for (std::size_t i = 0; i < nx_; ++i)
      for (const bool of_last : {false, true}) {
        const std::size_t node = (of_last ? at(last) * nx_ : 0) + i, line = of_last ? 7 : 6;
        mine[line * nx_ + i] = own.d[node];
        mine[(line + 2) * nx_ + i] = own.part[node];
      }
    ctx.communicator()->gather_on_host(mine.data(), all_.data(), numbers_ * sizeof(double));
  }
  [[nodiscard]] double down(std::size_t subdomain, int dx, int i) const { return number(subdomain, at(dx + 1), i); }
  [[nodiscard]] double up(std::size_t subdomain, int dx, int i) const { return number(subdomain, at(dx + 4), i); }
  [[nodiscard]] double d(std::size_t subdomain, bool last, int i) const { return number(subdomain, last ? 7 : 6, i); }
  [[nodiscard]] std::size_t part(std::size_t subdomain, bool last, int i) const {
    return static_cast<std::size_t>(number(subdomain, last ? 9 : 8, i));
  }

 private:
  [[nodiscard]] double number(std::size_t subdomain, std::size_t line, int i) const {
    return all_[subdomain * numbers_ + line * nx_ + at(i)];
  }
  std::size_t nx_, numbers_;
  std::vector<double> all_;
};

/// Scales of all subdomains' parts, those of subdomain r from begin[r] on, one in the first of those that are coupled across
/// cuts. Empty where there are none.
std::vector<double> scales_of_parts(const CutRows& rows, const std::vector<std::size_t>& begin,
                                    const GridLayout<2>& shape) {
  struct Link {
    std::size_t to;
    double ratio;
  };
  std::vector<std::vector<Link>> links(begin.back());
  const std::size_t subdomains = begin.size() - 1;
  for (std::size_t below = 0; below < (shape.periodic_y ? subdomains : subdomains - 1); ++below) {
    const std::size_t above = (below + 1) % subdomains;
    for (int i = 0; i < shape.nx; ++i)
      for (int dx = -1; dx <= 1; ++dx) {
        const int p = shape.periodic_x ? (i + dx + shape.nx) % shape.nx : i + dx;
        if (p < 0 || p >= shape.nx) continue;
        const double there = rows.up(below, dx, i), back = rows.down(above, -dx, p);
        if (there == 0 && back == 0) continue;
        if (!(there * back > 0)) return {};
        const double ratio = rows.d(below, true, i) * there / (rows.d(above, false, p) * back);
        const std::size_t from = begin[below] + rows.part(below, true, i),
                          to = begin[above] + rows.part(above, false, p);
        links[from].push_back({to, ratio});
        links[to].push_back({from, 1 / ratio});
      }
  }
  std::vector<double> scale(links.size());
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < scale.size(); ++first) {
    if (scale[first] != 0) continue;
    scale[first] = 1;
    reached.assign(1, first);
    for (std::size_t next = 0; next < reached.size(); ++next)
      for (const Link& link : links[reached[next]]) {
        const double found = scale[reached[next]] * link.ratio;
        if (scale[link.to] == 0) {
          scale[link.to] = found;
          reached.push_back(link.to);
        } else if (!(std::abs(found - scale[link.to]) <= scales_agree * found)) {
          return {};
        }
      }
  }
  return scale;
}

/// Bands of D A, from number `first` of nine on.
template <class View>
struct ScaleBands {
  View a;
  FieldView<const double> d;
  double* band[9];
  std::int64_t pitch;
  int first;
  template <int k>
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j) const {
    if (k >= first) band[k][j * pitch + i] = d(i, j) * a.template coefficient<k % 3 - 1, k / 3 - 1>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    store<0>(i, j);
    store<1>(i, j);
    store<2>(i, j);
    store<3>(i, j);
    store<4>(i, j);
    store<5>(i, j);
    store<6>(i, j);
    store<7>(i, j);
    store<8>(i, j);
  }
};

template <template <class> class Bands>
GridOperator<double> times_rows(Context& ctx, FieldView<const double> d, const GridOperator<double>& a) {
  Bands<double> scaled(ctx, a.shape());
  a.visit([&]<class View>(const View& view) {
    ScaleBands<View> work{view, d, {}, scaled.band[0].view().pitch, Bands<double>::first};
    for (std::size_t k = 0; k < scaled.band.size(); ++k)
      work.band[k + at(Bands<double>::first)] = scaled.band[k].view().data;
    for_each_node(ctx, all_nodes(d), work);
  });
  for (auto& band : scaled.band) exchange(ctx, band);
  return {std::move(scaled)};
}

}  // namespace

Whole::Whole(const Context& ctx, const GridLayout<2>& shape) : nx(shape.nx), ny(shape.ny) {
  if (ctx.subdomains() == 1) return;
  Communicator& comm = *ctx.communicator();
  const auto rows = comm.gather_on_host(shape.ny);
  ny = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) first = ny;
    ny += rows[r];
  }
}

std::vector<double> scales_to_symmetry(Context& ctx, const GridOperator<double>& a) {
  const SparseRows rows = sparse_rows(ctx, a);
  auto own = part_scales(rows);
  if (ctx.subdomains() == 1)
    return own && ScaleSpans(rows, own->d).are_of_rows() ? std::move(own->d) : std::vector<double>();
  Communicator& comm = *ctx.communicator();
  std::vector<std::size_t> begin{0};
  for (const int parts : comm.gather_on_host(own ? own->parts : -1)) {
    if (parts < 0) return {};
    begin.push_back(begin.back() + at(parts));
  }
  const std::vector<double> scale = scales_of_parts(CutRows(ctx, a, *own), begin, a.shape());
  if (scale.empty()) return {};
  for (std::size_t k = 0; k < own->d.size(); ++k) own->d[k] *= scale[begin[at(comm.rank())] + at(own->part[k])];
  ScaleSpans spans;
  for (const ScaleSpans& of_subdomain : comm.gather_on_host(ScaleSpans(rows, own->d))) spans.take(of_subdomain);
  return spans.are_of_rows() ? std::move(own->d) : std::vector<double>();
}

void make_parts_alike(Context& ctx, const SingularParts& parts, RowScales& scales) {
  if (parts.connected < 2) return;
  const GridLayout<2> shape = scales.scaled.shape();
  Field<double> v(ctx, shape), of(ctx, shape);
  set(ctx, 1.0, v.view());
  exchange(ctx, v);
  scales.scaled.apply(ctx, v.cview(), of.view());
  std::vector<double> sum(at(shape.nodes())), diagonal(sum.size());
  copy_to_host(ctx, of.cview(), sum.data());
  stratum::diagonal(ctx, scales.scaled, v.view());
  copy_to_host(ctx, v.cview(), diagonal.data());
  // What couples a node, the sum of |a_km| over m != k.
  std::vector<double> most(static_cast<std::size_t>(parts.connected), 0.0);
  for (std::size_t k = 0; k < sum.size(); ++k)
    if (const int part = parts.connected_part[k]; part >= 0)
      most[at(part)] = std::max(most[at(part)], std::abs(diagonal[k] - sum[k]));
  if (ctx.subdomains() > 1) {
    const std::vector<double> all = ctx.communicator()->join_on_host(most);
    for (std::size_t k = 0; k < all.size(); ++k) most[k % most.size()] = std::max(most[k % most.size()], all[k]);
  }
  std::vector<double> by(sum.size(), 1.0);
  for (std::size_t k = 0; k < by.size(); ++k) {
    const int part = parts.connected_part[k];
    if (part < 0 || !(most[at(part)] > 0)) continue;
    by[k] = std::ldexp(1.0, -std::ilogb(most[at(part)]));
    scales.d[k] *= by[k];
  }
  copy_from_host(ctx, by.data(), v.view());
  exchange(ctx, v);
  scales.scaled = times_rows<SymmetricNineBand>(ctx, v.cview(), scales.scaled);
}

std::optional<RowScales> scaled_rows(Context& ctx, const GridOperator<double>& a, bool wants_symmetry) {
  const GridLayout<2> shape = a.shape();
  const Whole whole(ctx, shape);
  const double apart = most_apart(ctx, a, whole), sum = largest_row_sum(ctx, a);
  const bool zero_sums = sum <= 32 * std::numeric_limits<double>::epsilon();
  if (apart < least_scale_jump && !zero_sums && !wants_symmetry) return {};

  Field<double> grid_d(ctx, shape), ones(ctx, shape);
  const auto jumps = [&](const std::vector<double>& d) {
    copy_from_host(ctx, d.data(), grid_d.view());
    exchange(ctx, grid_d);
    return largest_scale_jump(ctx, a, grid_d.cview()) >= least_scale_jump;
  };
  if (std::vector<double> d = scales_to_symmetry(ctx, a); !d.empty()) {
    if (!jumps(d) && !zero_sums && !wants_symmetry) return {};
    ScaleSpans::Span span;
    for (const double v : d) span.take(v);
    if (ctx.subdomains() > 1)
      for (const auto& of_subdomain : ctx.communicator()->gather_on_host(span)) span.take(of_subdomain);
    const bool are_units = span.most > widest_scales * span.least;
    return RowScales{times_rows<SymmetricNineBand>(ctx, grid_d.cview(), a), std::move(d), true, zero_sums, are_units};
  }
  std::vector<double> d = estimated(ctx, a, whole);
  if (!jumps(d)) return {};
  constexpr double gain = 0.8;
  set(ctx, 1.0, ones.view());
  exchange(ctx, ones);
  if (!(loss_of(ctx, a, grid_d.cview(), whole) < gain * loss_of(ctx, a, ones.cview(), whole))) return {};
  return RowScales{times_rows<NineBandMatrix>(ctx, grid_d.cview(), a), std::move(d), false, false};
}

}  // namespace stratum
