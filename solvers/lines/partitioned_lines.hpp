#pragma once

// Line relaxation along y on a grid that is partitioned into subdomains of rows, where every y line is cut, by exact partition:
// in the three steps of solvers/lines/algebra/reduced_system.hpp, colour by colour,
//
//     1. eliminate     the subdomain's part of every line of the colour, from b and x: 2 numbers a line
//     2. interface     these numbers of all subdomains are gathered, and every subdomain solves for the unknowns beside all cuts
//     3. substitute    the subdomain's part of every line, as a line between known ends
//
// One gather a colour is all that subdomains say to each other. What is solved equals the same sweep on one subdomain but for
// rounding, and both halo rows of y are known afterwards: they come out of the interface, the same bits as in the subdomains
// beside. Subdomains have one row or more. Elimination and substitution form the right-hand sides twice. Words per unknown and
// colour, the coefficients besides: eliminate 2, substitute 3, and on a GPU about 1 for the chunks of segments; a sweep on one
// subdomain moves 3 in all.
//
// The matrix's part of the interface is gathered and factored once, by `set_up`: 7 numbers a line and subdomain. A sweep with
// another operator than the one before begins with it; an operator that has been given other numbers in place is not seen to be
// another one.
//
// A subdomain is one chunk of its lines, or several: on the CPU chunks may be given that are the same however many subdomains
// share them, even if there is one. Then results have the same bits whatever the number of subdomains.
//
// All chunks call together. Halos of x must be up to date. Nothing is allocated after construction.

#include <span>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/lines/algebra/reduced_system.hpp>
#include <stratum/solvers/lines/orders.hpp>
#include <stratum/solvers/lines/zebra_schedule.hpp>

namespace stratum::line {

template <class T>
struct FactorInterface;

template <class T>
class PartitionedLines {
 public:
  PartitionedLines() = default;
  /// For grids of this shape, which has other subdomains below or above. `chunks`: the global numbers of their first rows and
  /// of the row behind the last, where they are given. Throws UsageError for a subdomain whose Context has no communicator, and
  /// for given chunks on a GPU or that do not begin and end with the subdomain.
  PartitionedLines(Context& ctx, const GridLayout<2>& shape, std::span<const int> chunks = {});

  [[nodiscard]] bool empty() const { return sides_.empty(); }
  /// The grid of all subdomains is periodic in y and has an odd number of rows: the last one is a third colour of x lines.
  [[nodiscard]] bool has_third_row() const { return third_row_; }
  /// This subdomain has the last row.
  [[nodiscard]] bool is_last() const { return last_; }

  /// For the numbers that `a` has now; `zeros` as for `sweep`.
  void set_up(Context& ctx, const GridOperator<T>& a, const T* zeros);
  /// One sweep along y; `zeros` as line::visit takes them. Zebra is in place: x and y are the same. CPU: a row of `memory` a
  /// thread, as LineScratch has it.
  void sweep(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b, FieldView<const T> x,
             FieldView<T> y, T omega, LineOrder line_order, SweepOrder order, FieldView<T> memory);

 private:
  void solve_on_cpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b, FieldView<const T> x,
                    FieldView<T> y, T omega, const LineBatch& lines, FieldView<T> memory);
  void solve_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b, FieldView<const T> x,
                    FieldView<T> y, T omega, const LineBatch& lines);
  void set_up_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<T> shape);
  [[nodiscard]] int own_chunks() const { return static_cast<int>(rows_.size()) - 1; }
  /// Of own chunk k.
  [[nodiscard]] Interface<T> interface_of(const LineBatch& lines, int k);
  /// For every line, once those of all subdomains are there.
  [[nodiscard]] FactorInterface<T> gathered_factors(Context& ctx);
  /// `numbers` of all chunks, `each` of a chunk, of which this subdomain's are there.
  void gather(Context& ctx, T* numbers, int each) const;

  GridLayout<2> grid_{0, 0};
  bool third_row_ = false, last_ = true;
  int me_ = 0, count_ = 1;   // the first own chunk, of all
  std::vector<int> rows_;    // where own chunks begin, and the subdomain's end
  std::vector<int> begins_;  // the first chunk of every subdomain, and their number
  GridOperator<T> a_;        // the factors are this one's
  Field<T> sides_;           // of all chunks 2 numbers a line
  Field<T> factors_;         // of all chunks 7 numbers a line
  Field<T> ends_;            // of own chunks 6 numbers a line
  Field<T> own_;             // GPU: 7 numbers a line
  Field<T> segments_;        // GPU: 7 numbers a line and segment, on all levels
};

}  // namespace stratum::line
