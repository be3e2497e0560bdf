#include <stratum/multigrid/singular_parts.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <variant>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

using detail::Stencil;

constexpr double rounding = 2 * detail::sums_to_zero;  // of a diagonal: what is symmetric holds twice that
constexpr double nearly = 1e-6;                        // of it: beyond, nobody's rounding
constexpr std::size_t centre = 4;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// v != 0 in the fewest digits that are read as v.
struct Decimal {
  int digits = 0, exponent = 0;

  explicit Decimal(double v) {
    std::array<char, 40> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), std::abs(v), std::chars_format::scientific).ptr;
    const char* const e = std::find(text.data(), end, 'e');
    digits = static_cast<int>(std::count_if(static_cast<const char*>(text.data()), e, [](char c) { return c != '.'; }));
    exponent = std::atoi(e + 1);  // NOLINT(cert-err34-c): it was written here
  }
};

/// The precision that entries of a matrix show; trivially copied, to be gathered.
struct Shown {
  int digits = 0, last = std::numeric_limits<int>::max();  // the most, and the exponent of the last place of all
  bool as_float = true;

  void take(double v) {
    if (v == 0) return;
    const Decimal d(v);
    digits = std::max(digits, d.digits);
    last = std::min(last, d.exponent - d.digits + 1);
    as_float = as_float && static_cast<double>(static_cast<float>(v)) == v;
  }
  void take(const Shown& other) {
    digits = std::max(digits, other.digits);
    last = std::min(last, other.last);
    as_float = as_float && other.as_float;
  }
  /// Numbers of few digits are what somebody wrote, not what rounding left.
  [[nodiscard]] bool is_rounded() const { return digits >= 7; }
  /// How far v may be from what it stands for: numbers have so many digits, or so many places.
  [[nodiscard]] double unit(double v) const {
    if (v == 0) return 0;
    if (as_float) return std::abs(v) * std::numeric_limits<float>::epsilon() / 2;
    const double size = std::floor(std::log10(std::abs(v)));
    return 0.5 * std::pow(10.0, std::max(size - digits + 1, static_cast<double>(last)));
  }
  [[nodiscard]] bool is_exact(double v) const {
    return v == 0 || (as_float ? static_cast<double>(std::bit_cast<float>(
                                     std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffffe000U)) == v
                               : Decimal(v).digits <= digits / 2);
  }
};

enum RowClass : std::uint8_t { sums_up, noisy, as_written, vanishes };

struct Row {
  double sum = 0;
  RowClass is = sums_up;
};

Row row_of(const Stencil& v) {
  Row row;
  for (const double entry : v) row.sum += entry;
  const double size = std::abs(row.sum);
  row.is = size <= rounding * v[centre] ? vanishes : size <= nearly * v[centre] ? noisy : sums_up;
  return row;
}

/// Whether what the row sums to may be what was lost when its entries were written.
bool lost_in_writing(const Stencil& v, double sum, const Shown& shown) {
  if (!shown.is_rounded()) return false;
  double most = rounding * v[centre];
  bool exact = true;
  for (std::size_t e = 0; e < v.size(); ++e)
    if (e != centre) exact = exact && shown.is_exact(v[e]);
  if (!exact)
    for (const double entry : v) most += 1.001 * shown.unit(entry);
  return std::abs(sum) <= most;
}

/// What is added up over the rows of a part; doubles alone, to be gathered.
struct PartSums {
  double nodes = 0, first = std::numeric_limits<double>::max();
  double sums_up = 0, noisy = 0, vanish = 0;   // rows
  double sum = 0, magnitude = 0, largest = 0;  // of row sums, the latter of the diagonal
  double negative = 0;                         // of the magnitude
  double spread = 0;                           // of the sum, by what was lost in writing

