#pragma once

// Two fluids in a box: the pressure equation -div(1/density grad p) = f in cells (apps/two_phase/five_point.hpp), and its solution by
// conjugate gradients with a preconditioner and deflation vectors by name. Shared by bubbly2d and paper_tables.
//
//   preconditioner   none; jacobi, ic, block-ic, incomplete-poisson of the matrix (solvers/preconditioner.hpp); multigrid: a
//                    cycle of Galerkin products, interpolated by split sums of the links unless said otherwise; auto:
//                    multigrid, the fastest of these by Table 3 of paper_tables --study bubbly
//   deflation        none; stripes:D consecutive cells, blocks:Q of Q x Q rectangles, split-blocks:Q the same split where two
//                    fluids meet in one; inclusions of low density, extended by the cycle's prolongation; ritz:K vectors of a
//                    solve of its own; auto
//
// mixed: the preconditioner in float, all else in double. x is kept in two parts where densities are 1e4 apart or more and the
// vectors allow it (solvers/deflation/deflated_cg.hpp); what a tolerance asks for is then asked of both parts.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/multigrid/deflated_solver.hpp>
#include <stratum/multigrid/inclusions.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/deflation/deflated_cg.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/preconditioner.hpp>
#include <stratum/two_phase/five_point.hpp>

#include "support/command_line.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

// --- the problem --------------------------------------------------------------------------------------------------------

struct PressureSystem {
  FivePointLinks links;
  std::vector<double> density;  // of the cells

  /// Walls all around, and no sink.
  [[nodiscard]] bool is_singular() const { return links.walls && links.sink.empty(); }
  [[nodiscard]] GridLayout<2> shape() const { return mesh_of_centres(links).unknowns(); }
  /// The largest density over the smallest.
  [[nodiscard]] double contrast() const {
    const auto [least, most] = std::minmax_element(density.begin(), density.end());
    return *most / *least;
  }
};

/// 4 and -1, zeros beyond the sides.
[[nodiscard]] inline PressureSystem poisson_system(int nx, int ny) {
  PressureSystem system{poisson_links(nx, ny), {}};
  system.density.assign(system.links.east.size(), 1.0);
  return system;
}

[[nodiscard]] inline PressureSystem layered_system(int n, double contrast) {
  PressureSystem system{layered_links(n, contrast), {}};
  system.density.assign(system.links.east.size(), contrast);
  std::fill_n(system.density.begin(), system.links.at(0, n / 2), 1.0);
  return system;
}

[[nodiscard]] inline PressureSystem flow_system(int nx, int ny, std::vector<double> density, double width = 1,
                                                double height = 1, int threads = 1) {
  return {flow_links(nx, ny, density, width, height, threads), std::move(density)};
}

/// `across` x `across` of them, their radius 0.3 of the distance that their centres have.
[[nodiscard]] inline std::vector<Disc> regular_bubbles(int across, double width = 1, double height = 1) {
  std::vector<Disc> bubbles;
  for (int j = 0; j < across; ++j)
    for (int i = 0; i < across; ++i)
      bubbles.push_back(
          {(i + 0.5) * width / across, (j + 0.5) * height / across, 0.3 * std::min(width, height) / across});
  return bubbles;
}

/// Anywhere, radii of 0.1 to 0.3 of the mean distance; they may overlap, and lie half outside.
[[nodiscard]] inline std::vector<Disc> random_bubbles(int count, unsigned seed, double width = 1, double height = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const double distance = std::sqrt(width * height / count);
  std::vector<Disc> bubbles;
  for (int k = 0; k < count; ++k) {
    const double x = uniform(random) * width, y = uniform(random) * height;
    bubbles.push_back({x, y, (0.1 + 0.2 * uniform(random)) * distance});
  }
  return bubbles;
}

/// Normal numbers, their mean taken away where `balanced`.
[[nodiscard]] inline std::vector<double> white_noise(std::size_t count, unsigned seed, bool balanced) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> values(count);
  double mean = 0;
  for (double& value : values) mean += value = normal(random);
  mean /= static_cast<double>(count);
  if (balanced)
    for (double& value : values) value -= mean;
  return values;
}

/// Numbers in 0 .. 1.
[[nodiscard]] inline std::vector<double> uniform_noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(random);
  return values;
}

// --- the solver ---------------------------------------------------------------------------------------------------------

enum class DeflatePressure : std::uint8_t { none, stripes, blocks, split_blocks, inclusions, ritz, automatic };

struct PressureParams {
  std::string preconditioner = "auto";
  int blocks = 0;  // of block-ic; 0: two rows of the grid each
  IncompletePoissonForm form = IncompletePoissonForm::scaled;
  std::string smoother = MultigridParams{}.smoother;
  int sweeps = 2;
  InterpolationKind interpolation = InterpolationKind::split;
  DeflatePressure deflate = DeflatePressure::automatic;
  int count = 0;  // of stripes, of blocks across, of Ritz vectors
  bool mixed = false;
  int keep = 0;  // vectors for the Ritz vectors of the next solve
};

inline constexpr const char* pressure_deflation_kinds =
    "none, stripes:D, blocks:Q, split-blocks:Q, inclusions, ritz:K or auto";

