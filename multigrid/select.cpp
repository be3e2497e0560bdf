#include <stratum/multigrid/select.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

#include <stratum/solvers/mixed/double_single.hpp>

namespace stratum {

namespace {

using Source = SolverFacts::Source;

// Where V(2,2), F(2,2) and CG cross in time to 1e-8. F-cycles visit the small levels often, which on a GPU costs launches.
constexpr double jump_for_f = 16, jump_for_cg = 200;
constexpr std::int64_t unknowns_for_f = 50'000;
constexpr double most_even = 10;  // of K: beyond, it jumps

bool leaves_cycle_open(const PoissonSolverParams& params) {
  return params.multigrid.smoother == "auto" && !params.multigrid.cycle && !params.full_multigrid;
}
bool leaves_method_open(const PoissonSolverParams& params) { return !params.method && params.inner.rtol == 0; }

/// Of a user's matrix; the reason for another precision.
std::string select_for_matrix(const MatrixFacts& matrix, PoissonSolverParams& params) {
  expects(!params.full_multigrid, "full multigrid is for meshes");
  auto& cycle = params.multigrid;
  cycle.symmetric = matrix.symmetric;
  cycle.singular = matrix.singular;
  const bool left_to_auto = matrix.symmetric && cycle.smoother == "auto" && !cycle.cycle;
  params.deflate.in_parts = matrix.has_parts;
  if (!params.interpolation && !left_to_auto) params.interpolation = InterpolationKind::matrix;
  if (!matrix.symmetric || matrix.cycle_is_scaled) {
    params.method = params.method.value_or(Method::gmres);
    if (params.deflate.by == DeflateBy::automatic) params.deflate = {};
  }
  if (!matrix.symmetric) {
    // What "auto" goes by, couplings along x and y, is not what matters where there is transport.
    if (cycle.smoother == "auto") cycle.smoother = MultigridParams{}.smoother;
    // Conjugate gradients would need what is not there.
    if (cycle.coarse == "automatic") cycle.coarse = "direct";
  } else if (leaves_method_open(params) && !left_to_auto) {
    params.method = cycle.cycle == Cycle::k ? Method::fcg : Method::cg;
  }
  if (matrix.has_identity_rows) {
    params.interpolation = params.interpolation.value_or(InterpolationKind::matrix);
    params.deflate = {};
  }
  if (matrix.has_singular_parts) {
    expects(params.precision == Precision::mixed || params.precision == Precision::full,
            "a matrix with singular parts beside other nodes takes mixed or double precision");
    expects(params.deflate.by == DeflateBy::none || params.deflate.by == DeflateBy::automatic,
            "a matrix with singular parts beside other nodes is not deflated");
    params.precision = Precision::full;
    params.deflate = {};
    params.interpolation = params.interpolation.value_or(InterpolationKind::matrix);
  }
  if (params.precision != Precision::mixed || !matrix.symmetric || matrix.cycle_is_scaled) return {};
  constexpr double too_much = 0.03;
  std::string reason;
  if (matrix.lost_in_float > too_much)
    reason = matrix.singular ? message("cycles in double: in float the rows of this singular matrix would sum to ",
                                       matrix.lost_in_float, " of what it conducts")
                             : message("cycles in double: in float the diagonals of thin cells would lose ",
                                       matrix.lost_in_float, " of what holds u there");
  else if (matrix.holds_nodes_alone)
    reason = "cycles in double: a node is held by more than float has digits for beside its neighbours";
  if (!reason.empty()) params.precision = Precision::full;
  return reason;
}

/// For a K that is rotated against the mesh. The recursion of a K-cycle may not have isolated islands of high K.
void take_more_of_coarse_levels(PoissonSolverParams& params, bool jumps) {
  const bool method_open = leaves_method_open(params);
  const bool k = !jumps && (method_open || !entry_of(params).constant_symmetric);
  params.multigrid.cycle = k ? Cycle::k : Cycle::w2;
  if (method_open) params.method = k ? Method::fcg : Method::cg;
}

/// By what the finest matrix couples; no reason where that leaves the decision to others.
std::string select_by_couplings(const SolverFacts& facts, PoissonSolverParams& params) {
  if (!facts.couplings) {
    take_more_of_coarse_levels(params, false);
    return {};
  }
  const Couplings& found = *facts.couplings;
  const char* const k = facts.source == Source::deformed_mesh ? "K in logical coordinates" : "K";
  const bool jumps = found.jump > most_even, method_open = leaves_method_open(params);
  std::ostringstream seen;
  seen.precision(2);
  if (found.is_rotated()) {
    take_more_of_coarse_levels(params, jumps);
    const bool k_cycle = params.multigrid.cycle == Cycle::k;
    if (method_open) seen << (k_cycle ? "flexible " : "") << "conjugate gradients around ";
    seen << (k_cycle ? "K" : "W2") << "-cycles: " << k << " is rotated against the mesh, det K down to "
         << found.least_aligned << " kxx kyy";
    if (jumps) seen << ", and jumps by up to " << found.jump;
    return seen.str();
  }
  if (!method_open || (!jumps && facts.source == Source::deformed_mesh && params.coefficients == nullptr)) return {};
  params.method = Method::cg;
  params.multigrid.cycle = Cycle::v;
  if (!jumps && params.coefficients == nullptr) return "conjugate gradients: the matrix is symmetric";
  seen << "conjugate gradients: " << k << " ";
  if (jumps)
    seen << "jumps by up to " << found.jump;
  else
    seen << "varies";
  return seen.str();
}

/// What is still open then, by the mesh; no reason where nothing was.
std::string select_by_widths(const SolverFacts& facts, PoissonSolverParams& params) {
  auto& cycle = params.multigrid.cycle;
  if (params.precision == Precision::double_single)
    params.method = params.method.value_or(cycle == Cycle::k ? Method::fcg : Method::cg);
  const bool method_open = leaves_method_open(params), cycle_open = !cycle;
  const bool choose = params.multigrid.smoother == "auto" && cycle_open && !params.full_multigrid &&
                      (method_open || params.method == Method::multigrid);
  const bool varies = params.coefficients != nullptr;
  cycle = cycle.value_or(Cycle::v);
  const Method krylov = cycle == Cycle::k ? Method::fcg : Method::cg;
  params.method = params.method.value_or(varies && method_open && !params.full_multigrid ? krylov : Method::multigrid);
  if (varies && method_open && !params.full_multigrid)
    return message(cycle == Cycle::k ? "flexible " : "", "conjugate gradients: K varies");
  if (!choose) return {};
  const TensorMesh<2>& mesh = facts.meshes.back();
  const double jump_x = largest_jump(mesh.x()), jump_y = largest_jump(mesh.y()), jump = std::min(jump_x, jump_y);
  std::ostringstream seen;
  seen.precision(2);
  seen << "neighbouring widths differ by factors of up to " << jump_x << " in x and " << jump_y << " in y";
  if (jump < jump_for_f) return "V-cycles: " + seen.str();
  if ((jump < jump_for_cg || !method_open) && !facts.on_gpu && mesh.unknowns().nodes() >= unknowns_for_f) {
    cycle = Cycle::f;
    return "F-cycles: " + seen.str();
  }
  if (!method_open) return {};
  params.method = Method::cg;
  return "conjugate gradients: " + seen.str();
}

void expects_to_go_together(const SolverFacts& facts, const PoissonSolverParams& params) {
  const SolverEntry& entry = entry_of(params);
  const std::string_view method = to_string(*params.method);
  const bool in_double = params.precision == Precision::mixed || params.precision == Precision::full;
  expects(params.precision != Precision::single || !params.full_multigrid,
          "full multigrid keeps its iterate in double; precision single does not apply to it");
  const bool of_symmetric = params.coefficients || (facts.is_given() && params.multigrid.symmetric);
  expects(params.deflate.by == DeflateBy::none || (params.method == Method::cg && in_double && of_symmetric),
          "deflation is for conjugate gradients where K varies or of symmetric matrices, in mixed or double precision");
  expects(params.precision != Precision::residual_replacement || params.method == Method::cg,
          "conjugate gradients in float are the method cg, not ", method);
  const bool in_double_single = params.precision == Precision::double_single;
  expects(!in_double_single || !params.full_multigrid,
          "full multigrid keeps its iterate in double; double-single precision does not apply to it");
  expects(!in_double_single || entry.symmetric,
          "double-single solutions are corrected by conjugate gradients in float: the method is cg, fcg or cr, not ",
          method);
  if (in_double_single && facts.source != Source::cells) DoubleSingleRefinement::expects_storage_format(params.format);
  const MatrixFacts matrix = facts.matrix.value_or(MatrixFacts());
  expects(!matrix.cycle_is_scaled || (in_double && !params.full_multigrid && !entry.symmetric),
          "scales of rows are for mixed or double precision and methods that take a nonsymmetric preconditioner, not ",
          method);
  expects(!entry.constant_symmetric || params.inner.rtol == 0, entry.name,
          " needs a constant preconditioner: a number of inner cycles, not a tolerance; fcg, gcr and gmres take both");
  expects(!entry.constant_symmetric || params.multigrid.cycle != Cycle::k, entry.name,
          " needs a constant preconditioner, which a k-cycle is not; fcg, gcr and gmres take it");
  expects(!params.interpolation || facts.source != Source::mesh, "interpolation ",
          to_string(params.interpolation.value_or(InterpolationKind::bilinear)),
          " is for coefficients that vary, deformed meshes and matrices; without, it goes by the widths");
}

/// The finest level is solved without a cycle, which nothing that was asked for speaks against.
bool may_be_direct(const SolverFacts& facts, const PoissonSolverParams& params) {
  const GridLayout<2> shape = facts.meshes.back().unknowns();
  return facts.on_gpu && params.multigrid.may_be_direct() && params.format == StorageFormat::tensor &&
         facts.meshes.size() > 1 && !facts.has_halo && std::min(shape.nx, shape.ny) <= params.multigrid.exact_below &&
         facts.has_modes;
}

}  // namespace

std::string Plan::reason() const {
  return cycle_reason + (cycle_reason.empty() || precision_reason.empty() ? "" : "; ") + precision_reason;
}

const SolverEntry& entry_of(const PoissonSolverParams& params) {
  const Method method = params.method.value_or(Method::multigrid);
  return solver_entry(method == Method::multigrid ? "richardson" : to_string(method));
}

bool asks_matrix(const PoissonSolverParams& asked, const SolverFacts& facts) {
  const bool symmetric = facts.matrix ? facts.matrix->symmetric : asked.multigrid.symmetric;
  return leaves_cycle_open(asked) && (asked.coefficients != nullptr || facts.source == Source::deformed_mesh ||
                                      (facts.source == Source::matrix && symmetric));
}

Plan select(const PoissonSolverParams& asked, const SolverFacts& facts) {
  Plan plan{asked, false, {}, {}, {}};
  PoissonSolverParams& params = plan.params;
  asked.stop.validate();
  asked.inner.validate();
  if (params.precision == Precision::residual_replacement) params.method = params.method.value_or(Method::cg);
  if (facts.matrix) plan.precision_reason = select_for_matrix(*facts.matrix, params);
  if (facts.has_films && params.precision == Precision::mixed) {
    params.precision = Precision::full;
    plan.precision_reason = "cycles in double: cells between boundaries without values are too long and thin for float";
  }
  if (facts.format)
    params.format = *facts.format;
  else if (params.terms.varies() && params.format == StorageFormat::tensor)
    params.format = StorageFormat::symmetric;

  if (params.multigrid.reproducible && params.deflate.by == DeflateBy::automatic) params.deflate = {};
  expects(!params.multigrid.reproducible || params.deflate.by == DeflateBy::none,
          "deflation differs by rounding on other subdomains of the grid; reproducible solves do without");
  const bool by_matrix = asks_matrix(params, facts);
  if (by_matrix) plan.cycle_reason = select_by_couplings(facts, params);
  if (facts.source == Source::deformed_mesh) {
    if (leaves_method_open(params) && !params.full_multigrid) {
      params.method = Method::cg;
      plan.cycle_reason = facts.is_cartesian ? "conjugate gradients: the mesh is deformed"
                                             : "conjugate gradients: the coordinates are not Cartesian";
    }
    params.multigrid.cycle = params.multigrid.cycle.value_or(Cycle::v);  // widths are not asked
  }
  const std::string by_widths = select_by_widths(facts, params);
  if (plan.cycle_reason.empty()) plan.cycle_reason = by_widths;
  // A pass by itself ends with smoothing: what float leaves of a direct solution, nothing would take from it.
  const bool one_pass = params.full_multigrid && !params.continue_after_full_multigrid;
  auto& cycle = params.multigrid;
  if (cycle.smoother != "auto" || one_pass)
    cycle.sweeps = cycle.sweeps.value_or(default_sweeps(cycle.smoother, facts.on_gpu));
  if (facts.source == Source::matrix && !facts.has_conductances && !params.interpolation) {
    // Of what is rotated, interpolation along the coupling leaves less to the iteration around the cycles: at 45 degrees half.
    const bool follows =
        by_matrix && (!facts.couplings || facts.couplings->jump > most_bilinear_jump || facts.couplings->is_rotated());
    params.interpolation = follows && !cycle.reproducible ? InterpolationKind::matrix : InterpolationKind::bilinear;
  }
  // By itself it is for what these solve.
  const bool in_double = params.precision == Precision::mixed || params.precision == Precision::full;
  if (params.deflate.by == DeflateBy::automatic && facts.is_given() && !(params.method == Method::cg && in_double))
    params.deflate = {};
  expects_to_go_together(facts, params);

  // A direct solution in double is right at once, where one in float is after two to four times.
  plan.is_direct = params.precision == Precision::mixed && !params.inner.tests() && params.inner.cycles == 1 &&
                   may_be_direct(facts, params);
  if (plan.is_direct) {
    params.precision = Precision::full;
    plan.precision_reason = "in double, in which a direct solution is right at once";
  }
  if (facts.source == Source::mesh && cycle.smoother == "auto")
    plan.smoothers = choose_smoothers(facts.meshes, cycle.smoother_params, cycle.sweeps);
  else if (cycle.smoother != "auto")
    plan.smoothers.assign(facts.meshes.size(), {cycle.smoother, cycle.smoother_params,
                                                cycle.sweeps.value_or(default_sweeps(cycle.smoother)), ""});
  return plan;
}

}  // namespace stratum