  void take(const PartSums& other) {
    nodes += other.nodes;
    first = std::min(first, other.first);
    sums_up += other.sums_up;
    noisy += other.noisy;
    vanish += other.vanish;
    sum += other.sum;
    magnitude += other.magnitude;
    largest = std::max(largest, other.largest);
    negative += other.negative;
    spread += other.spread;
  }
  void take(const Row& row, const Stencil& v) {
    sums_up += row.is == RowClass::sums_up ? 1 : 0;
    noisy += row.is == RowClass::noisy ? 1 : 0;
    vanish += row.is == RowClass::vanishes ? 1 : 0;
    sum += row.sum;
    magnitude += std::abs(row.sum);
    negative += row.sum < 0 ? -row.sum : 0;
    largest = std::max(largest, std::abs(row.sum) / v[centre]);
  }
  /// Signs of both kinds, in more rows than chance would do; or so small that no equation has them where they are negative, or
  /// in few of the rows, as where couplings were taken out and what they left on the diagonal is rounding.
  [[nodiscard]] bool is_noise() const {
    constexpr double some = 32, share = 0.25, tiny = 1e-12;
    const bool is_negative = negative >= share * magnitude;
    return (largest <= tiny && (is_negative || 2 * vanish > nodes)) ||
           (nodes >= some && is_negative && negative <= (1 - share) * magnitude);
  }
  [[nodiscard]] bool is_singular() const {
    constexpr double deviations = 4;
    if (sums_up > 0) return false;
    if (largest <= rounding) return true;
    return (noisy == 0 && std::abs(sum) <= deviations * spread) || is_noise();
  }
};
static_assert(sizeof(PartSums) == 10 * sizeof(double));

/// Own nodes in a grid, of which some neighbours are those of other subdomains.
struct Nodes {
  const RowsOfGrid& rows;

  template <class Use>
  void for_each_free(const Use& use) const {
    for (int j = 0; j < rows.ny; ++j)
      for (int i = 0; i < rows.nx; ++i)
        if (!rows.is_fixed(i, j)) use(i, j, at(std::int64_t{j} * rows.nx + i));
  }
  /// The node at (i, j) of the whole grid, or -1.
  [[nodiscard]] std::int64_t node(int i, int j) const {
    if (rows.periodic_x) i = (i + rows.nx) % rows.nx;
    if (rows.periodic_y) j = (j + rows.all_ny) % rows.all_ny;
    return i < 0 || i >= rows.nx || j < 0 || j >= rows.all_ny ? -1 : std::int64_t{j} * rows.nx + i;
  }
};

/// A node before this one, x first, is coupled to it.
bool follows_another(const RowsOfGrid& rows, const Stencil& v, int i, int j) {
  const bool below = rows.first + j > 0 && (v[0] != 0 || v[1] != 0 || v[2] != 0);
  return below || (i > 0 && v[3] != 0) || (i == 0 && rows.first + j == 0);
}

/// For every node of the whole grid the connected part that it is in; -1 where it is fixed. `links`: bit b where entry b is
/// there, or less than zero.
std::vector<int> connected_nodes(const Nodes& nodes, const std::vector<double>& links) {
  std::vector<int> part(links.size(), -1);
  std::vector<std::int64_t> reached;
  const int nx = nodes.rows.nx;
  const auto neighbour = [&](std::int64_t k, int band) {
    const std::int64_t there =
        nodes.node(static_cast<int>(k % nx) + band % 3 - 1, static_cast<int>(k / nx) + band / 3 - 1);
    return there < 0 || links[at(there)] < 0 ? std::int64_t{-1} : there;
  };
  // Of a matrix that is not symmetric one of two may be coupled to the other alone.
  std::vector<unsigned> both(links.size(), 0);
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (links[k] < 0) continue;
    const auto mask = static_cast<unsigned>(links[k]);
    both[k] |= mask;
    for (int band = 0; band < 9; ++band)
      if ((mask >> band & 1U) != 0)
        if (const std::int64_t there = neighbour(static_cast<std::int64_t>(k), band); there >= 0)
          both[at(there)] |= 1U << (8 - band);
  }
  int count = 0;
  for (std::size_t first = 0; first < links.size(); ++first) {
    if (links[first] < 0 || part[first] >= 0) continue;
    part[first] = count;
    reached.assign(1, static_cast<std::int64_t>(first));
    while (!reached.empty()) {
      const std::int64_t k = reached.back();
      reached.pop_back();
      for (int band = 0; band < 9; ++band) {
        if ((both[at(k)] >> band & 1U) == 0) continue;
        const std::int64_t there = neighbour(k, band);
        if (there < 0 || part[at(there)] >= 0) continue;
        part[at(there)] = count;
        reached.push_back(there);
      }
    }
    ++count;
  }
  return part;
}

