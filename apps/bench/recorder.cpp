#include "recorder.hpp"

#include <algorithm>
#include <limits>
#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/version.h>

#include "support/timing.hpp"

namespace stratum::apps::bench {

void print_rate_heading(const char* what) {
  std::printf("%-28s %8s %10s %9s %7s\n", what, "words", "ms", "GB/s", "% copy");
}

Recorder::Recorder(Context& ctx, const Settings& settings) : ctx_(ctx), settings_(settings) {
  // One piece of memory on a GPU, where the device's own copy is what kernels are measured against.
  const GridLayout<2> shape = settings.quick ? GridLayout<2>{4096, 2048}
                              : ctx.on_gpu() ? GridLayout<2>::flat(1 << 28)
                                             : GridLayout<2>{4096, 8192};
  Operands<double> operands(ctx, shape);
  const double seconds = seconds_per_call(
      ctx, settings.now, operands, [&] { copy<double, double>(ctx, operands.x.cview(), operands.r.view()); }, 21);
  copy_bytes_ = static_cast<double>(shape.nodes()) * sizeof(double);
  copy_rate_ = 2 * copy_bytes_ / seconds;
  std::printf("stratum_bench %s on %s; copy of %.0f MiB: %.4g GB/s\n", STRATUM_VERSION, ctx.description().c_str(),
              copy_bytes_ / 1048576, copy_rate_ * 1e-9);
}

Json Recorder::rate(JsonObject json, const std::string& name, double words, double unknowns, std::size_t bytes,
                    double seconds) const {
  const double rate = words * unknowns * static_cast<double>(bytes) / seconds;
  std::printf("%-28s %8.4g %10.4f %9.1f %7.1f\n", name.c_str(), words, seconds * 1e3, rate * 1e-9,
              100 * rate / copy_rate_);
  json.add("words_per_unknown", words).add("milliseconds", seconds * 1e3).add("gb_per_s", rate * 1e-9);
  return json.add("percent_of_copy", 100 * rate / copy_rate_).value();
}

double seconds_of(const Recorder& recorder, const std::function<void()>& run) {
  const Stopwatch now = recorder.settings().now;
  constexpr int samples = 5;
  double shortest = std::numeric_limits<double>::infinity();
  Communicator* const ranks = recorder.ctx().communicator();
  for (int k = 0; k <= samples; ++k) {
    recorder.ctx().synchronise();
    if (ranks != nullptr) ranks->barrier();
    const double begin = now();
    run();
    recorder.ctx().synchronise();
    double seconds = now() - begin;
    if (ranks != nullptr) {
      const auto of_ranks = ranks->gather_on_host(seconds);
      seconds = *std::max_element(of_ranks.begin(), of_ranks.end());
    }
    if (k > 0) shortest = std::min(shortest, seconds);
  }
  return shortest;
}

}  // namespace stratum::apps::bench
