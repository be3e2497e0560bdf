#include "pressure_solver.hpp"

#include <algorithm>
#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/multigrid/deflated_solver.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "support/command_line.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

constexpr double contrast_for_inclusions = 1e3, contrast_for_two_parts = 1e4;

Inclusions inclusions_of(const PressureSystem& system) {
  std::vector<double> kappa(system.density.size());
  for (std::size_t k = 0; k < kappa.size(); ++k) kappa[k] = 1 / system.density[k];
  return inclusions(system.shape(), kappa);
}

std::vector<double> diagonal_of(Context& ctx, const GridOperator<double>& a) {
  Field<double> d(ctx, a.shape());
  diagonal(ctx, a, d.view());
  std::vector<double> host(static_cast<std::size_t>(a.shape().nodes()));
  copy_to_host(ctx, d.cview(), host.data());
  return host;
}

void append(DeflationVectors& to, const DeflationVectors& more) {
  if (more.count() == 0) return;
  to.covers = false;
  to.z.columns = more.z.columns;
  const int entries = to.z.start.back();
  for (std::size_t d = 1; d < more.z.start.size(); ++d) to.z.start.push_back(entries + more.z.start[d]);
  to.z.rows += more.z.rows;
  to.z.column.insert(to.z.column.end(), more.z.column.begin(), more.z.column.end());
  to.z.value.insert(to.z.value.end(), more.z.value.begin(), more.z.value.end());
}

}  // namespace

std::pair<DeflatePressure, int> parse_pressure_deflation(const std::string& text) {
  if (text == "none") return {DeflatePressure::none, 0};
  if (text == "inclusions") return {DeflatePressure::inclusions, 0};
  if (text == "auto") return {DeflatePressure::automatic, 0};
  const auto [kind, number] = parse_pair("--deflate", text, ":", pressure_deflation_kinds);
  const auto count = [&kind = kind, &digits = number](int most) {
    return parse_integer("--deflate " + kind, digits, 1, most);
  };
  if (kind == "stripes") return {DeflatePressure::stripes, count(1'000'000)};
  if (kind == "blocks") return {DeflatePressure::blocks, count(1000)};
  if (kind == "split-blocks") return {DeflatePressure::split_blocks, count(1000)};
  if (kind == "ritz") return {DeflatePressure::ritz, count(100)};
  throw UsageError(message("--deflate: '", shown(text), "' is not ", pressure_deflation_kinds));
}

std::vector<std::pair<std::string, std::string>> pressure_preconditioners() {
  std::vector<std::pair<std::string, std::string>> names{
      {"auto", "auto"}, {"none", "none"}, {"multigrid", "multigrid"}};
  const auto registry = builtin_preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  return names;
}

PressureSolver::PressureSolver(Context& ctx, const PressureSystem& system, const PressureParams& params,
                               const DeflationVectors& more)
    : params_(params), singular_(system.is_singular()), contrast_(system.contrast()),
      a_(five_point_operator(ctx, system.links)) {
  if (params_.preconditioner == "auto") params_.preconditioner = "multigrid";
  const bool cycles = params_.preconditioner == "multigrid";
  choose_deflation(system);
  // Rows on the host are as large as the rest together: cycles by themselves do without.
  SparseRows rows;
  const bool by_rows = params_.preconditioner != "none" && !cycles;
  if (by_rows || params_.deflate != DeflatePressure::none || more.count() > 0) {
    Context host(Backend::cpu, ctx.threads());
    rows = sparse_rows(host, ctx.on_gpu() ? five_point_operator(host, system.links) : a_);
  }
  if (cycles || params_.deflate == DeflatePressure::inclusions) make_hierarchy(ctx, system);
  if (cycles)
    make_cycle(ctx);
  else if (by_rows)
    m_ = params_.mixed ? std::make_shared<PrecisionCast<double, float>>(ctx, a_.shape(), of_matrix<float>(ctx, rows))
                       : std::shared_ptr<Preconditioner<double>>(of_matrix<double>(ctx, rows));
  make_solver(ctx, system, rows, more);
}