[[nodiscard]] inline std::pair<DeflatePressure, int> parse_pressure_deflation(const std::string& text) {
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

/// Names of --preconditioner: none and auto among them.
[[nodiscard]] inline std::vector<std::pair<std::string, std::string>> pressure_preconditioners() {
  std::vector<std::pair<std::string, std::string>> names{
      {"auto", "auto"}, {"none", "none"}, {"multigrid", "multigrid"}};
  const auto registry = builtin_preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  return names;
}

class PressureSolver {
 public:
  /// `more`: vectors to deflate with beside those of the params, Ritz vectors of a solve before. Throws UsageError for counts
  /// that the grid does not allow.
  PressureSolver(Context& ctx, const PressureSystem& system, const PressureParams& params,
                 const DeflationVectors& more = {})
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

  /// On a GPU two iterations, so that device code is loaded and cycles are recorded before the first solve. x is zero then.
  void warm_up(Context& ctx, FieldView<const double> b, FieldView<double> x) {
    if (!ctx.on_gpu()) return;
    StoppingParams few;
    few.max_iterations = 2;
    (void)solve(ctx, b, x, few);
    set(ctx, 0.0, x);
    ctx.synchronise();
  }
  /// From x. Where vectors cut bubbles the residual of both parts may rest above what the level of rounding says: 300
  /// iterations without a better one end it, unless other patience is given.
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, StoppingParams stop,
                    const Monitor& monitor = {}) {
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

  [[nodiscard]] const GridOperator<double>& a() const { return a_; }
  /// Nothing of it is left to be chosen.
  [[nodiscard]] const PressureParams& params() const { return params_; }
  [[nodiscard]] bool two_parts() const { return two_parts_; }
  /// Of the last solve.
  [[nodiscard]] double residual_of_parts() const { return cg_->residual_of_parts(); }
  [[nodiscard]] DeflationVectors ritz(Context& ctx, int count) const { return cg_->ritz(ctx, count); }
  [[nodiscard]] int vectors() const { return vectors_; }
  /// What deflation takes, its factor included.
  [[nodiscard]] std::int64_t deflation_bytes() const { return deflation_bytes_; }
  /// Of every cell the number of its vector, -1 where there is none; empty unless there is one at most.
  [[nodiscard]] const std::vector<int>& domains() const { return domains_; }

  [[nodiscard]] std::string describe_preconditioner() const {
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
  [[nodiscard]] const std::string& describe_deflation() const { return deflation_; }

 private:
  static constexpr double contrast_for_inclusions = 1e3, contrast_for_two_parts = 1e4;

  [[nodiscard]] Inclusions inclusions_of(const PressureSystem& system) const {
    std::vector<double> kappa(system.density.size());
    for (std::size_t k = 0; k < kappa.size(); ++k) kappa[k] = 1 / system.density[k];
    return inclusions(a_.shape(), kappa);
  }

  [[nodiscard]] std::vector<double> diagonal_of(Context& ctx) const {
    Field<double> d(ctx, a_.shape());
    diagonal(ctx, a_, d.view());
    std::vector<double> host(static_cast<std::size_t>(a_.shape().nodes()));
    copy_to_host(ctx, d.cview(), host.data());
    return host;
  }

  /// As around a cycle in poisson2d; what is no cycle takes blocks.
  void choose_deflation(const PressureSystem& system) {
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

  void make_hierarchy(Context& ctx, const PressureSystem& system) {
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

  void make_cycle(Context& ctx) {
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
  [[nodiscard]] std::shared_ptr<Preconditioner<T>> of_matrix(Context& ctx, const SparseRows& rows) const {
    IncompleteCholeskyParams ic;
    if (params_.preconditioner == "block-ic") ic.blocks = params_.blocks;
    return parsed("--preconditioner " + params_.preconditioner, [&] {
      return builtin_preconditioners().make<T>(ctx, params_.preconditioner, a_.shape(), {rows, ic, params_.form});
    });
  }

  void make_solver(Context& ctx, const PressureSystem& system, const SparseRows& rows, const DeflationVectors& more) {
    DeflatedCgParams cg;
    cg.keep = params_.keep;
    if (singular_) cg.diagonal = diagonal_of(ctx);
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

  static void append(DeflationVectors& to, const DeflationVectors& more) {
    if (more.count() == 0) return;
    to.covers = false;
    to.z.columns = more.z.columns;
    const int entries = to.z.start.back();
    for (std::size_t d = 1; d < more.z.start.size(); ++d) to.z.start.push_back(entries + more.z.start[d]);
    to.z.rows += more.z.rows;
    to.z.column.insert(to.z.column.end(), more.z.column.begin(), more.z.column.end());
    to.z.value.insert(to.z.value.end(), more.z.value.begin(), more.z.value.end());
  }

  [[nodiscard]] std::string describe(int more) const {
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

  PressureParams params_;
  bool singular_ = false, two_parts_ = false;
  double contrast_ = 1;
  GridOperator<double> a_;
  std::optional<Hierarchy<double>> hierarchy_;
  std::shared_ptr<Preconditioner<double>> m_;
  std::unique_ptr<DeflatedCg> cg_;
  Inclusions found_;  // until their vectors are made
  std::vector<int> domains_;
  int vectors_ = 0;
  std::int64_t deflation_bytes_ = 0;
  std::string deflation_;
};

}  // namespace stratum::apps
