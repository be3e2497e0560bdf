#pragma once

// The preconditioners of the library and multigrid, which takes the mesh where the matrix comes from one; BoxCycle, multigrid of
// rows in a box.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>
#include <stratum/solvers/preconditioner.hpp>

namespace stratum::apps::krylov {

[[nodiscard]] PreconditionerRegistry preconditioners(const MultigridParams& multigrid = {},
                                                     const std::optional<TensorMesh<2>>& mesh = {});

/// One cycle on vectors in the numbering of the matrix, which go to the host and back. Waits for the stream.
template <class T>
class BoxCycle final : public Preconditioner<T> {
 public:
  /// `solver` of rows that are all symmetric or not, those that hold their diagonal alone, too.
  BoxCycle(std::shared_ptr<BoxMatrixSolver> solver, bool symmetric)
      : solver_(std::move(solver)), symmetric_(symmetric), on_host_(solver_->unknowns()), r_(on_host_.size()),
        z_(on_host_.size()) {}

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return symmetric_; }
  [[nodiscard]] bool estimates_error() const override { return true; }

 private:
  std::shared_ptr<BoxMatrixSolver> solver_;
  bool symmetric_;
  std::vector<T> on_host_;
  std::vector<double> r_, z_;
};

/// Print what there is, for --list-methods and --list-preconditioners.
void list_methods();
void list_preconditioners();

}  // namespace stratum::apps::krylov
