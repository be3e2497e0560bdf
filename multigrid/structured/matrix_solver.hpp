#pragma once

// MatrixSolver: solves with somebody's matrix on a grid of nx x ny nodes. Operator, cycle and Krylov method in one object:
//
//     MatrixSolver solver = MatrixSolver::from_csr(ctx, start, column, value, nx, ny);
//     SolveReport report = solver(ctx, b, x);                                   arrays in the numbering of the matrix
//
// The numbering of the unknowns, symmetry, singularity and boundary types are detected (multigrid/structured/grid_rows.hpp).
// Rows that contain only their diagonal are solved first, and their couplings go to the right-hand side. Coarse levels are
// Galerkin products whose interpolation follows the matrix. The cycle is in float, vectors and residuals are in double. If
// `solver.method` is left open, it is
//
//     symmetric      conjugate gradients around the cycle that smoother "auto" chooses (multigrid/poisson_solver.hpp). If a few
//                    isolated parts are coupled a thousand times as strongly as their surroundings, a deflation vector for
//                    each is used (multigrid/inclusions.hpp)
//     nonsymmetric   flexible GMRES with smoother adi. If rows need scales, D A, as finite differences on cells whose sizes
//                    jump (multigrid/structured/scaled_rows.hpp), the cycle is that of D A; smoother "auto" is kept if D A is
//                    symmetric. If A also has disconnected parts, or d spans more than 1e12, D A x = D b is solved as a
//                    symmetric system, until b - A x meets the tolerance
//
// If the norm of b contains only a few rows (Dirichlet rows, penalties), a solve continues until the estimated error of x is
// small (StoppingParams::error_tol).
//
// A matrix whose diagonal is negative throughout is solved as -A x = -b, and SolveReport::choice says so; rows().a and cycles
// of solver() are those of -A, `apply` is of A. Of a symmetric matrix both triangles have to be there, or `triangle` says what
// is.
//
// Singular matrices: right-hand sides must have mean zero (|sum b| <= 1e-8 sum |b|, which is subtracted) unless `project` is
// set; solutions have mean zero. For scaled rows this holds for D b, and a constant is subtracted from b.
//
// On a Context with a communicator every rank gives its own rows, in order or with their nodes
// (multigrid/structured/grid_rows.hpp), and its part of b and x, in any distribution; nx and ny are those of the whole grid. If
// the rows of a rank are not the subdomain of lines that the hierarchy needs (mesh/partition.hpp), b and x are moved there and
// back through the host. Every rank gives its own entries in the same way; bands are given by lines, with the ny of the
// subdomain.
//
// Rows stay on the ranks that gave them. On GPUs no solve is moved to one of them, as the programs do for small problems.
// Several GPUs pay from about 1e6 unknowns in all (five bands on one, two and four H200, milliseconds of a solve: 2047^2 7.4,
// 5.5 and 4.4; 1023^2 3.13 on one and 2.97 on four). Below that SolveReport::choice says so.
//
// As a Preconditioner it is one cycle with x = 0 at the start, symmetric if A is, for grid vectors or for flat ones in the
// numbering of the matrix. It is a handle: copies are the same solver, which one thread at a time may use. `solve` and `apply`
// allocate nothing on the device. Arrays of the host are copied to a GPU, and the call waits for them.

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/multigrid/structured/dense_vectors.hpp>
#include <stratum/multigrid/structured/grid_rows.hpp>

namespace stratum {

struct MatrixSolverParams {
  /// Smoother "auto", interpolation as that finds best or of the matrix, deflation "auto", mixed precision, unless said
  /// otherwise; `form`, `terms`, `coefficients` and full multigrid are for meshes.
  PoissonSolverParams solver = by_default();
  std::optional<bool> symmetric{}, singular{};  // none: detected. A claim that A does not bear out is refused
  Triangle triangle = Triangle::ask;            // of a matrix that has one alone (multigrid/structured/grid_rows.hpp)
  bool project = false;                         // right-hand sides of a singular A lose their mean, however large
  /// One a cell of the grid, all alike where none are given: nx - 1 between nodes, and one more beyond each side whose
  /// (Dirichlet) nodes are not among the unknowns; nx around a periodic direction.
  std::vector<double> widths_x{}, widths_y{};
  /// Node j nx + i of every unknown, or of every own row where the Context has a communicator; empty: detected.
  std::vector<int> numbering{};

