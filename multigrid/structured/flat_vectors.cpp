#include <stratum/multigrid/structured/flat_vectors.hpp>

#include <algorithm>

#include <stratum/core/comm/faults.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/csr_matrix.hpp>

namespace stratum {

namespace {

/// The number of node (i, j) in an array on the host's terms: x first, or `map`, in which -1 is none.
struct NodeNumber {
  const int* map;
  int nx;
  STRATUM_HOST_DEVICE STRATUM_INLINE std::int64_t operator()(int i, int j) const {
    const std::int64_t node = std::int64_t{j} * nx + i;
    return map == nullptr ? node : map[node];
  }
};

/// grid(i, j) = flat(its unknown), 0 where there is none.
struct ToGrid {
  NodeNumber number;
  const double* flat;
  FieldView<double> grid;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    const std::int64_t k = number(i, j);
    return k < 0 ? 0.0 : flat[k];
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double v) const { grid(i, j) = v; }
};

struct FromGrid {
  NodeNumber number;
  FieldView<const double> grid;
  double* flat;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const std::int64_t k = number(i, j);
    if (k >= 0) flat[k] = grid(i, j);
  }
};

/// x_k = b_k / a_kk of identity rows.
struct SolveFixed {
  const int* unknown;
  const double* diagonal;
  const double* b;
  double* x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int r, int /*j*/) const {
    x[unknown[r]] = b[unknown[r]] / diagonal[r];
  }
};

/// 0, or no number where x is none in a fixed row.
struct FixedNotFinite {
  static constexpr bool takes_maximum = false;
  const int* unknown;
  const double* x;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int r, int /*j*/) const {
    return x[unknown[r]] * 0;
  }
};

/// b(node) -= sum of a_km x_m over fixed m.
struct Lift {
  CsrView<double> a;
  const int* node;
  const double* x;
  FieldView<double> b;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int r, int /*j*/) const {
    double sum = 0;
    for (int e = a.start[r]; e < a.start[r + 1]; ++e) sum += a.value[e] * x[a.column[e]];
    b(node[r] % b.nx, node[r] / b.nx) -= sum;
  }
};

NodeRange<2> first_numbers(int count) { return {0, count, 1, 0, 1, 1}; }

NodeNumber numbers_of(const Field<int>& number, const GridRows& rows) {
  return {number.empty() ? nullptr : number.cview().data, rows.left_nx};
}

}  // namespace

FlatVectors::FlatVectors(Context& ctx, const GridRows& rows) : rows_(rows) {
  if (!rows.unknown.empty()) number_ = vector_from_host(ctx, rows.unknown);
  if (!rows.fixed.empty()) fixed_ = vector_from_host(ctx, rows.fixed);
  const std::size_t flat = rows.moved ? rows.moved->subdomain_size() : static_cast<std::size_t>(rows.unknowns());
  if (ctx.on_gpu()) {
    flat_b_ = Field<double>(ctx, GridLayout<2>::flat(static_cast<int>(flat)));
    flat_x_ = Field<double>(ctx, GridLayout<2>::flat(static_cast<int>(flat)));
  }
  if (rows.moved && !rows.moved->in_place()) {
    subdomain_b_.resize(flat);
    subdomain_x_.resize(flat);
  }
  if (rows.moved) {
    const bool alike = rows.a.shape().nx == rows.unknowns() && rows.a.shape().ny == 1;
    const auto all = ctx.communicator()->gather_on_host(alike ? 1 : 0);
    shapes_are_alike_ = std::find(all.begin(), all.end(), 1) != all.end();
  }
  update(ctx);
}

bool FlatVectors::is_flat(const Context& ctx, FieldView<const double> v) const {
  const bool is_flat = v.nx == rows_.unknowns() && v.ny == 1;
  if (!shapes_are_alike_) return is_flat;
  const auto all = ctx.communicator()->gather_on_host(is_flat ? 1 : 0);
  return std::find(all.begin(), all.end(), 0) == all.end();
}

void FlatVectors::on_context(Context& ctx, std::span<const double> b, std::span<double> x, bool with_x,
                             const Use& use) {
  const auto n = static_cast<std::size_t>(rows_.unknowns());
  std::string fault;
  if (b.size() != n || x.size() != n)
    fault = message("the matrix has ", n, " rows; the arrays hold ", b.size(), " and ", x.size(), " numbers");
  if (rows_.moved)
    refuse_on_all(*ctx.communicator(),
                  fault.empty() ? fault : message("rank ", ctx.communicator()->rank(), ": ", fault));
  else
    expects(fault.empty(), fault);
  if (subdomain_b_.empty()) return on_device(ctx, b, x, with_x, use);
  Communicator& comm = *ctx.communicator();
  rows_.moved->to_subdomain(comm, b, subdomain_b_);
  if (with_x) rows_.moved->to_subdomain(comm, x, subdomain_x_);
  on_device(ctx, subdomain_b_, subdomain_x_, with_x, use);
  rows_.moved->to_own(comm, subdomain_x_, x);
}

void FlatVectors::on_device(Context& ctx, std::span<const double> b, std::span<double> x, bool with_x, const Use& use) {
  if (!ctx.on_gpu()) return use(b.data(), x.data());
  copy_from_host(ctx, b.data(), flat_b_.view());
  if (with_x) copy_from_host(ctx, x.data(), flat_x_.view());
  use(flat_b_.cview().data, flat_x_.view().data);
  copy_to_host(ctx, flat_x_.cview(), x.data());
}

void FlatVectors::update(Context& ctx) {
  if (rows_.fixed.empty()) return;
  diagonal_ = vector_from_host(ctx, rows_.fixed_diagonal);
  if (rows_.lifted_node.empty()) return;
  node_ = vector_from_host(ctx, rows_.lifted_node);
  start_ = vector_from_host(ctx, rows_.eliminated.start);
  column_ = vector_from_host(ctx, rows_.eliminated.column);
  value_ = vector_from_host(ctx, rows_.eliminated.value);
}

void FlatVectors::to_grid(Context& ctx, const double* flat, FieldView<double> grid) const {
  for_each_node(ctx, all_nodes(grid), ToGrid{numbers_of(number_, rows_), flat, grid});
}

void FlatVectors::from_grid(Context& ctx, FieldView<const double> grid, double* flat) const {
  for_each_node(ctx, all_nodes(grid), FromGrid{numbers_of(number_, rows_), grid, flat});
}

void FlatVectors::rhs_to_grid(Context& ctx, const double* b, double* x, FieldView<double> grid) const {
  to_grid(ctx, b, grid);
  if (rows_.fixed.empty()) return;
  for_each_node(ctx, first_numbers(static_cast<int>(rows_.fixed.size())),
                SolveFixed{fixed_.cview().data, diagonal_.cview().data, b, x});
  if (rows_.lifted_node.empty()) return;
  for_each_node(ctx, first_numbers(rows_.eliminated.rows),
                Lift{{start_.cview().data, column_.cview().data, value_.cview().data}, node_.cview().data, x, grid});
}

double FlatVectors::not_finite(Context& ctx, const double* x) const {
  if (rows_.fixed_in_all == 0) return 0;
  return reduce(ctx, static_cast<int>(rows_.fixed.size()), 1,
                FixedNotFinite{rows_.fixed.empty() ? nullptr : fixed_.cview().data, x});
}

}  // namespace stratum
