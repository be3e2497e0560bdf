#pragma once

// Rows before they are read (grid_rows.hpp): a matrix whose diagonal is negative throughout is read as its negative, and one
// that looks like one triangle of a symmetric matrix,
//
//     entries on one side of the diagonal alone,  2 sum |a_km| <= sum a_kk  over k != m ,
//
// is asked about, or gets its other triangle. (Upwind differences have one triangle, too, and sum |a_km| = sum a_kk.) All
// subdomains decide alike. Arrays that are no matrix are left to those who read them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/operators/both_triangles.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>

namespace stratum::detail {

struct RowSigns {
  std::int64_t rows = 0, negative = 0;
  bool below = false, above = false;  // entries
  double diagonal = 0, beside = 0;    // sums of magnitudes

  void add(bool on_diagonal, bool is_below, double value) {
    if (value == 0) return;
    if (on_diagonal) {
      negative += value < 0 ? 1 : 0;
      diagonal += std::abs(value);
      return;
    }
    (is_below ? below : above) = true;
    beside += std::abs(value);
  }
  /// Nothing that follows would change what is decided.
  [[nodiscard]] bool are_ordinary() const { return below && above && negative < rows; }
  [[nodiscard]] bool are_negative() const { return rows > 0 && negative == rows; }
  /// Of a symmetric matrix.
  [[nodiscard]] bool are_one_triangle() const { return below != above && 2 * beside <= diagonal * (1 + 1e-6); }

  [[nodiscard]] RowSigns of_all(const Context& ctx) const {
    if (ctx.communicator() == nullptr) return *this;
    RowSigns all;
    for (const RowSigns& part : ctx.communicator()->gather_on_host(*this)) {
      all.rows += part.rows;
      all.negative += part.negative;
      all.below = all.below || part.below;
      all.above = all.above || part.above;
      all.diagonal += part.diagonal;
      all.beside += part.beside;
    }
    return all;
  }
};

/// `node`: of own rows, where these go by nodes as columns do; else rows go by their number among all.
template <class Index>
[[nodiscard]] RowSigns signs_of(const Context& ctx, const RowArrays<Index>& a, std::span<const int> node) {
  const std::int64_t own = a.start.empty() ? 0 : static_cast<std::int64_t>(a.start.size()) - 1;
  std::int64_t first = 0;
  const bool by_node = ctx.communicator() != nullptr && !node.empty();
  if (ctx.communicator() != nullptr) {
    const auto all = ctx.communicator()->gather_on_host(own);
    for (int rank = 0; rank < ctx.communicator()->rank(); ++rank) first += all[static_cast<std::size_t>(rank)];
  }
  RowSigns signs;
  const auto entries = static_cast<std::int64_t>(std::min(a.column.size(), a.value.size()));
  for (std::int64_t k = 0; k < own && !signs.are_ordinary(); ++k) {
    const auto row = static_cast<std::size_t>(k);
    const std::int64_t begin = a.start[row], end = a.start[row + 1];
    if (begin < 0 || end < begin || end > entries || (by_node && row >= node.size())) break;
    const std::int64_t name = by_node ? node[row] : first + k;
    ++signs.rows;
    for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
      const auto column = static_cast<std::int64_t>(a.column[e]);
      signs.add(column == name, column < name, a.value[e]);
    }
  }
  RowSigns all = signs.of_all(ctx);
  if (by_node) all.below = all.above = true;  // numbers of nodes say nothing of triangles
  return all;
}

[[nodiscard]] inline RowSigns signs_of(const BandArrays& a, std::int64_t nodes) {
  RowSigns signs;
  if (nodes < 1 || a.bands.size() != static_cast<std::size_t>(9 * nodes)) {
    // The five from the centre on.
    if (nodes < 1 || a.bands.size() != static_cast<std::size_t>(5 * nodes)) return signs;
    signs.below = signs.above = true;
    for (std::size_t k = 0; k < static_cast<std::size_t>(nodes) && !signs.are_ordinary(); ++k) {
      ++signs.rows;
      signs.add(true, false, a.bands[k]);
    }
    return signs;
  }
  signs.rows = nodes;
  for (std::size_t band = 0; band < 9; ++band)
    for (const double value : a.bands.subspan(band * static_cast<std::size_t>(nodes), static_cast<std::size_t>(nodes)))
      signs.add(band == 4, band < 4, value);
  return signs;
}

[[nodiscard]] inline std::vector<double> negated(std::span<const double> values) {
  std::vector<double> minus(values.begin(), values.end());
  for (double& value : minus) value = -value;
  return minus;
}

/// Throws UsageError where it has to be asked for.
inline void expects_both_triangles(const RowSigns& signs, Triangle triangle, const char* advice) {
  expects(triangle != Triangle::ask || !signs.are_one_triangle(), "the matrix has entries in its ",
          signs.below ? "lower" : "upper", " triangle alone, and looks like half of a symmetric one. ", advice,
          " `triangle` = general (one of ask, symmetric, general) takes it for all there is");
}

/// Whether the diagonal is negative throughout; throws UsageError where an update changes that.
inline void find_sign(const RowSigns& signs, bool is_update, bool& negative) {
  const bool found = signs.are_negative();
  expects(!is_update || found == negative, "the diagonal ",
          negative ? "was negative throughout, and is not any more" : "was positive, and is negative throughout now",
          ": make another solver");
  negative = found;
}

/// use(rows as they are to be read). `negative` says so of them, and has to stay so where `is_update`.
template <class Index, class Use>
void with_rows_to_read(const Context& ctx, const RowArrays<Index>& a, std::span<const int> node, Triangle triangle,
                       bool is_update, bool& negative, const Use& use) {
  const RowSigns signs = signs_of(ctx, a, node);
  const char* const fill =
      ctx.communicator() == nullptr
          ? "Give both triangles, or set the parameter: `triangle` = symmetric fills in the other one;"
          : "Give both triangles: on subdomains none is filled in;";
  expects_both_triangles(signs, triangle, fill);
  find_sign(signs, is_update, negative);
  const std::vector<double> minus = negative ? negated(a.value) : std::vector<double>();
  const RowArrays<Index> rows{a.start, a.column, negative ? std::span<const double>(minus) : a.value};
  if (triangle == Triangle::symmetric && signs.below != signs.above) {
    expects(ctx.communicator() == nullptr, fill, " `triangle` is ask or general there");
    validate(rows, static_cast<int>(rows.start.size()) - 1);
    const SparseRows filled = with_both_triangles(rows.start, rows.column, rows.value);
    use(RowArrays<std::int32_t>{filled.start, filled.column, filled.value});
  } else {
    use(rows);
  }
}

template <class Use>
void with_bands_to_read(const BandArrays& a, std::int64_t nodes, Triangle triangle, bool is_update, bool& negative,
                        const Use& use) {
  const RowSigns signs = signs_of(a, nodes);
  constexpr const char* advice = "Give the five bands from the centre on;";
  if (a.bands.size() == static_cast<std::size_t>(9 * nodes)) {
    expects_both_triangles(signs, triangle, advice);
    expects(triangle != Triangle::symmetric || signs.below == signs.above,
            "one triangle of nine bands is not filled in. ", advice, " `triangle` is ask or general there");
  }
  find_sign(signs, is_update, negative);
  if (!negative) return use(a);
  const std::vector<double> minus = negated(a.bands);
  use(BandArrays{minus});
}

}  // namespace stratum::detail