/// The standard deviation, or more, of what the rows of every part sum to where all errors of entries are independent but those
/// of equal numbers, which are equal.
void add_spread(const Nodes& nodes, const Shown& shown, const std::function<std::size_t(std::size_t)>& part_of,
                std::vector<PartSums>& parts) {
  std::vector<std::pair<std::size_t, double>> entries;
  nodes.for_each_free([&](int i, int j, std::size_t k) {
    for (const double v : nodes.rows.row(i, j))
      if (v != 0) entries.emplace_back(part_of(k), std::abs(v));
  });
  std::sort(entries.begin(), entries.end());
  std::vector<double> square(parts.size(), 0.0);
  for (std::size_t k = 0, end = 0; k < entries.size(); k = end) {
    while (end < entries.size() && entries[end] == entries[k]) ++end;
    const double error = static_cast<double>(end - k) * shown.unit(entries[k].second);
    square[entries[k].first] += error * error / 3;
  }
  for (std::size_t p = 0; p < parts.size(); ++p) parts[p].spread += std::sqrt(square[p]);
}

double lost_in_float(Communicator* comm, const Nodes& nodes) {
  const int nx = nodes.rows.nx;
  // Of lines along x conductances, of columns resistances: nx, after the squares of diagonals and the former.
  std::vector<double> own(at(nx) + 2, 0.0);
  std::vector<double> resistance(at(nodes.rows.ny), 0.0);
  nodes.for_each_free([&](int i, int j, std::size_t /*k*/) {
    const Stencil v = nodes.rows.row(i, j);
    own[0] += v[centre] * v[centre];
    if (nodes.rows.periodic_x || i + 1 < nx) resistance[at(j)] += 1 / std::abs(v[2] + v[5] + v[8]);
    if (nodes.rows.periodic_y || nodes.rows.first + j + 1 < nodes.rows.all_ny)
      own[at(i) + 2] += 1 / std::abs(v[6] + v[7] + v[8]);
  });
  for (const double r : resistance) own[1] += r > 0 ? 1 / r : 0;
  std::vector<double> all(own.size(), 0.0);
  const std::vector<double> joined = comm == nullptr ? own : comm->join_on_host(own);
  for (std::size_t k = 0; k < joined.size(); ++k) all[k % all.size()] += joined[k];
  double along_y = 0;
  for (std::size_t i = 2; i < all.size(); ++i) along_y += all[i] > 0 ? 1 / all[i] : 0;
  // Of a single line or column there is one direction.
  const double least = all[1] > 0 && along_y > 0 ? std::min(all[1], along_y) : std::max(all[1], along_y);
  return least > 0 ? std::numeric_limits<float>::epsilon() / 2 * std::sqrt(all[0]) / least : 0;
}

}  // namespace

SingularParts SingularParts::connected_only() const {
  SingularParts some;
  some.connected = connected;
  some.connected_part = connected_part;
  return some;
}

std::string SingularParts::note() const {
  if (largest == 0) return {};
  return message("rows of the matrix sum to up to ", largest, " of their diagonals, ",
                 digits > 0 ? message("as entries of ", digits, " digits may")
                            : std::string("of both signs, as noise does"),
                 ": it is taken for singular, and the diagonals lose these sums");
}

