#include <stratum/multigrid/deflated_solver.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/multigrid/smoother_choice.hpp>

namespace stratum {

namespace {

constexpr double jump_for_vectors = 1e3, jump_for_two_parts = 1e4;
constexpr int most_vectors = 400;

double jump_of(const CellCoefficients& k) {
  const auto [least, most] = std::minmax_element(k.xx.begin(), k.xx.end());
  return *most / *least;
}

bool is_even(const TensorMesh<2>& mesh) {
  constexpr double most = 1.5;
  return largest_jump(mesh.x()) < most && largest_jump(mesh.y()) < most;
}

/// Some side is Dirichlet's.
bool holds_values(const TensorMesh<2>& mesh) {
  const auto holds = [](const Axis& line) {
    return line.first_boundary() == BoundaryType::dirichlet || line.last_boundary() == BoundaryType::dirichlet;
  };
  return holds(mesh.x()) || holds(mesh.y());
}

}  // namespace

DeflationVectors ritz_vectors(Context& ctx, const GridOperator<double>& a, Preconditioner<double>* m,
                              const std::vector<double>& diagonal, int count) {
  constexpr int iterations = 26;
  DeflatedCg solver(ctx, a.shape(), {.keep = std::max(iterations, 2 * count), .diagonal = diagonal});
  // Of all subdomains, in the order of their nodes.
  std::vector<std::int64_t> nodes{a.shape().nodes()};
  std::size_t own = 0;
  if (ctx.subdomains() > 1) {
    own = static_cast<std::size_t>(ctx.communicator()->rank());
    nodes = ctx.communicator()->gather_on_host(nodes.front());
  }
  std::vector<double> white;
  white.reserve(static_cast<std::size_t>(nodes[own]));
  std::mt19937 random(777);
  double mean = 0, all = 0;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    for (std::int64_t k = 0; k < nodes[r]; ++k) {
      const double value = 2 * static_cast<double>(random()) / 4294967296.0 - 1;
      mean += value;
      if (r == own) white.push_back(value);
    }
    all += static_cast<double>(nodes[r]);
  }
  mean /= all;
  for (double& value : white) value -= diagonal.empty() ? 0 : mean;
  Field<double> b(ctx, a.shape()), x(ctx, a.shape());
  copy_from_host(ctx, white.data(), b.view());
  StoppingParams stop;
  stop.rtol = 1e-10;
  stop.max_iterations = std::max(iterations, 2 * count);
  (void)solver.solve(ctx, a, m, b.cview(), x.view(), stop);
  return solver.ritz(ctx, count);
}

namespace {

/// Uses every row's number, its sum and what couples it, the sum of |a_km| over m != k.
template <class Use>
void for_each_row(const SparseRows& a, const Use& use) {
  const int beside = (a.columns - a.rows) / 2;  // columns of a subdomain begin with those of the row below
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.rows); ++k) {
    double sum = 0, coupled = 0;
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e) {
      sum += a.value[e];
      if (a.column[e] != static_cast<int>(k) + beside) coupled += std::abs(a.value[e]);
    }
    use(k, sum, coupled);
  }
}

/// A node's diagonal holds ten times what couples it, as a penalty does: the constant is no slow mode.
bool holds_nodes(Context& ctx, const SparseRows& a) {
  constexpr double strongly = 10;
  bool held = false;
  for_each_row(a, [&](std::size_t /*k*/, double sum, double coupled) {
    held = held || (coupled > 0 && sum > strongly * coupled);
  });
  if (ctx.subdomains() == 1) return held;
  const auto all = ctx.communicator()->gather_on_host(held ? 1 : 0);
  return std::find(all.begin(), all.end(), 1) != all.end();
}

/// Of every connected part in which no row sums to a tenth of what couples it, as beside a boundary: the nodes that are not in
/// it.
std::vector<std::vector<char>> beside_loose_parts(const SparseRows& a) {
  constexpr double noticeably = 0.1;
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<char> is_held(n, 0), is_alone(n, 0);
  for_each_row(a, [&](std::size_t k, double sum, double coupled) {
    is_held[k] = sum > noticeably * coupled ? 1 : 0;
    is_alone[k] = coupled == 0 ? 1 : 0;
  });
  std::vector<char> seen = is_alone;
  std::vector<std::vector<char>> others;
  std::vector<std::size_t> members;
  for (std::size_t first = 0; first < n; ++first) {
    if (seen[first] != 0) continue;
    members.assign(1, first);
    seen[first] = 1;
    bool held = false;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::size_t k = members[m];
      held = held || is_held[k] != 0;
      for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e) {
        const auto other = static_cast<std::size_t>(a.column[e]);
        if (a.value[e] == 0 || seen[other] != 0) continue;
        seen[other] = 1;
        members.push_back(other);
      }
    }
    if (held || static_cast<int>(others.size()) == most_vectors) continue;
    others.emplace_back(n, 1);
    for (const std::size_t k : members) others.back()[k] = 0;
  }
  return others;
}

/// What K is known by: cells, or the matrix.
struct Known {
  double jump;
  bool even;  // the mesh is
  std::function<Inclusions()> inclusions;
  std::function<SparseRows()> rows;
  bool reaction;
};

