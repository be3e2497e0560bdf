// staggered: quark propagators of staggered fermions on a gauge field, by conjugate gradients in mixed precision, and the
// pion's correlator. --help explains; the file is parse, make the field, solve, evaluate, print, write, in that order.

#include "dirac.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>
#include <stratum/staggered/multi_shift_cg.hpp>
#include <stratum/version.h>

#include "nersc.hpp"
#include "propagator.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::staggered;

enum class Field : std::uint8_t { unit, random, near };

/// Sites below which one GPU is faster than several: an iteration on two takes half of one GPU's 0.3 ns a site, and 70 us more.
constexpr std::int64_t least_sites_for_several_gpus = 400'000;

struct Settings {
  Lattice lattice{8, 8, 8, 16};
  Field field = Field::near;
  double sigma = 0.3;
  std::uint64_t seed = 1;
  std::string gauge;  // a file; empty: made
  std::vector<double> masses;
  Source source = Source::point;
  bool mixed = true, shorts = false, together = false;
  Reals reals = Reals::r18;
  ReliableCgParams reliable;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  Cut cut;
  Machine machine;
  bool quiet = false;
};

// --- options ------------------------------------------------------------------------------------------------------------

CommandLine make_command_line() {
  const ReliableCgParams defaults;
  return CommandLine(
      {{"Gauge field",
        {{"lattice", "NX,NY,NZ,NT", "8,8,8,16", "sites in x, y, z and t, all even"},
         {"field", "NAME", "near",
          "unit, random (uniform in SU(3)) or near: 1 + sigma X, projected on SU(3), X normal"},
         {"sigma", "X", "0.3", "near: from 0 on"},
         {"seed", "N", "1", "of field and random source, 0 .. 2000000000"},
         input_file("gauge", "FILE", "read it from a file of the NERSC archive instead")}},
       {"Quarks: (m + D) q = b, D without its factor 1/2, antiperiodic in t",
        {{"mass", "M,...", "0.1", "one or several, above 0"},
         {"source", "NAME", "point",
          "point (the origin) or wall (all even sites of t = 0), in all three colours, or random: one, normal "
          "numbers"}}},
       {"Solver",
        {{"precision", "NAME", "mixed",
          "mixed: steps in float, residuals in double; mixed16: links of 16 bits in the steps; or double"},
         {"reals", "N", "18", "numbers that a link is stored as where steps are taken: 18, 12 or 10"},
         {"rtol", "X", "1e-10", "stop when the true residual has fallen below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "100000", "1 .. 1000000000"},
         {"together", "", "", "all masses in one iteration; the smallest is the last"},
         {"delta", "X", "",
          message("mixed: update where the residual has fallen by this, in (0, 1) (", plain(defaults.delta),
                  "; mixed16 ", plain(delta_of_shorts), ", with --together ", plain(defaults.delta), ")")},
         {"scheme", "NAME", "corrected",
          "mixed: corrected, restart (without the direction before), or what fails: group-wise (the residual is never "
          "replaced), reliable (the solution in float never reset)"},
         {"beta", "NAME", "guarded",
          "mixed: the direction's factor at an update, by the true residual, the recursive one, or guarded: by the "
          "true one "
          "where it has not jumped"},
         {"solution-in-double", "", "", "mixed: add steps up in double; delta may then be smaller"}}},
       machine_options_of_ranks(),
       {"Several ranks (mpirun)",
        {{"cut", "T,Z", "",
          "ranks along t and along z, which have even nt and nz each; without it along t alone where that is possible"},
         {"overlap", "WHEN", "auto",
          "yes: work on sites whose neighbours are here while those of others travel; no; or auto: on the CPU"}}},
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("correlator", "FILE.csv", "the pion's correlator and effective mass"),
         output_file("save-gauge", "FILE", "the gauge field as a file of the NERSC archive"),
         {"quiet", "", "", "print errors only"}}}},
      {"Other",
       {input_file("config", "FILE", "read options from a file of lines like mass=0.05; the command line wins"),
        {"print-config", "", "", "print such a file for this command line, and stop"},
        {"help", "", "", "print this"},
        {"version", "", "", "print the version"}}});
}