  /// As many as there are widths.
  [[nodiscard]] CellCounts cells() const {
    return {static_cast<int>(widths_x.size()), static_cast<int>(widths_y.size())};
  }
  [[nodiscard]] OnSubdomains on_subdomains() const { return {false, solver.multigrid.distributed_levels, triangle}; }
  [[nodiscard]] static PoissonSolverParams by_default() {
    PoissonSolverParams params;
    params.multigrid.smoother = "auto";
    params.krylov.restart = 30;
    params.deflate.by = DeflateBy::automatic;
    return params;
  }
};

namespace detail {

/// Integers that a matrix may be indexed by, and what they are read as.
template <class I>
concept IndexNumber = std::integral<I> &&(sizeof(I) == 4 || sizeof(I) == 8);
template <IndexNumber I>
using IndexRead = std::conditional_t<sizeof(I) == 4, std::int32_t, std::int64_t>;

template <class To, std::integral From>
[[nodiscard]] To narrowed(From k) {
  expects(std::in_range<To>(k), "index ", k, " does not fit ", 8 * sizeof(To), " bits");
  return static_cast<To>(k);
}

/// Index arrays of any types as two of one.
template <class Start, class Column>
class IndexArrays {
  using From = std::ranges::range_value_t<Start>;
  using Of = std::ranges::range_value_t<Column>;

 public:
  using Index = IndexRead<Of>;
  IndexArrays(const Start& start, const Column& column) {
    start_ = read(start, start_copy_);
    column_ = read(column, column_copy_);
  }
  [[nodiscard]] RowArrays<Index> with(std::span<const double> value) const { return {start_, column_, value}; }

 private:
  template <class Range>
  static std::span<const Index> read(const Range& range, std::vector<Index>& copy) {
    using I = std::ranges::range_value_t<Range>;
    // Signed or not: numbers that fit are read alike.
    if constexpr (std::same_as<std::make_signed_t<I>, Index>) {
      return {reinterpret_cast<const Index*>(std::ranges::data(range)), std::ranges::size(range)};
    } else {
      copy.reserve(std::ranges::size(range));
      for (const I k : range) copy.push_back(narrowed<Index>(k));
      return copy;
    }
  }
  std::vector<Index> start_copy_, column_copy_;
  std::span<const Index> start_, column_;
};

template <class Range>
concept IndexRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    IndexNumber<std::ranges::range_value_t<Range>>;
template <class Range>
concept NumberRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                      std::same_as < std::ranges::range_value_t<Range>,
double > ;

}  // namespace detail

/// As Eigen's sparse matrices are, compressed.
template <class M>
concept CompressedMatrix = requires(const M& m) {
  { *m.outerIndexPtr() } -> std::convertible_to<std::int64_t>;
  { *m.innerIndexPtr() } -> std::convertible_to<std::int64_t>;
  { *m.valuePtr() } -> std::convertible_to<double>;
  { m.outerSize() } -> std::convertible_to<std::int64_t>;
  {bool(m.IsRowMajor)};
};

/// As std::mdspan is, of three extents: bands (9, or 5 from the centre on), rows j, columns i.
template <class M>
concept BandView = requires(const M& m, int k) {
  { m.extent(0) } -> std::convertible_to<std::int64_t>;
  requires requires {
    { m(k, k, k) } -> std::convertible_to<double>;
  } || requires {
    { m[std::array<int, 3>{k, k, k}] } -> std::convertible_to<double>;
  };
};

class MatrixSolver final : public Preconditioner<double>, public Handle {
 public:
  /// Unknowns in all below which one GPU solves faster than several.
  static constexpr std::int64_t least_for_several_gpus = 1'000'000;
  /// What reports say of so many unknowns on so many GPUs; nothing where they are enough.
  [[nodiscard]] static std::string note_on_gpus(std::int64_t unknowns, int gpus);