DeflatedSolver make(Context& ctx, const Hierarchy<double>& hierarchy, const Known& k, Preconditioner<double>& m,
                    const DeflateParams& params) {
  const TensorMesh<2>& mesh = hierarchy.meshes().back();
  const GridOperator<double>& a = hierarchy.finest();
  if (params.by == DeflateBy::none) return {};
  const bool automatic = params.by == DeflateBy::automatic, singular = hierarchy.is_singular();
  Inclusions found;
  std::string why_none;
  if (automatic && k.jump < jump_for_vectors)
    why_none = message("none: K jumps by ", k.jump);
  else if (automatic && !k.even)
    why_none = "none: the mesh is graded";
  else if (automatic || params.by == DeflateBy::inclusions)
    found = k.inclusions();
  const int count = found.floating();
  if (automatic && count > most_vectors) why_none = message("none: ", count, " inclusions");
  if (why_none.empty() && count == 0) why_none = "none: no inclusion of high K is isolated";
  const bool by_inclusions = automatic || params.by == DeflateBy::inclusions;
  std::vector<std::vector<char>> constants;  // nodes that each leaves out
  if (by_inclusions && !singular && params.in_parts && ctx.subdomains() == 1)
    constants = beside_loose_parts(k.rows());
  else if (by_inclusions && !singular && !holds_values(mesh) && !holds_nodes(ctx, k.rows()))
    constants.emplace_back();
  const bool with_constant = !constants.empty();
  if (by_inclusions && (automatic ? !why_none.empty() : count == 0)) {
    if (!with_constant) return {nullptr, why_none};
    found = {std::vector<int>(static_cast<std::size_t>(mesh.unknowns().nodes()), -1), {}};
  }
  const SparseRows rows = k.rows();
  DeflatedCgParams cg;
  if (singular) {
    Field<double> d(ctx, a.shape());
    diagonal(ctx, a, d.view());
    cg.diagonal.resize(static_cast<std::size_t>(rows.rows));
    copy_to_host(ctx, d.cview(), cg.diagonal.data());
  }
  DeflationVectors vectors;
  std::string description;
  if (by_inclusions) {
    vectors = inclusion_vectors(ctx, hierarchy, found);
    if (vectors.count() > 0)
      description = message(vectors.count(), vectors.count() == 1 ? " inclusion" : " inclusions");
    if (with_constant) {
      for (const auto& others : constants) add_constant(vectors, others);
      if (!description.empty()) description += " and ";
      description += constants.size() == 1 ? "the constant" : message("the constants of ", constants.size(), " parts");
    }
  } else if (params.by == DeflateBy::blocks) {
    vectors = vectors_of_domains(square_blocks(mesh.unknowns(), params.count, a.shape()), params.count * params.count);
    description = message(params.count, " x ", params.count, " blocks");
  } else {
    expects(params.count >= 1, "Ritz vectors: 1 or more, not ", params.count);
    vectors = ritz_vectors(ctx, a, &m, cg.diagonal, params.count);
    description = message(vectors.count(), " Ritz vectors");
  }
  // What a reaction adds to a row is below the rounding of its entries, not of the operator.
  std::vector<double> sums;
  if (k.reaction) {
    Field<double> ones(ctx, a.shape()), image(ctx, a.shape());
    set(ctx, 1, ones.view());
    a.apply(ctx, ones.cview(), image.view());
    sums.resize(static_cast<std::size_t>(rows.rows));
    copy_to_host(ctx, image.cview(), sums.data());
  }
  const Deflation deflation(ctx, rows, a.shape(), vectors, sums);
  cg.two_parts = (k.jump >= jump_for_two_parts || with_constant) && deflation.has_cores();
  if (cg.two_parts) description += ", x in two parts";
  return {std::make_unique<DeflatedCg>(ctx, deflation, cg), "by " + description};
}

}  // namespace

DeflatedSolver make_deflated_solver(Context& ctx, const Hierarchy<double>& hierarchy, const CellCoefficients& k,
                                    const OperatorTerms& terms, Preconditioner<double>& m,
                                    const DeflateParams& params) {
  const TensorMesh<2>& mesh = hierarchy.meshes().back();
  const auto rows = [&] {
    if (ctx.subdomains() > 1) return subdomain_rows(ctx, hierarchy.finest());
    Context host(Backend::cpu, ctx.threads());
    return sparse_rows(host, ctx.on_gpu() ? assemble_diffusion(host, mesh, k, terms) : hierarchy.finest());
  };
  return make(
      ctx, hierarchy,
      {jump_of(k), is_even(mesh), [&] { return inclusions(mesh, k); }, rows, terms.reaction > 0 || !k.c.empty()}, m,
      params);
}

DeflatedSolver make_deflated_solver(Context& ctx, const Hierarchy<double>& hierarchy, const Couplings& found,
                                    Preconditioner<double>& m, const DeflateParams& params) {
  const bool distributed = ctx.subdomains() > 1;
  std::optional<SparseRows> read;
  const auto rows = [&]() -> const SparseRows& {
    if (!read) read = distributed ? subdomain_rows(ctx, hierarchy.finest()) : sparse_rows(ctx, hierarchy.finest());
    return *read;
  };
  const auto of_matrix = [&] {
    return distributed ? inclusions(*ctx.communicator(), rows(), hierarchy.finest().shape(),
                                    hierarchy.meshes().back().unknowns())
                       : inclusions(rows());
  };
  return make(ctx, hierarchy, {found.jump, true, of_matrix, rows, false}, m, params);
}

}  // namespace stratum