constexpr const char* before_options = "Usage: staggered [OPTIONS]\n\n"
                                       "Propagators of staggered quarks on an SU(3) gauge field in four dimensions. A "
                                       "= m^2 - D_eo D_oe on the even sites\n"
                                       "is solved by conjugate gradients; the odd sites follow. From a point or a wall "
                                       "the pion's correlator comes out, on\n"
                                       "the unit field the difference from the propagator by Fourier transform.\n";

constexpr const char* examples =
    "Examples:\n"
    "  staggered                                             8 x 8 x 8 x 16 sites near the unit field\n"
    "  staggered --mass 0.02,0.05,0.1 --correlator pion.csv  the pion becomes light as its quarks do\n"
    "  staggered --mass 0.02,0.05,0.1 --together             the same in one iteration\n"
    "  staggered --field unit --precision double             beside the Fourier transform\n"
    "  staggered --field random --save-gauge hot.nersc --quiet\n"
    "  staggered --gauge hot.nersc --mass 0.03 --reals 12\n"
    "  staggered --source random --scheme group-wise         fails, and says so\n\n";

std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> list{""};
  for (const char c : text)
    if (c == ',')
      list.emplace_back();
    else
      list.back().push_back(c);
  return list;
}

Settings parse_settings(const CommandLine& options) {
  Settings s;
  if (options.has("gauge")) s.gauge = options.text("gauge");
  for (const char* name : {"lattice", "field", "sigma"})
    expects(s.gauge.empty() || !options.has(name), "--", name, ": --gauge gives the field already");
  const auto extents = parts(options.text("lattice"));
  expects(extents.size() == 4, "--lattice: '", shown(options.text("lattice")), "' is not NX,NY,NZ,NT");
  int* const to[] = {&s.lattice.nx, &s.lattice.ny, &s.lattice.nz, &s.lattice.nt};
  for (std::size_t mu = 0; mu < 4; ++mu) *to[mu] = parse_integer("--lattice", extents[mu], 1, 1'000'000'000);
  parsed("--lattice", [&] { s.lattice.validate(); });
  s.field = choice<Field>("--field", options.text("field"),
                          {{"unit", Field::unit}, {"random", Field::random}, {"near", Field::near}});
  expects(!options.has("sigma") || s.field == Field::near, "--sigma: belongs to --field near");
  s.sigma = options.number("sigma", not_negative);
  s.seed = static_cast<std::uint64_t>(options.integer("seed", 0, 2'000'000'000));
  for (const auto& mass : parts(options.text("mass"))) s.masses.push_back(parse_number("--mass", mass, positive));
  s.source = choice<Source>("--source", options.text("source"),
                            {{"point", Source::point}, {"wall", Source::wall}, {"random", Source::random}});
  expects(!options.has("correlator") || s.source != Source::random,
          "--correlator: a random source has none; use point or wall");
  s.together = options.is_set("together");
  enum class Precision : std::uint8_t { in_double, mixed, mixed16 };
  const auto precision = choice<Precision>(
      "--precision", options.text("precision"),
      {{"mixed", Precision::mixed}, {"mixed16", Precision::mixed16}, {"double", Precision::in_double}});
  s.mixed = precision != Precision::in_double;
  s.shorts = precision == Precision::mixed16;
  s.reals =
      choice<Reals>("--reals", options.text("reals"), {{"18", Reals::r18}, {"12", Reals::r12}, {"10", Reals::r10}});
  expects(!s.shorts || s.reals != Reals::r10,
          "--reals: 10 reals of 16 bits are too few to make a link of; use 12 or 18");
  for (const char* name : {"delta", "scheme", "beta", "solution-in-double"})
    expects(s.mixed || !options.has(name), "--", name, ": belongs to --precision mixed");
  if (options.has("delta"))
    s.reliable.delta = options.number("delta", {0, 1, true, true});
  else if (s.shorts && !s.together)
    s.reliable.delta = delta_of_shorts;
  enum class Scheme : std::uint8_t { corrected, restart, group_wise, reliable };
  const auto scheme = choice<Scheme>("--scheme", options.text("scheme"),
                                     {{"corrected", Scheme::corrected},
                                      {"restart", Scheme::restart},
                                      {"group-wise", Scheme::group_wise},
                                      {"reliable", Scheme::reliable}});
  s.reliable.carry_direction = scheme != Scheme::restart;
  s.reliable.replace_residual = scheme != Scheme::group_wise;
  s.reliable.reset_solution = scheme != Scheme::reliable;
  s.reliable.beta = choice<UpdateBeta>(
      "--beta", options.text("beta"),
      {{"guarded", UpdateBeta::guarded}, {"true", UpdateBeta::by_true}, {"recursive", UpdateBeta::by_recursive}});
  s.reliable.solution_in_double = options.is_set("solution-in-double");
  expects(!s.together || scheme == Scheme::corrected, "--together: takes --scheme corrected only");
  expects(!s.reliable.solution_in_double || s.reliable.reset_solution,
          "--solution-in-double: --scheme reliable is about a solution in float");
  s.stop.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol");
  s.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000'000);
  s.machine = parse_machine(options);
  if (options.has("cut")) {
    const auto counts = parts(options.text("cut"));
    expects(counts.size() == 2, "--cut: '", shown(options.text("cut")), "' is not T,Z");
    s.cut.t = parse_integer("--cut", counts[0], 1, 1'000'000'000);
    s.cut.z = parse_integer("--cut", counts[1], 1, 1'000'000'000);
  }
  using When = std::optional<bool>;
  s.cut.overlap = choice<When>("--overlap", options.text("overlap"), {{"auto", When()}, {"yes", true}, {"no", false}});
  s.quiet = options.is_set("quiet");
  return s;
}

// --- solving ------------------------------------------------------------------------------------------------------------

/// Field and links on the host, links and vectors where it is computed.
void expect_room_for(const Context& ctx, const Settings& s, const Lattice& lattice) {
  const std::int64_t volume = lattice.volume(), half = volume / 2, reals = static_cast<int>(s.reals);
  const std::int64_t doubles = 4 * volume * (s.mixed ? 18 : reals);
  const std::int64_t floats = s.mixed ? 4 * volume * reals / (s.shorts ? 2 : 1) : 0;
  const std::int64_t vectors =
      6 * half * (s.mixed ? 8 + 4 : 9) + 6 * half * (s.together ? 2 * std::int64_t(s.masses.size()) : 0);
  const std::int64_t solving = (8 * doubles + 4 * floats + 8 * vectors) / ctx.pieces();
  // Every rank has the field whole.
  const int sharing = s.machine.has_ranks() ? s.machine.ranks->ranks_of_host() : 1;
  const std::int64_t host = sharing * (GaugeField::bytes(lattice) + 9 * 8 * volume + (ctx.on_gpu() ? 0 : solving));
  expect_room(ctx, message(lattice.nx, " x ", lattice.ny, " x ", lattice.nz, " x ", lattice.nt, " sites"), host,
              solving);
}

GaugeField make_field(const Settings& s) {
  if (!s.gauge.empty()) return read_nersc(s.gauge);
  switch (s.field) {
    case Field::unit: return GaugeField::unit(s.lattice);
    case Field::random: return GaugeField::random(s.lattice, s.seed);
    case Field::near: break;
  }
  return GaugeField::near_unit(s.lattice, s.sigma, s.seed);
}

/// Of one mass and one colour.
struct Run {
  double mass;
  int colour;
  SolveReport report;
  int updates = 0;
};

struct Outcome {
  std::vector<Run> runs;
  std::vector<std::vector<double>> correlators;  // of every mass
  std::vector<double> condensates;               // (b, A^-1 b), likewise
  std::optional<double> error;                   // from the Fourier transform, relative to the largest number
  double setup_seconds = 0, solve_seconds = 0, link_error = 0;
};

double error_of(Context& ctx, const LatticePiece& piece, double mass, int colour, GridView<const double> y) {
  const auto exact = free_propagator(piece.whole, mass);
  std::vector<double> host(static_cast<std::size_t>(y.nx));
  copy_to_host(ctx, y, host.data());
  const auto half = static_cast<std::size_t>(piece.lattice().half());
  double largest = 0;
  for (std::size_t k = 0; k < host.size(); ++k) {
    const int s = piece.box().half_site(piece.whole, static_cast<int>(k % half));
    const auto site = static_cast<std::size_t>(piece.whole.site(Parity::even, s));
    const double wanted = k / half == 2 * static_cast<std::size_t>(colour) ? exact[site] : 0;
    const double apart = std::abs(host[k] - wanted);
    largest = apart > largest || std::isnan(apart) ? apart : largest;
  }
  if (ctx.communicator() != nullptr)
    for (const double other : ctx.communicator()->gather_on_host(largest))
      largest = other > largest || std::isnan(other) ? other : largest;
  return largest / exact[0];
}

class Propagators {
 public:
  Propagators(Context& ctx, const GaugeField& field, const Settings& s)
      : ctx_(ctx), settings_(s),
        links_(std::make_shared<const PackedLinks<double>>(ctx, field, s.mixed ? Reals::r18 : s.reals, s.cut)),
        shape_(StaggeredOperator<double>(ctx, links_, 1).shape()) {
    if (s.mixed) {
      if (s.shorts)
        inner_ = inner_operators<Short>(field);
      else
        inner_ = inner_operators<float>(field);
      if (s.together)
        mixed_together_.emplace(ctx, shape_, static_cast<int>(s.masses.size()), s.reliable);
      else
        reliable_.emplace(ctx, shape_, s.reliable);
    } else if (s.together) {
      together_.emplace(ctx, shape_, static_cast<int>(s.masses.size()));
    } else {
      plain_.emplace(ctx, shape_);
    }
  }

  /// Of the links that steps are taken with.
  [[nodiscard]] double link_error() const { return inner_ ? inner_link_error_ : links_->error(); }

  /// A^-1 b for all masses.
  std::vector<Run> solve(int colour, GridView<const double> b, const std::vector<GridView<double>>& y,
                         const std::function<Monitor(double mass)>& monitor) {
    std::vector<Run> runs;
    const auto& masses = settings_.masses;
    if (settings_.together) {
      const double smallest = *std::min_element(masses.begin(), masses.end());
      std::vector<double> shifts;
      for (const double mass : masses) shifts.push_back((mass - smallest) * (mass + smallest));
      const StaggeredOperator<double> a(ctx_, links_, smallest);
      auto reports = mixed_together_ ? mixed_together_->solve(ctx_, a, *inner_(smallest), shifts, b, y, settings_.stop,
                                                              monitor(smallest))
                                     : together_->solve(ctx_, a, shifts, b, y, settings_.stop, monitor(smallest));
      for (std::size_t k = 0; k < masses.size(); ++k) runs.push_back({masses[k], colour, std::move(reports[k])});
      return runs;
    }
    for (std::size_t k = 0; k < masses.size(); ++k) {
      const StaggeredOperator<double> a(ctx_, links_, masses[k]);
      set(ctx_, 0, y[k]);
      Run run{masses[k], colour, {}};
      if (reliable_) {
        run.report = reliable_->solve(ctx_, a, *inner_(masses[k]), b, y[k], settings_.stop, monitor(masses[k]));
        run.updates = reliable_->updates();
      } else {
        run.report = plain_->solve(ctx_, a, nullptr, b, y[k], settings_.stop, monitor(masses[k]));
      }
      runs.push_back(std::move(run));
    }
    return runs;
  }

  [[nodiscard]] const GridShape& shape() const { return shape_; }
  [[nodiscard]] const LatticePiece& piece() const { return links_->piece(); }
  [[nodiscard]] StaggeredOperator<double> a(double mass) const { return {ctx_, links_, mass}; }

 private:
  using InnerOperators = std::function<std::unique_ptr<LinearOperator<float>>(double mass)>;
  template <class Format>
  InnerOperators inner_operators(const GaugeField& field) {
    const auto links = std::make_shared<const PackedLinks<Format>>(ctx_, field, settings_.reals, settings_.cut);
    inner_link_error_ = links->error();
    return [this, links](double mass) { return std::make_unique<StaggeredOperator<Format>>(ctx_, links, mass); };
  }

  Context& ctx_;
  const Settings& settings_;
  std::shared_ptr<const PackedLinks<double>> links_;
  InnerOperators inner_;
  double inner_link_error_ = 0;
  GridShape shape_;
  std::optional<ReliableCg> reliable_;
  std::optional<MultiShiftCg<double>> together_;
  std::optional<MixedMultiShiftCg> mixed_together_;
  std::optional<ConjugateGradients<double>> plain_;
};

Outcome compute(Context& ctx, const GaugeField& field, const Settings& s) {
  Outcome outcome;
  const double begin = wall_seconds();
  Propagators propagators(ctx, field, s);
  outcome.link_error = propagators.link_error();
  const bool unit = s.gauge.empty() && s.field == Field::unit;
  std::vector<Vector<double>> y;
  std::vector<GridView<double>> views;
  for (std::size_t k = 0; k < s.masses.size(); ++k) y.emplace_back(ctx, propagators.shape());
  for (auto& vector : y) views.push_back(vector.view());
  const LatticePiece& piece = propagators.piece();
  outcome.correlators.assign(s.masses.size(), std::vector<double>(static_cast<std::size_t>(piece.lattice().nt)));
  outcome.condensates.assign(s.masses.size(), 0);
  outcome.setup_seconds = wall_seconds() - begin;
  Progress progress(!s.quiet);
  const int colours = s.source == Source::random ? 1 : 3;
  for (int colour = 0; colour < colours; ++colour) {
    const auto b = vector_from_host(ctx, of_piece(piece, source(field.lattice, s.source, colour, s.seed)));
    const double norm = norm2(ctx, b.cview());
    const double start = wall_seconds();
    auto runs = propagators.solve(colour, b.cview(), views, [&](double mass) -> Monitor {
      if (s.quiet) return {};
      // One table is enough.
      if (colour > 0 || mass != (s.together ? *std::min_element(s.masses.begin(), s.masses.end()) : s.masses[0]))
        return with_progress(progress, s.stop, norm, {});
      return with_progress(progress, s.stop, norm, residual_table(s.stop.reference_norm, norm));
    });
    ctx.synchronise();
    outcome.solve_seconds += wall_seconds() - start;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (s.source != Source::random) {
        add_pion(ctx, propagators.a(s.masses[k]), y[k].cview(), outcome.correlators[k]);
        outcome.condensates[k] += dot(ctx, b.cview(), y[k].cview());
      }
      if (unit && s.source == Source::point)
        outcome.error = std::max(outcome.error.value_or(0), error_of(ctx, piece, s.masses[k], colour, y[k].cview()));
      outcome.runs.push_back(std::move(runs[k]));
    }
  }
  progress.clear();
  for (auto& correlator : outcome.correlators) correlator = joined_correlator(ctx, piece, correlator);
  return outcome;
}

/// How far the sum of the correlator is from what the Ward identity says, relative; the largest of all masses.
double ward_difference(const Outcome& outcome) {
  double largest = 0;
  for (std::size_t k = 0; k < outcome.correlators.size(); ++k) {
    const auto& c = outcome.correlators[k];
    const double apart = std::abs(std::accumulate(c.begin(), c.end(), 0.0) / outcome.condensates[k] - 1);
    largest = apart > largest || std::isnan(apart) ? apart : largest;
  }
  return largest;
}

/// The one that went worst: what the program says of all.
const SolveReport& worst(const std::vector<Run>& runs, bool asked_for) {
  return std::max_element(runs.begin(), runs.end(),
                          [&](const Run& a, const Run& b) {
                            return exit_code(a.report.status, asked_for) < exit_code(b.report.status, asked_for);
                          })
      ->report;
}

// --- printing and writing -----------------------------------------------------------------------------------------------

void print_heading(const Context& ctx, const GaugeField& field, const Settings& s) {
  const Lattice& l = field.lattice;
  std::printf("lattice     %d x %d x %d x %d sites, antiperiodic in t; %d unknowns on the even ones\n", l.nx, l.ny,
              l.nz, l.nt, 6 * l.half());
  std::printf("field       %s, plaquette %.6f, link trace %.6f\n",
              !s.gauge.empty()           ? s.gauge.c_str()
              : s.field == Field::unit   ? "unit"
              : s.field == Field::random ? "random"
                                         : message("near the unit field, sigma ", s.sigma).c_str(),
              plaquette(field), link_trace(field));
  if (ctx.pieces() > 1) {
    const auto piece = LatticePiece::of(ctx, l, s.cut);
    std::printf("ranks       %d, with %d times%s each; %s\n", ctx.pieces(), piece.lattice().nt,
                piece.is_cut(2) ? message(" and nz = ", piece.lattice().nz).c_str() : "",
                *piece.cut.overlap ? "work goes on while sites travel" : "sites travel first");
  }
  if (!s.machine.alone.empty()) std::printf("ranks       %s\n", s.machine.alone.c_str());
  const int reals = static_cast<int>(s.reals);
  if (s.mixed)
    std::printf(
        "solver      conjugate gradients, steps in float with %d reals%s a link (%d bytes a site and D), residuals in "
        "double%s; %s\n\n",
        reals, s.shorts ? " of 16 bits" : "",
        s.shorts ? bytes_per_site<Short>(s.reals) : bytes_per_site<float>(s.reals),
        s.together ? ", all masses together" : "", ctx.description().c_str());
  else
    std::printf("solver      conjugate gradients in double with %d reals a link (%d bytes a site and D)%s; %s\n\n",
                reals, bytes_per_site<double>(s.reals), s.together ? ", all masses together" : "",
                ctx.description().c_str());
}

void print_outcome(const Outcome& outcome, const Settings& s, const SolveReport& report) {
  std::printf("\n%10s %7s %11s %8s %12s  %s\n", "mass", "colour", "iterations", "updates", "residual", "status");
  for (const auto& run : outcome.runs)
    std::printf("%10g %7d %11d %8d %12.3e  %s\n", run.mass, run.colour, run.report.iterations, run.updates,
                run.report.relative_residual(), std::string(to_string(run.report.status)).c_str());
  if (s.source != Source::random) {
    std::printf("\n%10s %14s %10s %18s %18s\n", "mass", "pion mass^2", "by mass", "effective, t = 0", "t = 1");
    for (std::size_t k = 0; k < s.masses.size(); ++k) {
      const double square = pion_mass_squared(outcome.correlators[k]);
      const auto effective = effective_masses(outcome.correlators[k]);
      const auto at = [&](std::size_t t) { return t < effective.size() ? effective[t] : std::nan(""); };
      std::printf("%10g %14.6f %10.4f %18.4f %18.4f\n", s.masses[k], square, square / s.masses[k], at(0), at(1));
    }
    std::printf("ward        %.1e (the sum of the correlator is (b, A^-1 b), relative)\n", ward_difference(outcome));
  }
  std::printf("\nstatus      %s: %s\n", std::string(to_string(report.status)).c_str(), report.reason.c_str());
  if (outcome.error)
    std::printf("error       %.3e (largest, relative to the propagator by Fourier transform at the origin)\n",
                *outcome.error);
  std::printf("time        %.3g s set-up, %.3g s solve\n", outcome.setup_seconds, outcome.solve_seconds);
}

std::string json_report(const CommandLine& options, const Context& ctx, const GaugeField& field, const Settings& s,
                        const Outcome& outcome, const SolveReport& report) {
  JsonObject json;
  json.add("program", "staggered").add("version", STRATUM_VERSION);
  add_end(json, report, exit_code(report.status, s.tolerance_asked_for));
  json.add("rtol", s.stop.rtol).add("error", outcome.error.value_or(std::nan("")));
  json.add("lattice", json_array(field.lattice.extents(), [](int n) { return n; }));
  json.add("field", s.gauge.empty() ? options.text("field") : s.gauge).add("sigma", s.sigma).add("seed", s.seed);
  json.add("plaquette", plaquette(field)).add("link_trace", link_trace(field));
  json.add("source", options.text("source"))
      .add("precision", s.mixed ? options.text("precision") : "double")
      .add("together", s.together);
  json.add("reals", static_cast<int>(s.reals)).add("link_error", outcome.link_error);
  json.add("delta", s.reliable.delta).add("scheme", options.text("scheme")).add("beta", options.text("beta"));
  json.add("solution_in_double", s.reliable.solution_in_double);
  add_machine(json, ctx);
  const auto piece = LatticePiece::of(ctx, field.lattice, s.cut);
  json.add("ranks", ctx.pieces()).add("cut", Json({piece.cut.t, piece.cut.z})).add("overlap", *piece.cut.overlap);
  if (!s.machine.alone.empty()) json.add("solved_on_one", s.machine.alone);
  json.add("setup_seconds", outcome.setup_seconds).add("solve_seconds", outcome.solve_seconds);
  json.add("runs", json_array(outcome.runs, [](const Run& run) {
             Json row;
             row["mass"] = run.mass;
             row["colour"] = run.colour;
             row["iterations"] = run.report.iterations;
             row["updates"] = run.updates;
             row["relative_residual"] = run.report.relative_residual();
             row["status"] = to_string(run.report.status);
             row["reason"] = run.report.reason;
             return row;
           }));
  if (s.source != Source::random) {
    json.add("correlators", Json(outcome.correlators)).add("ward_difference", ward_difference(outcome));
    json.add("pion_mass_squared", json_array(outcome.correlators, pion_mass_squared));
  }
  return json.text();
}

std::string csv_correlators(const Outcome& outcome, const Settings& s) {
  std::ostringstream out;
  out.precision(17);
  out << "mass,t,correlator,effective_mass\n";
  for (std::size_t k = 0; k < s.masses.size(); ++k) {
    const auto& c = outcome.correlators[k];
    const auto effective = effective_masses(c);
    for (std::size_t t = 0; t < c.size(); ++t) {
      out << s.masses[k] << ',' << t << ',' << c[t] << ',';
      if (t < effective.size() && std::isfinite(effective[t])) out << effective[t];
      out << '\n';
    }
  }
  return out.str();
}

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding("staggered");
  Context ctx = settings.machine.context();
  const Lattice lattice = settings.gauge.empty() ? settings.lattice : nersc_lattice(settings.gauge);
  const auto expect_pieces = [&] { (void)LatticePiece::of(ctx, lattice, settings.cut); };
  if (settings.cut.t > 0)
    parsed("--cut", expect_pieces);
  else
    expect_pieces();
  if (settings.machine.ranks->rank() == 0)
    outputs.check();
  else
    outputs.remove_all_but("");
  if (const auto why = settings.machine.too_few(lattice.volume(), least_sites_for_several_gpus, "sites");
      !why.empty()) {
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
    settings.cut.t = settings.cut.z = 0;
  }
  expect_room_for(ctx, settings, lattice);
  const GaugeField field = make_field(settings);
  if (!settings.quiet) print_heading(ctx, field, settings);
  const Outcome outcome = compute(ctx, field, settings);
  const SolveReport& report = worst(outcome.runs, settings.tolerance_asked_for);
  const int code = exit_code(report.status, settings.tolerance_asked_for);
  if (!settings.quiet)
    print_outcome(outcome, settings, report);
  else if (code != 0)
    print_failure("staggered", report);
  outputs.write_text("report", json_report(options, ctx, field, settings, outcome, report));
  std::vector<SolveReport> reports;
  for (const auto& one : outcome.runs) reports.push_back(one.report);
  outputs.write_text("history", csv_history(reports));
  if (code == 0) outputs.write_text("correlator", csv_correlators(outcome, settings));
  outputs.write("save-gauge", [&](const std::string& path) { write_nersc(path, field); });
  if (!settings.quiet) outputs.print_written();
  return settings.machine.ended(code);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{"staggered",
                  before_options,
                  message(examples, about_outputs, about_exit_codes),
                  make_command_line(),
                  {},
                  [&ranks](const CommandLine& options) -> std::function<int()> {
                    Settings settings = parse_settings(options);
                    settings.machine.ranks = &ranks;
                    return [settings, outputs = OutputFiles(options), &options] {
                      return run(settings, options, outputs);
                    };
                  }};
  return run_program(program, argc, argv, &ranks);
}