  /// Throws UsageError as GridRows does, for a claim that does not hold, for widths of another number, and as PoissonSolver
  /// does.
  MatrixSolver(Context& ctx, GridRows rows, const MatrixSolverParams& params = {},
               const SmootherRegistry& registry = builtin_smoothers());
  MatrixSolver(Context& ctx, const SparseRows& a, int nx, int ny, const MatrixSolverParams& params = {});
  /// Of the entries, which are not shared. On subdomains of those of the subdomain, whose halos are up to date.
  MatrixSolver(Context& ctx, const GridOperator<double>& a, const MatrixSolverParams& params = {});

  /// Row k has the entries start[k] .. start[k + 1] - 1. Contiguous arrays of 32- or 64-bit integers, and of doubles.
  template <detail::IndexRange Start, detail::IndexRange Column, detail::NumberRange Value>
  [[nodiscard]] static MatrixSolver from_csr(Context& ctx, const Start& start, const Column& column, const Value& value,
                                             int nx, int ny, const MatrixSolverParams& params = {}) {
    const detail::IndexArrays<Start, Column> index(start, column);
    return {ctx, GridRows(ctx, index.with(value), nx, ny, params.numbering, params.cells(), params.on_subdomains()),
            params};
  }
  /// The same by pointers, in one subdomain.
  template <detail::IndexNumber Start, detail::IndexNumber Column>
  [[nodiscard]] static MatrixSolver from_csr(Context& ctx, const Start* start, const Column* column,
                                             const double* value, int nx, int ny,
                                             const MatrixSolverParams& params = {}) {
    expects_grid(nx, ny);
    expects_one_subdomain(ctx);
    const auto [starts, columns, values] = spans(start, column, value, nx * ny);
    return from_csr(ctx, starts, columns, values, nx, ny, params);
  }
  /// Entries in any order, those of one place are added. On subdomains rows are numbers of the whole matrix, as columns are, or
  /// nodes where those of own rows are given, and every row has all its entries on one subdomain.
  template <detail::IndexRange Row, detail::IndexRange Column, detail::NumberRange Value>
  [[nodiscard]] static MatrixSolver from_coo(Context& ctx, const Row& row, const Column& column, const Value& value,
                                             int nx, int ny, const MatrixSolverParams& params = {}) {
    return {ctx, rows_of(ctx, row, column, value, nx, ny, params.numbering), nx, ny, params};
  }
  template <CompressedMatrix Matrix>
  [[nodiscard]] static MatrixSolver from_matrix(Context& ctx, const Matrix& a, int nx, int ny,
                                                const MatrixSolverParams& params = {}) {
    return of_compressed(a, [&](const auto&... arrays) { return from_csr(ctx, arrays..., nx, ny, params); });
  }
  /// Nine arrays of nx ny numbers one behind the other, band 3 (dy + 1) + dx + 1 of what couples to (i + dx, j + dy), or the
  /// five from the centre on of a symmetric matrix. On subdomains each gives its own lines, nx x ny nodes, which follow those
  /// of the subdomains before.
  [[nodiscard]] static MatrixSolver from_bands(Context& ctx, std::span<const double> bands, int nx, int ny,
                                               const MatrixSolverParams& params = {}) {
    return {ctx, GridRows(ctx, BandArrays{bands}, nx, ny, params.cells(), params.on_subdomains()), params};
  }
  template <BandView Bands>
  [[nodiscard]] static MatrixSolver from_bands(Context& ctx, const Bands& bands,
                                               const MatrixSolverParams& params = {}) {
    const int ny = static_cast<int>(bands.extent(1)), nx = static_cast<int>(bands.extent(2));
    return from_bands(ctx, std::span<const double>(numbers_of(bands)), nx, ny, params);
  }

