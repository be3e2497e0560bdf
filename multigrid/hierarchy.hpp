#pragma once

// Hierarchy: the levels of a multigrid method, with level 0 the coarsest: operators A_l, and the transfer P_l between levels l
// and l - 1. Cycles, full multigrid and solvers use it without knowing where its operators come from:
//
//     assembled   the operator of every level is assembled on its mesh: the finest in the requested storage format, the
//                 others as tensor operators, unless alpha varies along a Robin boundary
//     galerkin    the finest operator is given, the others are products A_(l-1) = P_l^T A_l P_l (multigrid/galerkin.hpp),
//                 formed in double; `update` forms them again for other coefficients. The interpolation follows the widths, the
//                 conductances of cells, split sums, or the matrix (multigrid/transfer/operator_dependent.hpp)
//
// Products in float are rounded from those in double. A Hierarchy is a handle: copies are the same levels.
//
// On a partitioned grid (mesh/partition.hpp) the operators of distributed levels have the rows of the subdomain; the others are
// replicated on every rank. transfer(replicated + 1) goes between a subdomain and its rows of the finest replicated level.

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/names.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>

namespace stratum {

/// The meshes of a hierarchy, coarsest first, `fine` last.
[[nodiscard]] std::vector<TensorMesh<2>> mesh_hierarchy(const TensorMesh<2>& fine);

/// The mesh of a grid of unknowns whose widths are not known: all are one.
[[nodiscard]] TensorMesh<2> uniform_mesh(const GridLayout<2>& unknowns);

/// What is known of a matrix beside its entries.
struct MatrixTraits {
  bool symmetric = false;
  bool singular = false;  // symmetric, A 1 = 0, and right-hand sides have no mean
  /// Rows without couplings are of nodes whose values are known: they weigh nothing on coarse levels
  /// (multigrid/identity_rows.hpp). For matrices in bands.
  bool identity_rows = false;
};

/// What the interpolation of products follows.
class Interpolation {
 public:
  /// The widths: bilinear; no number per unknown is stored.
  Interpolation() = default;
  /// K by the conductances of the finest mesh's cells, which need not outlive the call. 1.5 words a fine node.
  [[nodiscard]] static Interpolation by_conductances(const Conductances& k) { return {&k, false}; }
  /// K by split sums, which need it as well: two more products at set-up, fewer cycles where it jumps. Not for `update`. 1.5
  /// words.
  [[nodiscard]] static Interpolation split(const Conductances& k, const CellCoefficients& cells) {
    return {&k, false, &cells};
  }
  /// A five-point matrix between Neumann or Robin boundaries by split sums of its links; k are its conductances. Not for
  /// `update`, nor on subdomains. 1.5 words.
  [[nodiscard]] static Interpolation split_links(const Conductances& k) { return {&k, false, nullptr, true}; }
  /// The matrix, where no K is known. 1.5 words a fine node.
  [[nodiscard]] static Interpolation of_matrix() { return {nullptr, true}; }

  [[nodiscard]] bool by_widths() const { return k_ == nullptr && !of_matrix_; }
  [[nodiscard]] const Conductances* conductances() const { return k_; }
  /// Of split sums, else null.
  [[nodiscard]] const CellCoefficients* split_cells() const { return cells_; }
  [[nodiscard]] bool by_split_links() const { return links_; }

