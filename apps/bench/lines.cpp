#include "lines.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/lines/tridiagonal.hpp>

#include "bench/peers/cusparse.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::bench {

namespace {

/// All methods and peers on 2^level lines of 2^level unknowns, in both directions. Whoever differs from the first is an
/// error.
template <class T>
void measure_level(Recorder& recorder, int level, Json& rows) {
  Context& ctx = recorder.ctx();
  const Settings& settings = recorder.settings();
  const int n = 1 << level;
  const GridLayout<2> shape{n, n};
  const int vectors = settings.no_cusparse.empty() ? 10 : 6;  // cuSPARSE has layouts of its own
  expect_available(ctx, vectors * field_bytes<T>(ctx.backend(), shape));
  std::printf("\n%d lines of %d, %s\n", n, n, precision_of<T>);
  print_rate_heading("method");

  Operands<T> operands(ctx, shape);  // r: the first solution
  Field<T> lower(ctx, shape), centre(ctx, shape), upper(ctx, shape);
  const TridiagonalView<T> a{lower.cview(), centre.cview(), upper.cview()};
  for (const auto direction : {Direction::x, Direction::y}) {
    const bool along_x = direction == Direction::x;
    set(ctx, T(-1), lower.view());
    set(ctx, T(3), centre.view());
    set(ctx, T(-1), upper.view());
    FieldView<T> first = lower.view(), last = upper.view();  // what couples to no unknown
    (along_x ? first.nx : first.ny) = (along_x ? last.nx : last.ny) = 1;
    last.data += along_x ? n - 1 : (n - 1) * last.pitch;
    const std::vector<T> zeros(static_cast<std::size_t>(n));
    copy_from_host(ctx, zeros.data(), first);
    copy_from_host(ctx, zeros.data(), last);

    const auto entry = [&](const std::string& method) {
      JsonObject json;
      json.add("level", level).add("lines", n).add("length", n).add("direction", along_x ? "x" : "y");
      json.add("precision", precision_of<T>).add("method", method);
      return json;
    };
    const auto report = [&](const std::string& method, double seconds) {
      const std::string label = message(method, along_x ? " x" : " y");
      rows.push_back(recorder.rate(entry(method), label, 5, static_cast<double>(shape.nodes()), sizeof(T), seconds));
    };
    const auto compare = [&](const std::string& method) {  // what it left in x
      axpy<T, T>(ctx, -1, operands.r.cview(), operands.x.view());
      const double difference = norm_max(ctx, operands.x.cview());
      if (!(difference < (sizeof(T) == sizeof(float) ? 1e-5 : 1e-13)))
        throw std::runtime_error(message(method, " differs from segments by ", difference));
    };
    for (const auto method : {TridiagonalMethod::segments, TridiagonalMethod::cyclic_reduction,
                              TridiagonalMethod::cyclic_reduction_in_place}) {
      const std::string name(to_string(method));
      std::optional<TridiagonalSolver<T>> solver;
      try {
        solver.emplace(ctx, shape, direction, method);
      } catch (const UsageError& error) {
        std::printf("%s %s: left out, %s\n", name.c_str(), along_x ? "x" : "y", error.what());
        rows.push_back(entry(name).add("left_out", error.what()).value());
        continue;
      }
      report(name, seconds_per_call(ctx, settings.now, operands,
                                    [&] { solver->solve(ctx, a, operands.b.cview(), operands.x.view()); }));
      if (method == TridiagonalMethod::segments) copy<T, T>(ctx, operands.x.cview(), operands.r.view());
      compare(name);
    }
    if (!settings.no_cusparse.empty()) continue;
    CusparseLines<T> peer(ctx, shape, direction);
    const auto load = [&] { peer.load(ctx, a, operands.b.cview()); };
    const auto seconds = [&](const auto& kernel) { return seconds_per_call(ctx, settings.now, operands, kernel); };
    load();
    peer.solve();
    peer.store(ctx, operands.x.view());
    compare(peer.name());
    report(peer.name(), peer.overwrites_coefficients() ? seconds([&] { load(), peer.solve(); }) - seconds(load)
                                                       : seconds([&] { peer.solve(); }));
  }
}

}  // namespace

std::string line_peer(const Settings& settings) {
  return settings.no_cusparse.empty() ? "cuSPARSE " + cusparse_version() : "none, " + settings.no_cusparse;
}

Json measure_lines(Recorder& recorder) {
  Json rows = Json::array();
  std::printf("\ntridiagonal systems; peer: %s\n", line_peer(recorder.settings()).c_str());
  for (const int level : recorder.settings().levels) {
    recorder.attempt(message("lines of level ", level, ", float"),
                     [&] { measure_level<float>(recorder, level, rows); });
    recorder.attempt(message("lines of level ", level, ", double"),
                     [&] { measure_level<double>(recorder, level, rows); });
  }
  return rows;
}

}  // namespace stratum::apps::bench