  /// Other values at the same places, given as those that it was made from: nothing is allocated on the device, unless smoother
  /// "auto" chooses another now or rows are scaled. Throws UsageError where what was detected does not hold any more; then
  /// there is no matrix until an update fits, and solves and cycles throw, too.
  template <detail::IndexRange Start, detail::IndexRange Column, detail::NumberRange Value>
  void update_csr(Context& ctx, const Start& start, const Column& column, const Value& value) {
    const detail::IndexArrays<Start, Column> index(start, column);
    update_rows(ctx, [&](GridRows& rows) { rows.update(ctx, index.with(value)); });
  }
  template <detail::IndexNumber Start, detail::IndexNumber Column>
  void update_csr(Context& ctx, const Start* start, const Column* column, const double* value) {
    const auto [starts, columns, values] = spans(start, column, value, rows().unknowns());
    update_csr(ctx, starts, columns, values);
  }
  template <detail::IndexRange Row, detail::IndexRange Column, detail::NumberRange Value>
  void update_coo(Context& ctx, const Row& row, const Column& column, const Value& value) {
    const SparseRows a = rows_of(ctx, row, column, value, rows().nx, rows().ny, rows().node);
    update_csr(ctx, a.start, a.column, a.value);
  }
  template <CompressedMatrix Matrix>
  void update(Context& ctx, const Matrix& a) {
    of_compressed(a, [&](const auto&... arrays) { update_csr(ctx, arrays...); });
  }
  void update_bands(Context& ctx, std::span<const double> bands) {
    update_rows(ctx, [&](GridRows& rows) { rows.update(ctx, BandArrays{bands}); });
  }
  template <BandView Bands>
  void update_bands(Context& ctx, const Bands& bands) {
    update_bands(ctx, std::span<const double>(numbers_of(bands)));
  }

  /// Solves A x = b from the given x: arrays on the host, in the numbering of the matrix.
  SolveReport solve(Context& ctx, std::span<const double> b, std::span<double> x, const Monitor& monitor = {});
  /// The same of vectors: on the grid of `rows().a`, where b and x belong to nodes that are no identity rows, or flat ones in
  /// the numbering of the matrix. Their shape tells: of a grid of one row without identity rows they are in the numbering of
  /// the matrix.
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor = {});
  SolveReport operator()(Context& ctx, std::span<const double> b, std::span<double> x) { return solve(ctx, b, x); }
  /// The same of vectors of Eigen and similar libraries.
  template <class B, class X>
  requires detail::DenseVectors<B, X> SolveReport solve(Context& ctx, const B& b, X&& x, const Monitor& monitor = {}) {
    return solve(ctx, detail::numbers_of_vector(b), detail::numbers_of_vector(x), monitor);
  }
  template <class B, class X>
  requires detail::DenseVectors<B, X> SolveReport operator()(Context& ctx, const B& b, X&& x) {
    return solve(ctx, b, x);
  }

  /// z = one cycle for A z = r from zero.
  void apply(Context& ctx, std::span<const double> r, std::span<double> z);
  template <class R, class Z>
  requires detail::DenseVectors<R, Z>
  void apply(Context& ctx, const R& r, Z&& z) {
    apply(ctx, detail::numbers_of_vector(r), detail::numbers_of_vector(z));
  }
  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override;
  [[nodiscard]] bool is_constant() const override;
  [[nodiscard]] bool is_symmetric() const override;
  [[nodiscard]] bool estimates_error() const override { return true; }

  /// How the solves that follow stop.
  void set_stop(const StoppingParams& stop);

  /// What was detected, and the operator.
  [[nodiscard]] const GridRows& rows() const;
  [[nodiscard]] const StructuredSolver& solver() const;

 private:
  class State;