void PressureSolver::warm_up(Context& ctx, FieldView<const double> b, FieldView<double> x) {
  if (!ctx.on_gpu()) return;
  StoppingParams few;
  few.max_iterations = 2;
  (void)solve(ctx, b, x, few);
  set(ctx, 0.0, x);
  ctx.synchronise();
}

SolveReport PressureSolver::solve(Context& ctx, FieldView<const double> b, FieldView<double> x, StoppingParams stop,
                                  const Monitor& monitor) {
  constexpr int usual_patience = 300;
  if (two_parts_ && !stop.patience) stop.patience = usual_patience;
  const double begin = wall_seconds();
  SolveReport report = cg_->solve(ctx, a_, m_.get(), b, x, stop, monitor);
  ctx.synchronise();
  report.solve_seconds = wall_seconds() - begin;
  const double target = std::max(stop.rtol * report.reference_norm_value, stop.atol);
  if (two_parts_ && report.status == Status::round_off_limit && cg_->residual_of_parts() <= target) {
    report.status = Status::converged;
    report.reason = message("residual of x in two parts ", cg_->residual_of_parts(), " <= ", target,
                            "; of their sum in one array ", report.residual, ", which is rounding");
  }
  return report;
}

std::string PressureSolver::describe_preconditioner() const {
  const std::string& name = params_.preconditioner;
  if (name == "none") return "no preconditioner";
  std::string text = name;
  if (name == "multigrid")
    text += message(", ", params_.smoother, ", ", params_.sweeps, " + ", params_.sweeps, " sweeps, ",
                    to_string(params_.interpolation), " interpolation");
  if (name == "block-ic") text += message(" in ", params_.blocks, " blocks");
  if (name == "incomplete-poisson" && params_.form == IncompletePoissonForm::printed) text += " as printed";
  return text + (params_.mixed ? ", in float" : "");
}

void PressureSolver::choose_deflation(const PressureSystem& system) {
  if (params_.preconditioner == "block-ic" && params_.blocks == 0) params_.blocks = std::max(1, system.links.ny / 2);
  if (params_.deflate != DeflatePressure::automatic) return;
  if (params_.preconditioner == "multigrid") {
    constexpr int most_vectors = 400;
    params_.deflate = DeflatePressure::none;
    if (!system.is_singular() || contrast_ < contrast_for_inclusions) return;
    found_ = inclusions_of(system);
    const int count = found_.floating();
    // One that fills all there is of its fluid, a layer, is what the mean takes care of.
    if (count > 1 && count <= most_vectors) params_.deflate = DeflatePressure::inclusions;
    return;
  }
  constexpr int cells_of_a_block = 8;
  params_.deflate = DeflatePressure::split_blocks;
  params_.count = std::max(1, std::min(system.links.nx, system.links.ny) / cells_of_a_block);
}

void PressureSolver::make_hierarchy(Context& ctx, const PressureSystem& system) {
  const TensorMesh<2> mesh = mesh_of_centres(system.links);
  const MatrixTraits traits{true, singular_};
  if (!system.links.walls) params_.interpolation = InterpolationKind::bilinear;
  switch (params_.interpolation) {
    case InterpolationKind::bilinear: hierarchy_ = Hierarchy<double>::galerkin(ctx, a_, mesh, traits); return;
    case InterpolationKind::matrix:
      hierarchy_ = Hierarchy<double>::galerkin(ctx, a_, mesh, traits, Interpolation::of_matrix());
      return;
    default: break;
  }
  const Conductances k(ctx, mesh, a_);
  const bool split = params_.interpolation == InterpolationKind::split;
  hierarchy_ = Hierarchy<double>::galerkin(ctx, a_, mesh, traits,
                                           split ? Interpolation::split_links(k) : Interpolation::by_conductances(k));
}