SingularParts singular_parts(Communicator* comm, const RowsOfGrid& rows) {
  const Nodes nodes{rows};
  const auto any_of_all = [comm](bool mine) {
    if (comm == nullptr) return mine;
    const auto all = comm->gather_on_host(mine ? 1 : 0);
    return std::find(all.begin(), all.end(), 1) != all.end();
  };
  // What most matrices need no more than.
  bool some_near = false, some_far = false, apart = false, some_noisy = false;
  std::int64_t free_nodes = 0;
  nodes.for_each_free([&](int i, int j, std::size_t /*k*/) {
    const Stencil v = rows.row(i, j);
    const Row row = row_of(v);
    some_near = some_near || row.is != sums_up;
    some_far = some_far || row.is == sums_up;
    some_noisy = some_noisy || row.is == noisy;
    apart = apart || !follows_another(rows, v, i, j);
    ++free_nodes;
  });
  const bool in_one = !any_of_all(apart || free_nodes < std::int64_t{rows.nx} * rows.ny);
  SingularParts found;
  const bool is_near = any_of_all(some_near);
  if (in_one && (!is_near || any_of_all(some_far))) return found;

  Shown shown;
  const bool looks_closer = any_of_all(some_noisy);
  if (looks_closer) {
    nodes.for_each_free([&](int i, int j, std::size_t /*k*/) {
      for (const double v : rows.row(i, j)) shown.take(v);
    });
    if (comm != nullptr)
      for (const Shown& of_subdomain : comm->gather_on_host(shown)) shown.take(of_subdomain);
  }
  const auto closer = [&](const Stencil& v) {
    Row row = row_of(v);
    if (row.is == noisy && lost_in_writing(v, row.sum, shown)) row.is = as_written;
    return row;
  };

  // Which part every node is in.
  std::vector<int> part;  // of the whole grid
  std::size_t count = 1;
  const std::int64_t first_node = std::int64_t{rows.first} * rows.nx;
  if (!in_one) {
    std::vector<double> links(at(std::int64_t{rows.nx} * rows.ny), -1.0);
    nodes.for_each_free([&](int i, int j, std::size_t k) {
      const Stencil v = rows.row(i, j);
      unsigned mask = 0;
      for (std::size_t b = 0; b < v.size(); ++b) mask |= b != centre && v[b] != 0 ? 1U << b : 0U;
      links[k] = mask;
    });
    if (comm != nullptr) links = comm->join_on_host(links);
    part = connected_nodes(nodes, links);
    const int last = part.empty() ? -1 : *std::max_element(part.begin(), part.end());
    count = static_cast<std::size_t>(last + 1);
  }
  const auto part_of = [&](std::size_t k) {
    return in_one ? std::size_t{0} : static_cast<std::size_t>(part[at(first_node) + k]);
  };
  std::vector<PartSums> sums(count);
  nodes.for_each_free([&](int i, int j, std::size_t k) {
    const Stencil v = rows.row(i, j);
    PartSums& mine = sums[part_of(k)];
    mine.take(closer(v), v);
    mine.nodes += 1;
    mine.first = std::min(mine.first, static_cast<double>(first_node) + static_cast<double>(k));
  });
  if (looks_closer && shown.is_rounded()) add_spread(nodes, shown, part_of, sums);
  if (comm != nullptr) {
    constexpr std::size_t numbers = sizeof(PartSums) / sizeof(double);
    const std::span<const double> mine(reinterpret_cast<const double*>(sums.data()), numbers * count);
    const std::vector<double> all = comm->join_on_host(mine);
    const auto* const of_subdomains = reinterpret_cast<const PartSums*>(all.data());
    std::vector<PartSums> added(count);
    for (std::size_t p = 0; p < all.size() / numbers; ++p) added[p % count].take(of_subdomains[p]);
    sums = std::move(added);
  }

  std::vector<int> number(count, SingularParts::regular);
  for (std::size_t p = 0; p < count; ++p) {
    if (!sums[p].is_singular()) {
      found.rest_is_fixed = false;
      continue;
    }
    number[p] = static_cast<int>(found.parts.size());
    found.parts.push_back({static_cast<std::int64_t>(sums[p].nodes), static_cast<std::int64_t>(sums[p].first)});
    if (sums[p].largest <= rounding) continue;
    found.largest = std::max(found.largest, sums[p].largest);
    if (sums[p].noisy == 0) found.digits = shown.digits;
  }
  found.is_whole = in_one && found.any();
  if (found.is_whole) found.lost_in_float = lost_in_float(comm, nodes);
  if (in_one) return found;
  if (count > 1) {
    found.connected = static_cast<int>(count);
    const auto own = part.begin() + static_cast<std::ptrdiff_t>(first_node);
    found.connected_part.assign(own, own + static_cast<std::ptrdiff_t>(rows.nx) * rows.ny);
    std::replace(found.connected_part.begin(), found.connected_part.end(), -1, SingularParts::fixed);
  }
  if (!found.any()) return found;
  found.of_node.assign(at(std::int64_t{rows.nx} * rows.ny), SingularParts::fixed);
  found.open.assign(found.of_node.size(), 0);
  for (int j = 0; j < rows.ny; ++j)
    for (int i = 0; i < rows.nx; ++i) {
      const std::size_t k = at(std::int64_t{j} * rows.nx + i);
      const int here = part[at(first_node) + k];
      if (here >= 0) found.of_node[k] = number[static_cast<std::size_t>(here)];
      unsigned bit = 1;
      for (const auto& [dx, dy] : {std::pair{1, 0}, {0, 1}, {-1, 0}, {0, -1}}) {
        const std::int64_t there = nodes.node(i + dx, rows.first + j + dy);
        if (there >= 0 && (here < 0 || here != part[at(there)])) found.open[k] |= static_cast<unsigned char>(bit);
        bit *= 2;
      }
    }
  return found;
}