  static void expects_one_subdomain(const Context& ctx) {
    expects(ctx.subdomains() == 1,
            "on several subdomains give arrays with a size (spans, vectors), which say how many rows a subdomain has");
  }
  template <class Start, class Column>
  static auto spans(const Start* start, const Column* column, const double* value, int rows) {
    expects(start != nullptr && column != nullptr && value != nullptr, "an array is null");
    const auto n = static_cast<std::size_t>(rows), entries = static_cast<std::size_t>(start[n]);
    return std::tuple(std::span(start, n + 1), std::span(column, entries), std::span(value, entries));
  }
  template <class Row, class Column, class Value>
  static SparseRows rows_of(Context& ctx, const Row& row, const Column& column, const Value& value, int nx, int ny,
                            std::span<const int> node) {
    const auto entries = [&] {
      const std::size_t count = std::ranges::size(value);
      expects(std::ranges::size(row) == count && std::ranges::size(column) == count, "there are ",
              std::ranges::size(row), " rows and ", std::ranges::size(column), " columns for ", count, " values");
      std::vector<SparseEntry> read(count);
      for (std::size_t k = 0; k < count; ++k)
        read[k] = {detail::narrowed<int>(std::ranges::data(row)[k]),
                   detail::narrowed<int>(std::ranges::data(column)[k]), std::ranges::data(value)[k]};
      return read;
    };
    if (ctx.communicator() == nullptr) {
      expects_grid(nx, ny);
      return sparse_rows(nx * ny, nx * ny, entries());
    }
    std::vector<SparseEntry> own;
    std::string fault;
    try {
      own = entries();
    } catch (const UsageError& error) {
      fault = error.what();
    }
    return own_rows(*ctx.communicator(), std::move(own), std::move(fault), node, nx, ny);
  }
  template <class Matrix, class Use>
  static auto of_compressed(const Matrix& a, const Use& use) {
    if constexpr (requires { bool(a.isCompressed()); })
      expects(bool(a.isCompressed()), "the matrix holds room for more entries between its rows: call makeCompressed()");
    const auto n = static_cast<std::size_t>(a.outerSize());
    const auto entries = static_cast<std::size_t>(a.outerIndexPtr()[n]);
    const std::span start(a.outerIndexPtr(), n + 1), column(a.innerIndexPtr(), entries);
    const std::span<const double> value(a.valuePtr(), entries);
    if constexpr (bool(Matrix::IsRowMajor)) {
      return use(start, column, value);
    } else {  // rows are columns
      SparseRows t;
      t.rows = t.columns = detail::narrowed<int>(n);
      t.start.clear();
      for (const auto k : start) t.start.push_back(detail::narrowed<int>(k));
      for (const auto k : column) t.column.push_back(detail::narrowed<int>(k));
      t.value.assign(value.begin(), value.end());
      t.validate();
      const SparseRows rows = transposed(t);
      return use(rows.start, rows.column, rows.value);
    }
  }
  template <class Bands>
  static std::vector<double> numbers_of(const Bands& bands) {
    std::vector<double> numbers;
    const int count = static_cast<int>(bands.extent(0)), ny = static_cast<int>(bands.extent(1)),
              nx = static_cast<int>(bands.extent(2));
    numbers.reserve(static_cast<std::size_t>(count) * static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny));
    for (int k = 0; k < count; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          if constexpr (requires { bands(k, j, i); })
            numbers.push_back(bands(k, j, i));
          else
            numbers.push_back(bands[std::array<int, 3>{k, j, i}]);
        }
    return numbers;
  }
  void update_rows(Context& ctx, const std::function<void(GridRows&)>& read);

  std::shared_ptr<State> state_;
};

/// MatrixSolver of an operator, as others call it.
[[nodiscard]] inline MatrixSolver make_solver(Context& ctx, const GridOperator<double>& a,
                                              const MatrixSolverParams& params = {}) {
  return {ctx, a, params};
}

}  // namespace stratum
