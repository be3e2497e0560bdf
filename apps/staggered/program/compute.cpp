#include "compute.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>
#include <stratum/staggered/multi_shift_cg.hpp>
#include <stratum/staggered/nersc.hpp>
#include <stratum/staggered/propagator.hpp>

#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::propagators {

namespace {

double error_of(Context& ctx, const LatticeSubdomain& subdomain, double mass, int colour, FieldView<const double> y) {
  const auto exact = free_propagator(subdomain.whole, mass);
  std::vector<double> host(static_cast<std::size_t>(y.nx));
  copy_to_host(ctx, y, host.data());
  const auto half = static_cast<std::size_t>(subdomain.lattice().half());
  double largest = 0;
  for (std::size_t k = 0; k < host.size(); ++k) {
    const int s = subdomain.box().half_site(subdomain.whole, static_cast<int>(k % half));
    const auto site = static_cast<std::size_t>(subdomain.whole.site(Parity::even, s));
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
        links_(std::make_shared<const PackedLinks<double>>(ctx, field, s.mixed ? Reals::r18 : s.reals, s.partition)),
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
  std::vector<Run> solve(int colour, FieldView<const double> b, const std::vector<FieldView<double>>& y,
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

  [[nodiscard]] const GridLayout<2>& shape() const { return shape_; }
  [[nodiscard]] const LatticeSubdomain& subdomain() const { return links_->subdomain(); }
  [[nodiscard]] StaggeredOperator<double> a(double mass) const { return {ctx_, links_, mass}; }

 private:
  using InnerOperators = std::function<std::unique_ptr<LinearOperator<float>>(double mass)>;
  template <class Format>
  InnerOperators inner_operators(const GaugeField& field) {
    const auto links = std::make_shared<const PackedLinks<Format>>(ctx_, field, settings_.reals, settings_.partition);
    inner_link_error_ = links->error();
    return [this, links](double mass) { return std::make_unique<StaggeredOperator<Format>>(ctx_, links, mass); };
  }

  Context& ctx_;
  const Settings& settings_;
  std::shared_ptr<const PackedLinks<double>> links_;
  InnerOperators inner_;
  double inner_link_error_ = 0;
  GridLayout<2> shape_;
  std::optional<ReliableCg> reliable_;
  std::optional<MultiShiftCg<double>> together_;
  std::optional<MixedMultiShiftCg> mixed_together_;
  std::optional<ConjugateGradients<double>> plain_;
};

}  // namespace

void expect_room_for(const Context& ctx, const Settings& s, const Lattice& lattice) {
  const std::int64_t volume = lattice.volume(), half = volume / 2, reals = static_cast<int>(s.reals);
  const std::int64_t doubles = 4 * volume * (s.mixed ? 18 : reals);
  const std::int64_t floats = s.mixed ? 4 * volume * reals / (s.shorts ? 2 : 1) : 0;
  const std::int64_t vectors =
      6 * half * (s.mixed ? 8 + 4 : 9) + 6 * half * (s.together ? 2 * std::int64_t(s.masses.size()) : 0);
  const std::int64_t solving = (8 * doubles + 4 * floats + 8 * vectors) / ctx.subdomains();
  // Every rank has the field whole.
  const int sharing = s.machine.has_ranks() ? s.machine.ranks->ranks_of_host() : 1;
  const std::int64_t host = sharing * (GaugeField::bytes(lattice) + 9 * 8 * volume + (ctx.on_gpu() ? 0 : solving));
  expect_room(ctx, message(lattice.nx, " x ", lattice.ny, " x ", lattice.nz, " x ", lattice.nt, " sites"), host,
              solving);
}

GaugeField make_field(const Settings& s) {
  if (!s.gauge.empty()) return read_nersc(s.gauge);
  switch (s.field) {
    case StartField::unit: return GaugeField::unit(s.lattice);
    case StartField::random: return GaugeField::random(s.lattice, s.seed);
    case StartField::near: break;
  }
  return GaugeField::near_unit(s.lattice, s.sigma, s.seed);
}

Outcome compute(Context& ctx, const GaugeField& field, const Settings& s) {
  Outcome outcome;
  const double begin = wall_seconds();
  Propagators propagators(ctx, field, s);
  outcome.link_error = propagators.link_error();
  const bool unit = s.gauge.empty() && s.field == StartField::unit;
  std::vector<Field<double>> y;
  std::vector<FieldView<double>> views;
  for (std::size_t k = 0; k < s.masses.size(); ++k) y.emplace_back(ctx, propagators.shape());
  for (auto& vector : y) views.push_back(vector.view());
  const LatticeSubdomain& subdomain = propagators.subdomain();
  outcome.correlators.assign(s.masses.size(), std::vector<double>(static_cast<std::size_t>(subdomain.lattice().nt)));
  outcome.condensates.assign(s.masses.size(), 0);
  outcome.setup_seconds = wall_seconds() - begin;
  Progress progress(!s.quiet);
  const int colours = s.source == Source::random ? 1 : 3;
  for (int colour = 0; colour < colours; ++colour) {
    const auto b = vector_from_host(ctx, of_subdomain(subdomain, source(field.lattice, s.source, colour, s.seed)));
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
        outcome.error =
            std::max(outcome.error.value_or(0), error_of(ctx, subdomain, s.masses[k], colour, y[k].cview()));
      outcome.runs.push_back(std::move(runs[k]));
    }
  }
  progress.clear();
  for (auto& correlator : outcome.correlators) correlator = joined_correlator(ctx, subdomain, correlator);
  return outcome;
}

double ward_difference(const Outcome& outcome) {
  double largest = 0;
  for (std::size_t k = 0; k < outcome.correlators.size(); ++k) {
    const auto& c = outcome.correlators[k];
    const double apart = std::abs(std::accumulate(c.begin(), c.end(), 0.0) / outcome.condensates[k] - 1);
    largest = apart > largest || std::isnan(apart) ? apart : largest;
  }
  return largest;
}

const SolveReport& worst(const std::vector<Run>& runs, bool asked_for) {
  return std::max_element(runs.begin(), runs.end(),
                          [&](const Run& a, const Run& b) {
                            return exit_code(a.report.status, asked_for) < exit_code(b.report.status, asked_for);
                          })
      ->report;
}

}  // namespace stratum::apps::propagators