namespace {

/// The band (dx, dy) of an operator in bands; null where it is kept as its mirror image.
Field<double>* band_of(GridOperator<double>& a, int dx, int dy) {
  const int band = band_index(dx, dy);
  if (auto* nine = std::get_if<NineBandMatrix<double>>(&a.storage()))
    return &nine->band[static_cast<std::size_t>(band)];
  auto& five = std::get<SymmetricNineBand<double>>(a.storage());
  return band < SymmetricNineBand<double>::first
             ? nullptr
             : &five.band[static_cast<std::size_t>(band - SymmetricNineBand<double>::first)];
}

std::vector<double> numbers_of(Context& ctx, const Field<double>& v) {
  std::vector<double> numbers(at(v.shape().nodes()));
  copy_to_host(ctx, v.cview(), numbers.data());
  return numbers;
}

void put(Context& ctx, const std::vector<double>& numbers, Field<double>& v) {
  copy_from_host(ctx, numbers.data(), v.view());
  exchange(ctx, v);
}

}  // namespace

void zero_row_sums(Context& ctx, const SingularParts& parts, GridOperator<double>& a) {
  Field<double> ones(ctx, a.shape()), sums(ctx, a.shape());
  set(ctx, 1.0, ones.view());
  exchange(ctx, ones);
  a.apply(ctx, ones.cview(), sums.view());
  const std::vector<double> sum = numbers_of(ctx, sums);
  Field<double>& of_diagonal = *band_of(a, 0, 0);
  std::vector<double> diagonal = numbers_of(ctx, of_diagonal);
  for (std::size_t k = 0; k < diagonal.size(); ++k)
    if (parts.of_node.empty() || parts.of_node[k] >= 0) diagonal[k] -= sum[k];
  put(ctx, diagonal, of_diagonal);
}

std::vector<double> scales_of_parts(Context& ctx, const SingularParts& parts, FieldView<const double> x, double error,
                                    double limit) {
  const std::vector<int>& part = parts.connected_part;
  std::vector<double> values(at(x.nodes()));
  copy_to_host(ctx, x, values.data());
  std::vector<double> size(static_cast<std::size_t>(parts.connected), 0.0);
  for (std::size_t k = 0; k < values.size(); ++k)
    if (part[k] >= 0) {
      double& of_part = size[static_cast<std::size_t>(part[k])];
      of_part = std::max(of_part, std::abs(values[k]));
    }
  if (ctx.subdomains() > 1) {
    const std::vector<double> all = ctx.communicator()->join_on_host(size);
    for (std::size_t k = 0; k < all.size(); ++k) size[k % size.size()] = std::max(size[k % size.size()], all[k]);
  }
  const double largest = *std::max_element(size.begin(), size.end());
  const bool good = std::all_of(size.begin(), size.end(), [&](double s) { return s == 0 || error <= limit * s; });
  if (good || !std::isfinite(largest)) return {};
  constexpr int far = 100;
  std::vector<double> scales(values.size(), 1.0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double own = part[k] < 0 ? 0 : size[static_cast<std::size_t>(part[k])];
    if (own > 0) scales[k] = std::ldexp(1.0, std::min(std::ilogb(largest) - std::ilogb(own), far));
  }
  return scales;
}

GridOperator<double> connected(Context& ctx, const SingularParts& parts, const GridOperator<double>& a) {
  constexpr double next_to_nothing = 1e-6;  // where less would be lost in rounding
  GridOperator<double> joined;
  if (a.format() == StorageFormat::nine_band)
    joined = NineBandMatrix<double>(ctx, a.shape());
  else
    joined = SymmetricNineBand<double>(ctx, a.shape());
  GridOperator<double> from = a;
  std::vector<double> diagonal = numbers_of(ctx, *band_of(from, 0, 0));
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < diagonal.size(); ++k)
    if (parts.of_node[k] != SingularParts::fixed) least = std::min(least, diagonal[k]);
  if (ctx.communicator() != nullptr)
    for (const double of_subdomain : ctx.communicator()->gather_on_host(least)) least = std::min(least, of_subdomain);
  const double link = next_to_nothing * least;
  for (std::size_t k = 0; k < diagonal.size(); ++k) {
    const double links = std::popcount(parts.open[k]) * link;
    // A fixed node that something couples to has more than that.
    diagonal[k] = parts.of_node[k] == SingularParts::fixed && diagonal[k] < link ? links : diagonal[k] + links;
  }
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      Field<double>* const to = band_of(joined, dx, dy);
      if (to == nullptr) continue;
      if (dx == 0 && dy == 0) {
        put(ctx, diagonal, *to);
        continue;
      }
      std::vector<double> numbers = numbers_of(ctx, *band_of(from, dx, dy));
      const unsigned bit = dx != 0 && dy != 0 ? 0 : dx > 0 ? 1 : dy > 0 ? 2 : dx < 0 ? 4 : 8;
      for (std::size_t k = 0; k < numbers.size(); ++k)
        if ((parts.open[k] & bit) != 0) numbers[k] -= link;
      put(ctx, numbers, *to);
    }
  return joined;
}

