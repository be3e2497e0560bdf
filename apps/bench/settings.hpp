#pragma once

// What the options of stratum_bench ask for.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/operators/storage_formats.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "bench/peers/csr_peer.hpp"
#include "support/command_line.hpp"
#include "support/timing.hpp"

namespace stratum::apps::bench {

/// A smoother and, for those that solve lines, their order: NAME or NAME:simultaneous.
struct SmootherVariant {
  std::string name;
  LineOrder order = LineOrder::zebra;

  [[nodiscard]] bool solves_lines() const { return name == "adi" || name.starts_with("line_"); }
  [[nodiscard]] std::string label() const {
    return order == LineOrder::zebra ? name : message(name, ":", to_string(order));
  }
  [[nodiscard]] SmootherParams params() const {
    SmootherParams params;
    params.line_order = order;
    return params;
  }
};

[[nodiscard]] std::vector<SmootherVariant> all_smoothers();

/// What this process has spent on processors. With one thread that is the wall's time on an idle machine; on one shared
/// with others it is free of the waiting, though not of the bandwidth that they take.
[[nodiscard]] double cpu_seconds();

inline constexpr std::string_view sine_transforms_name = "sine-transforms", cudss_name = "cuDSS";

/// Of a box, in x, y and z.
using BoxCells = std::array<int, 3>;

/// Patches with so many cells a side: cylinder, triangles or squares.
struct PatchCase {
  std::string name;
  int cells = 0;
};

struct Settings {
  bool kernels = true, solves = true, lines = true, coefficients = true, matrices = true, in_boxes = true,
       on_patches = true;
  std::vector<BoxCells> boxes;
  std::vector<PatchCase> patches;
  std::vector<int> levels;
  std::vector<std::string> meshes;
  std::vector<StorageFormat> kernel_formats{StorageFormat::tensor, StorageFormat::cell, StorageFormat::symmetric,
                                            StorageFormat::nine_band};
  std::vector<StorageFormat> solve_formats{StorageFormat::tensor};
  BoundaryConditions boundaries;           // of the grids of the kernels
  std::vector<SmootherVariant> smoothers;  // of the solves
  std::vector<std::string> peers;          // solvers of hypre
  std::vector<std::string> box_peers;      // those in boxes: on a GPU there are no others
  std::vector<CsrPeer> csr_peers;          // of matrices in CSR
  bool sine_transforms = false;            // on uniform meshes
  bool cudss = false;
  std::string no_peers;     // why there are none
  std::string no_cusparse;  // why it takes no part
  int finest_peer_level = 0;
  int rounds = 1;
  Stopwatch now = wall_seconds;
  bool quick = false;
};

/// Throws UsageError, which names the option, where options do not fit each other or the machine.
[[nodiscard]] Settings parse_settings(const CommandLine& options, const Context& ctx);

/// Throws ResourceError when the Context's machine has not as many bytes.
inline void expect_available(const Context& ctx, std::int64_t needed, const char* about = "") {
  const auto there = available_memory(ctx);
  if (needed > there) throw ResourceError(message(about, needed >> 20, " MiB needed, ", there >> 20, " available"));
}

}  // namespace stratum::apps::bench
