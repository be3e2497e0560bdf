#pragma once

// Smoother: sweeps of a stationary iteration for A x = b,
//
//     x <- x + S (b - A x) ,
//
// where S depends on the smoother. A smoother is made for one grid shape. Its constructor allocates all scratch memory;
// `smooth` allocates nothing and does not synchronise. Halos of b and x are read, never written. If the caller says that the
// ghosts of x are current, they are not exchanged before the first sweep.
//
// Guess::zero means that x is taken as zero whatever it holds. SweepOrder::backward runs the colours or lines in the opposite
// order: forward and backward sweeps are adjoint in the energy product. A cycle that smooths forward before and backward after
// the coarse correction is therefore symmetric.
//
// A constructor also runs in a memory dry run (Context::memory_dry_run), by which PoissonSolver finds out what would not fit in
// memory.
//
// To add a smoother, add one file smoothers/NAME.cpp that defines `void register_NAME(SmootherRegistry&)`; the build collects
// the calls. Users may register their own at run time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/registry.hpp>
#include <stratum/solvers/lines/orders.hpp>

namespace stratum {

enum class Guess : std::uint8_t { zero, given };

struct SmootherParams {
  LineOrder line_order = LineOrder::zebra;
  std::optional<double> damping;  // omega in (0, 2); the smoother's own default when absent
  /// How operators are going to be stored. What a smoother keeps in memory may suit this storage format; others work all the
  /// same.
  StorageFormat format = StorageFormat::nine_band;
  /// On the CPU, for the same bits into however many subdomains a grid is partitioned, one among them: chunks of its columns
  /// that are always the same, by the global numbers of their first rows and of the row behind the last (PartitionLevels of
  /// mesh/partition.hpp), read at construction. Empty: results differ by rounding.
  std::span<const int> chunks{};
};

template <class T>
class Smoother {
 public:
  Smoother() = default;
  virtual ~Smoother() = default;
  Smoother(const Smoother&) = delete;
  Smoother& operator=(const Smoother&) = delete;
  Smoother(Smoother&&) = delete;
  Smoother& operator=(Smoother&&) = delete;

  /// What a smoother keeps of the numbers in A; subdomains of a grid call together. `smooth` begins with it for an operator
  /// other than the one before; only where the same one has been given other numbers in place it is yours to call, and before a
  /// sweep is captured in a CUDA graph, which is then for this operator alone. Allocates nothing on the device. Throws
  /// UsageError for an operator of another shape where it keeps anything.
  virtual void set_up(Context& /*ctx*/, const GridOperator<T>& /*a*/) {}

  /// Runs `sweeps` sweeps, which must be a multiple of sweeps_per_application(). b and x must not overlap.
  virtual void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps,
                      Guess guess, SweepOrder order, Ghosts ghosts_of_x = Ghosts::stale) = 0;

  /// How far `sweeps` sweeps carry what is wrong in one row: over so many rows, and along y lines where these are solved for,
  /// fading as the lines' solutions do. Nothing: not known, and levels are not smoothed by overlap (multigrid/overlap.hpp).
  struct Reach {
    int rows;
    bool along_y_lines;
  };
  [[nodiscard]] virtual std::optional<Reach> reach(int /*sweeps*/) const { return std::nullopt; }

  /// Rows of a given guess that one step or more of this order read: it does not matter what x holds in the others.
  [[nodiscard]] virtual SomeRows rows_read(SweepOrder /*order*/) const { return SomeRows::all; }

  /// On subdomains of a grid: one step or more of this order leave the halo of x up to date.
  [[nodiscard]] virtual bool fills_halo(SweepOrder /*order*/) const { return false; }

  /// Sweeps that one application counts as (ADI: two).
  [[nodiscard]] virtual int sweeps_per_application() const { return 1; }
  /// Words per unknown that one sweep with a given guess moves, when coefficients take `coefficient_words`.
  [[nodiscard]] virtual double words_per_step(int coefficient_words) const = 0;

 protected:
  /// For a smoother made for grids of this shape.
  explicit Smoother(const GridLayout<2>& shape) : shape_(shape) {}

  /// What `smooth` begins with, and holds until it ends. Throws UsageError for an operator and vectors of another shape,
  /// and a smoother that is smoothing already.
  [[nodiscard]] ReentrancyGuard::Entered begin(const Context& ctx, const GridOperator<T>& a, FieldView<const T> b,
                                               FieldView<T> x) {
    expects_shape(a);
    expects_fit(ctx, "b", b, shape_);
    expects_fit(ctx, "x", x, shape_);
    return guard_.enter("smoother");
  }
  /// What `set_up` begins with where it keeps anything.
  void expects_shape(const GridOperator<T>& a) const {
    const GridLayout<2> given = a.shape();
    expects(given.nx == shape_.nx && given.ny == shape_.ny, "this smoother was made for ", shape_.nx, " x ", shape_.ny,
            " nodes, not for an operator on ", given.nx, " x ", given.ny);
  }

  /// Of the grids that this smoother was made for.
  [[nodiscard]] const GridLayout<2>& layout() const { return shape_; }

 private:
  GridLayout<2> shape_;
  ReentrancyGuard guard_;
};

template <>
struct Registered<Smoother> {
  static constexpr std::string_view what = "smoother";
  using Params = SmootherParams;
  struct Traits {};
};

using SmootherRegistry = Registry<Smoother>;

/// The smoothers of this library; a fresh registry that the caller may add to.
[[nodiscard]] SmootherRegistry builtin_smoothers();

/// The damping asked for, or `fallback`; throws UsageError outside (0, 2).
[[nodiscard]] double damping_or(const SmootherParams& params, double fallback);

}  // namespace stratum
