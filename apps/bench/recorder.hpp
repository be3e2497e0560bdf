#pragma once

// What all measurements of stratum_bench share: where they run, the copy of a long vector that they stand beside, and what was
// left out.

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>

#include <stratum/core/device/context.hpp>

#include "bench/settings.hpp"
#include "support/json.hpp"

namespace stratum::apps::bench {

template <class T>
constexpr const char* precision_of = std::is_same_v<T, float> ? "float" : "double";

/// The heading of the lines that Recorder::rate prints.
void print_rate_heading(const char* what);

class Recorder {
 public:
  /// Measures the copy and prints it.
  Recorder(Context& ctx, const Settings& settings);

  [[nodiscard]] Context& ctx() const { return ctx_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] double copy_bytes() const { return copy_bytes_; }
  [[nodiscard]] double copy_rate() const { return copy_rate_; }  // bytes per second
  [[nodiscard]] const Json& left_out() const { return left_out_; }

  /// What does not fit, or leaves the range of float, is named and left out; the others go on. Of several ranks one that fails
  /// ends all.
  template <class Body>
  void attempt(const std::string& what, const Body& body) {
    if (ctx_.subdomains() > 1) return body();
    try {
      body();
    } catch (const std::exception& error) {
      std::printf("%s: left out, %s\n", what.c_str(), error.what());
      left_out_.push_back(message(what, ": ", error.what()));
    }
    (void)std::fflush(stdout);
  }

  /// Prints a line of a table: `words` numbers of `bytes` bytes each are moved for an unknown. Returns `json` with the same at
  /// its end.
  [[nodiscard]] Json rate(JsonObject json, const std::string& name, double words, double unknowns, std::size_t bytes,
                          double seconds) const;

 private:
  Context& ctx_;
  const Settings& settings_;
  double copy_bytes_ = 0, copy_rate_ = 0;
  Json left_out_ = Json::array();
};

/// The shortest of several times. Of several ranks those of the last one.
[[nodiscard]] double seconds_of(const Recorder& recorder, const std::function<void()>& run);

}  // namespace stratum::apps::bench