 private:
  Interpolation(const Conductances* k, bool matrix, const CellCoefficients* cells = nullptr, bool links = false)
      : k_(k), of_matrix_(matrix), links_(links), cells_(cells) {}
  const Conductances* k_ = nullptr;
  bool of_matrix_ = false, links_ = false;
  const CellCoefficients* cells_ = nullptr;
};

/// The same by name.
enum class InterpolationKind : std::uint8_t { conductance, split, bilinear, matrix };

template <>
inline constexpr auto names_of<InterpolationKind> =
    std::to_array<Named<InterpolationKind>>({{InterpolationKind::conductance, "conductance"},
                                             {InterpolationKind::split, "split"},
                                             {InterpolationKind::bilinear, "bilinear"},
                                             {InterpolationKind::matrix, "matrix"}});

template <class T>
class Hierarchy final : public Handle {
 public:
  /// Meshes coarsest first. Throws UsageError as assemble_operator and PartitionLevels do; `cut` are the latter's.
  [[nodiscard]] static Hierarchy assembled(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format,
                                           const OperatorTerms& terms = {}, const PartitionParams& partition = {});
  /// From a matrix, which is shared, whose unknowns are those of the mesh, or the subdomain of them. Throws UsageError for
  /// coefficients that check_coefficients refuses, and for a mesh of other unknowns or cells.
  [[nodiscard]] static Hierarchy galerkin(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                                          const MatrixTraits& traits = {}, const Interpolation& interpolation = {},
                                          const PartitionParams& partition = {}) requires std::is_same_v<T, double>;
  /// The levels of another in this precision; in double the same.
  Hierarchy(Context& ctx, const Hierarchy<double>& other);

  [[nodiscard]] int levels() const { return static_cast<int>(state_->meshes.size()); }
  [[nodiscard]] const std::vector<TensorMesh<2>>& meshes() const { return state_->meshes; }
  [[nodiscard]] const PartitionLevels& partition() const { return state_->partition; }
  /// Throw UsageError for a level that there is not; transfers belong to levels 1 and up.
  [[nodiscard]] const GridOperator<T>& level_operator(int level) const;
  [[nodiscard]] const Transfer<T>& transfer(int level) const;
  [[nodiscard]] const GridOperator<T>& finest() const { return state_->a.back(); }
  /// For exact solvers: in float, the matrix of a stretched mesh need not be regular. Of an assembled hierarchy level 0, and
  /// levels that are whole and were asked for by `keep_in_double`, which assembles them.
  [[nodiscard]] const GridOperator<double>& level_in_double(int level) const;
  void keep_in_double(Context& ctx, int level);
  [[nodiscard]] bool is_singular() const { return state_->traits.singular; }
  /// Coarse operators are products, not assembled.
  [[nodiscard]] bool is_galerkin() const { return !state_->assembly; }

  /// Another c of OperatorTerms for one that was assembled of tensor operators with c > 0, again above 0. Allocates nothing on
  /// the device. The others in this precision or another that were made from the same meshes keep theirs.
  void set_reaction(Context& ctx, double c);
  /// c of the levels that were assembled.
  [[nodiscard]] double reaction() const { return state_->assembly ? state_->assembly->second.reaction : 0; }

  /// Other coefficients for a hierarchy made from a matrix: of the same storage format and shape, in the same memory or in
  /// other, which is then the one shared. Allocates nothing; waits for the stream. Errors as for `galerkin`; the hierarchy is
  /// then good for nothing but another update. True where the finest coefficients lie where they lay before. `k`: other
  /// conductances, where the interpolation follows some; without, it stays as it was.
  bool update(Context& ctx, const GridOperator<double>& a, const Conductances* k = nullptr);

 private:
  template <class>
  friend class Hierarchy;
  struct State {
    std::vector<TensorMesh<2>> meshes;
    PartitionLevels partition;
    MatrixTraits traits;
    std::optional<std::pair<StorageFormat, OperatorTerms>> assembly;  // none: from a matrix
    bool by_split_sums = false;
    std::vector<GridOperator<T>> a;
    std::vector<Transfer<T>> transfer;             // the first is empty
    std::shared_ptr<Hierarchy<double>> in_double;  // of products in float
    std::vector<GridOperator<double>> kept;        // of assembled levels, in double; of no unknowns where there is none
    std::vector<Conductances>
        k;  // of products in double by weights of cells: below the finest level where K is known, else of all
    GridOperator<double> own;  // products on subdomains: the subdomain's rows of the finest level that all have whole
    /// With the transfers of these meshes, by widths or by weights of their cells.
    State(Context& ctx, std::vector<TensorMesh<2>> meshes, const PartitionLevels& partition, bool weighted = false);
  };
  [[nodiscard]] bool is_weighted() const;
  void round_weights(Context& ctx);
  static void form_products(Context& ctx, const Conductances* k, std::optional<SplitParts> parts, State& state);
  explicit Hierarchy(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace stratum
