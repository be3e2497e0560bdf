#include "system.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/expression.hpp>

#include "support/problem_options.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::bubbly {

namespace {

/// f of every cell times its area.
std::vector<double> load_of(const Settings& s) {
  const double hx = s.cell_width(), hy = s.cell_height();
  std::vector<double> b(s.cells(), 0.0);
  const auto at = [&](int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(s.nx) + static_cast<std::size_t>(i);
  };
  if (s.rhs == "gravity") {
    // 1/density grad p = g but for what makes the flow free of divergence: the walls carry it.
    for (int i = 0; i < s.nx; ++i) {
      b[at(i, 0)] = hx;
      b[at(i, s.ny - 1)] = -hx;
    }
    return b;
  }
  if (s.rhs.starts_with(file_prefix)) {
    return parsed("--rhs", [&] {
      const auto file = parse_cell_file(std::string_view(s.rhs).substr(file_prefix.size()));
      const auto read = read_cell_values(file.path, file.array);
      expects(read.size() == 1 && read.front().nx == s.nx && read.front().ny == s.ny, "'", file.path, "' has ",
              read.size(), " numbers on ", read.front().nx, " x ", read.front().ny, " cells, not one on ", s.nx, " x ",
              s.ny);
      for (std::size_t k = 0; k < b.size(); ++k) b[k] = read.front().values[k] * hx * hy;
      return b;
    });
  }
  const ScalarFunction f =
      parsed("--rhs", [&] { return parse_expression(s.rhs, s.width, s.height, Variables::space); });
  for (int j = 0; j < s.ny; ++j)
    for (int i = 0; i < s.nx; ++i) {
      const double x = (i + 0.5) * hx, y = (j + 0.5) * hy;
      const double value = f({x, y, s.width - x, s.height - y, x, y});
      expects(std::isfinite(value), "--rhs: '", shown(s.rhs), "' is ", value, " at (", x, ", ", y, ")");
      b[at(i, j)] = value * hx * hy;
    }
  return b;
}

/// Between walls nothing flows out, so that the sum must be zero: of a system whose p is known up to a constant, and of one
/// that is pinned, where the pinned cell would take up what is left as a source or sink of its own.
void make_compatible(const Settings& s, std::vector<double>& b) {
  double sum = 0, magnitudes = 0;
  for (const double value : b) {
    sum += value;
    magnitudes += std::abs(value);
  }
  constexpr double rounding = 1e-8;
  expects(std::abs(sum) <= rounding * magnitudes || s.project,
          "--rhs: singular problem (walls all around) with an incompatible right-hand side: its sum is ", sum, ", ",
          100 * std::abs(sum) / magnitudes, " % of the sum of magnitudes. Use --project to subtract its mean");
  for (double& value : b) value -= sum / static_cast<double>(b.size());
}

RightHandSide make_rhs(const Settings& s, const PressureSystem& system, int threads) {
  RightHandSide rhs;
  if (s.rhs == "white") {
    rhs.b = white_noise(s.cells(), s.seed, system.links.walls);
  } else if (s.rhs == "ax") {
    rhs.solution = uniform_noise(s.cells(), s.seed);
    Context host(Backend::cpu, threads);
    const auto a = five_point_operator(host, system.links);
    Field<double> x(host, a.shape()), b(host, a.shape());
    copy_from_host(host, rhs.solution.data(), x.view());
    a.apply(host, x.cview(), b.view());
    rhs.b.resize(s.cells());
    copy_to_host(host, b.cview(), rhs.b.data());
  } else {
    rhs.b = load_of(s);
  }
  // A times a solution is what it is; pinned, it does not balance, and has that solution.
  if (system.is_singular() || (s.pinned && s.rhs != "ax")) make_compatible(s, rhs.b);
  return rhs;
}

}  // namespace

PressureSystem make_system(const Settings& s, int threads) {
  auto system = [&] {
    switch (s.problem) {
      case Problem::poisson: return poisson_system(s.nx, s.ny);
      case Problem::layers: return layered_system(s.nx, s.contrast);
      case Problem::phase:
        return parsed("--phase", [&] {
          return flow_system(s.nx, s.ny, densities_of_phase(s.nx, s.ny, s.phase, s.inside, s.outside), s.width,
                             s.height, threads);
        });
      default:
        return flow_system(s.nx, s.ny,
                           densities_of_discs(s.nx, s.ny, s.bubbles, s.inside, s.outside, s.width, s.height, threads),
                           s.width, s.height, threads);
    }
  }();
  if (s.pinned) pin(system.links, s.nx - 1, s.ny - 1);
  return system;
}

std::future<RightHandSide> start_rhs(const Settings& s, const PressureSystem& system, int threads) {
  if (s.rhs == "white" && threads > 1)
    return std::async(std::launch::async, [&s, &system, threads] { return make_rhs(s, system, threads); });
  std::promise<RightHandSide> ready;
  ready.set_value(make_rhs(s, system, threads));
  return ready.get_future();
}

double relative_error(std::vector<double> p, std::vector<double> exact, bool singular) {
  double difference = 0, norm = 0;
  for (auto* values : {&p, &exact}) {
    double mean = 0;
    for (const double value : *values) mean += value;
    mean /= static_cast<double>(values->size());
    if (singular)
      for (double& value : *values) value -= mean;
  }
  for (std::size_t k = 0; k < p.size(); ++k) {
    difference += (p[k] - exact[k]) * (p[k] - exact[k]);
    norm += exact[k] * exact[k];
  }
  return std::sqrt(difference / norm);
}

void expect_room_for(const Context& ctx, const Settings& s) {
  const auto cells = static_cast<std::int64_t>(s.cells());
  expects(5 * cells < std::numeric_limits<int>::max(), "--cells: ", s.nx, " x ", s.ny,
          " make more than 2^31 entries of a matrix");
  constexpr std::int64_t host_words = 20, solver_words = 30;
  const std::int64_t solving = 8 * solver_words * cells;
  expect_room(ctx, message(s.nx, " x ", s.ny, " cells"), 8 * host_words * cells + (ctx.on_gpu() ? 0 : solving),
              solving);
}

}  // namespace stratum::apps::bubbly