struct PartMeans::State {
  GridLayout<2> shape;
  std::vector<int> part;
  std::vector<double> nodes;
  std::vector<double> numbers;  // scratch
  Field<double> free;           // zero at fixed nodes
};

PartMeans::PartMeans(Context& ctx, const GridLayout<2>& shape, const SingularParts& parts)
    : state_(std::make_shared<State>()) {
  state_->shape = shape;
  state_->part = parts.of_node;
  for (const auto& part : parts.parts) state_->nodes.push_back(static_cast<double>(part.nodes));
  std::vector<double> free(state_->part.size());
  std::transform(state_->part.begin(), state_->part.end(), free.begin(),
                 [](int part) { return part == SingularParts::fixed ? 0.0 : 1.0; });
  state_->free = Field<double>(ctx, GridLayout<2>::flat(static_cast<int>(free.size())));
  if (!ctx.is_dry_run()) copy_from_host(ctx, free.data(), state_->free.view());
  if (state_->nodes.empty())
    state_->part.clear();
  else
    state_->numbers.resize(state_->part.size());
}

std::vector<PartMeans::Sum> PartMeans::sums(Context& ctx, FieldView<const double> b) const {
  if (state_->nodes.empty()) return {};
  expects_fit(ctx, "b", b, state_->shape);
  copy_to_host(ctx, b, state_->numbers.data());
  const std::size_t count = state_->nodes.size();
  std::vector<double> own(2 * count, 0.0);
  for (std::size_t k = 0; k < state_->part.size(); ++k)
    if (const int p = state_->part[k]; p >= 0) {
      own[2 * at(p)] += state_->numbers[k];
      own[2 * at(p) + 1] += std::abs(state_->numbers[k]);
    }
  if (ctx.subdomains() > 1) own = ctx.communicator()->join_on_host(own);
  std::vector<Sum> sums(count);
  for (std::size_t k = 0; k < own.size(); k += 2) {
    Sum& to = sums[k / 2 % count];
    to = {to.sum + own[k], to.sum_of_magnitudes + own[k + 1]};
  }
  return sums;
}

void PartMeans::project(Context& ctx, FieldView<double> x) const {
  if (ctx.is_dry_run()) return;
  if (state_->nodes.empty()) return times_rows(ctx, state_->free, x, x);
  const std::vector<Sum> all = sums(ctx, x);
  for (std::size_t k = 0; k < state_->part.size(); ++k) {
    const int p = state_->part[k];
    if (p >= 0)
      state_->numbers[k] -= all[at(p)].sum / state_->nodes[at(p)];
    else if (p == SingularParts::fixed)
      state_->numbers[k] = 0;
  }
  copy_from_host(ctx, state_->numbers.data(), x);
}

Extremes PartMeans::extremes_of_free(Context& ctx, FieldView<const double> x, FieldView<double> scratch) const {
  // With zeros at fixed nodes, of x - by at the others.
  const auto of_difference = [&](double by) {
    set(ctx, -by, scratch);
    axpy(ctx, 1.0, x, scratch);
    times_rows(ctx, state_->free, scratch, scratch);
    return extremes<double>(ctx, scratch);
  };
  Extremes found = of_difference(0);
  if (found.least == 0 && found.most > 0)
    found.least = found.most + of_difference(found.most).least;
  else if (found.most == 0 && found.least < 0)
    found.most = found.least + of_difference(found.least).most;
  return found;
}

PartsProjected::PartsProjected(Context& ctx, const GridLayout<2>& shape, PartMeans means,
                               std::shared_ptr<Preconditioner<double>> m)
    : means_(std::move(means)), m_(std::move(m)), r_(ctx, shape) {}

void PartsProjected::apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
  copy<double, double>(ctx, r, r_.view());
  means_.project(ctx, r_.view());
  m_->apply(ctx, r_.cview(), z);
  means_.project(ctx, z);
}

}  // namespace stratum