void PressureSolver::make_cycle(Context& ctx) {
  MultigridParams params;
  params.smoother = params_.smoother;
  params.sweeps = params_.sweeps;
  params.symmetric = true;
  params.singular = singular_;
  if (params_.mixed)
    m_ = std::make_shared<PrecisionCast<double, float>>(
        ctx, a_.shape(), Multigrid<float>(ctx, Hierarchy<float>(ctx, *hierarchy_), params));
  else
    m_ = std::make_shared<Multigrid<double>>(ctx, *hierarchy_, params);
}

template <class T>
std::shared_ptr<Preconditioner<T>> PressureSolver::of_matrix(Context& ctx, const SparseRows& rows) const {
  IncompleteCholeskyParams ic;
  if (params_.preconditioner == "block-ic") ic.blocks = params_.blocks;
  return parsed("--preconditioner " + params_.preconditioner, [&] {
    return builtin_preconditioners().make<T>(ctx, params_.preconditioner, a_.shape(), {rows, ic, params_.form});
  });
}

void PressureSolver::make_solver(Context& ctx, const PressureSystem& system, const SparseRows& rows,
                                 const DeflationVectors& more) {
  DeflatedCgParams cg;
  cg.keep = params_.keep;
  if (singular_) cg.diagonal = diagonal_of(ctx, a_);
  DeflationVectors vectors;
  switch (params_.deflate) {
    case DeflatePressure::stripes: domains_ = stripes(a_.shape(), params_.count); break;
    case DeflatePressure::blocks: domains_ = square_blocks(a_.shape(), params_.count); break;
    case DeflatePressure::split_blocks: {
      const auto [least, most] = std::minmax_element(system.density.begin(), system.density.end());
      const double between = std::sqrt(*least) * std::sqrt(*most);
      std::vector<int> phase;
      for (const double density : system.density) phase.push_back(density > between ? 1 : 0);
      domains_ = split_domains(square_blocks(a_.shape(), params_.count), phase);
      break;
    }
    case DeflatePressure::inclusions: {
      if (found_.of_unknown.empty()) found_ = inclusions_of(system);
      vectors = inclusion_vectors(ctx, *hierarchy_, found_);
      domains_ = std::move(found_.of_unknown);
      break;
    }
    case DeflatePressure::ritz: vectors = ritz_vectors(ctx, a_, m_.get(), cg.diagonal, params_.count); break;
    default: break;
  }
  if (vectors.count() == 0 && !domains_.empty()) vectors = vectors_of_domains(domains_);
  append(vectors, more);
  vectors_ = vectors.count();
  deflation_ = describe(more.count());
  if (vectors_ == 0) {
    cg_ = std::make_unique<DeflatedCg>(ctx, a_.shape(), cg);
    return;
  }
  const std::int64_t before = ctx.memory()->bytes;
  const Deflation deflation(ctx, rows, a_.shape(), vectors);
  deflation_bytes_ = ctx.memory()->bytes - before + 8 * deflation.factor().words();
  two_parts_ = cg.two_parts = cg.beyond_one_array = contrast_ >= contrast_for_two_parts && deflation.has_cores();
  if (two_parts_) deflation_ += ", x in two parts";
  cg_ = std::make_unique<DeflatedCg>(ctx, deflation, cg);
}

std::string PressureSolver::describe(int more) const {
  const auto own = [&]() -> std::string {
    const int count = params_.count, there = vectors_ - more;
    switch (params_.deflate) {
      case DeflatePressure::stripes: return message(there, " stripes");
      case DeflatePressure::blocks: return message(count, " x ", count, " blocks");
      case DeflatePressure::split_blocks:
        return message(count, " x ", count, " blocks split by phase, ", there, " vectors");
      case DeflatePressure::inclusions: return message(there, there == 1 ? " inclusion" : " inclusions");
      case DeflatePressure::ritz: return message(there, " Ritz vectors");
      default: return "";
    }
  }();
  if (vectors_ == 0) return "no deflation";
  return "deflated by " + own + (more > 0 ? message(own.empty() ? "" : " and ", more, " Ritz vectors") : "");
}

}  // namespace stratum::apps
