#pragma once

// What ranks of one run tell each other and write together: that the memory of all suffices, what each has had to do, nodal
// values of all, and files for ParaView with a subdomain of every rank.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/resource.h>

#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/comm/faults.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/mesh/vtk/vts.hpp>
#include <stratum/multigrid/box_planes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "json.hpp"
#include "output_files.hpp"
#include "program.hpp"
#include "solve_output.hpp"

namespace stratum::apps {

/// Bytes of the machine's own memory that were resident at most so far.
[[nodiscard]] inline std::int64_t peak_memory() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

/// For messages.
[[nodiscard]] inline std::string named(const TensorMesh<2>& mesh) {
  return message("mesh ", mesh.name(), " with ", mesh.unknowns().nx, " x ", mesh.unknowns().ny, " unknowns");
}

/// expect_room of solve_output.hpp, of several ranks for all of them before any goes on: a host has to hold what its ranks take
/// together, at most as much as so many that take most. Throws on all where it does not on one.
inline void expect_room_on_ranks(const Context& ctx, const Machine& machine, const std::string& what, std::int64_t host,
                                 std::int64_t device, const std::string& advice = "") {
  if (!machine.has_ranks()) return expect_room(ctx, what, host, device, advice);
  auto& communicator = *machine.ranks->communicator();
  auto of_ranks = communicator.gather_on_host(host);
  std::sort(of_ranks.begin(), of_ranks.end(), std::greater<>());
  const std::int64_t together =
      std::accumulate(of_ranks.begin(), of_ranks.begin() + machine.ranks->ranks_of_host(), std::int64_t{0});
  std::string reason;
  try {
    expect_room(ctx, message(what, ", ", machine.ranks->ranks_of_host(), " ranks on a host,"), together, device,
                advice);
  } catch (const ResourceError& error) {
    reason = error.what();
  }
  const auto [rank, text] = first_fault(communicator, reason);
  if (!text.empty()) throw ResourceError(rank == 0 ? text : message("rank ", rank, ": ", text));
}

/// What one of several ranks has had to do.
struct RankNumbers {
  int first_row = 0, rows = 0, distributed_levels = 0;  // of unknowns; of the hierarchy
  int threads = 0, gpu = -1;
  std::int64_t exchanges = 0, gathers = 0;
  double setup_seconds = 0, solve_seconds = 0;
  std::int64_t expected_memory = 0, peak_memory = 0;
};

/// Of all ranks; none where there is one. `own`: with its rows, seconds and expected memory.
[[nodiscard]] inline std::vector<RankNumbers> rank_numbers(const Context& ctx, const Machine& machine,
                                                           RankNumbers own) {
  if (ctx.subdomains() == 1) return {};
  auto& communicator = *ctx.communicator();
  own.threads = ctx.threads();
  own.gpu = ctx.on_gpu() ? machine.ranks->rank_on_host() : -1;
  own.exchanges = communicator.exchanges();
  own.gathers = communicator.gathers();
  own.peak_memory = peak_memory();
  return communicator.gather_on_host(own);
}

/// The same of the levels of a hierarchy.
[[nodiscard]] inline std::vector<RankNumbers> rank_numbers(const Context& ctx, const Machine& machine,
                                                           const PartitionLevels& partition, double setup_seconds,
                                                           double solve_seconds, std::int64_t expected_memory) {
  const GridLayout<2>& subdomain = partition.finest();
  return rank_numbers(ctx, machine,
                      {.first_row = subdomain.origin_y,
                       .rows = subdomain.ny,
                       .distributed_levels = partition.distributed(),
                       .setup_seconds = setup_seconds,
                       .solve_seconds = solve_seconds,
                       .expected_memory = expected_memory});
}

/// Rows beside every rank's own, of distributed levels, the finest first: none of those that are smoothed exactly.
using RankOverlaps = std::vector<std::vector<OverlapRows>>;

/// "", ", 2 by overlap of 18 rows", ", 2 by overlap of 18 to 20 rows".
[[nodiscard]] inline std::string overlap_text(const RankOverlaps& overlaps) {
  std::vector<int> rows;
  for (const auto& level : overlaps)
    for (const OverlapRows& beside : level)
      for (const int count : {beside.below, beside.above})
        if (count > 0) rows.push_back(count);
  if (rows.empty()) return "";
  const auto levels = std::count_if(overlaps.begin(), overlaps.end(), [](const auto& level) { return !level.empty(); });
  const auto [fewest, most] = std::minmax_element(rows.begin(), rows.end());
  return message(", ", levels, " by overlap of ", *fewest == *most ? "" : message(*fewest, " to "), *most, " rows");
}

/// The most rows beside a rank's own, by levels; 0 where there are none.
[[nodiscard]] inline std::vector<int> most_rows(const RankOverlaps& overlaps) {
  std::vector<int> most;
  for (const auto& level : overlaps) {
    most.push_back(0);
    for (const OverlapRows& beside : level) most.back() = std::max(most.back(), beside.most());
  }
  return most;
}

/// By what GPUs exchange rows.
[[nodiscard]] inline std::string exchange_text(const Communicator& communicator) {
  const std::string_view name = communicator.name();
  return name == "nccl" ? "; by NCCL" : name == "peer" ? "; by the GPUs' stores" : "; by MPI through the host";
}

/// Rows or planes of each: "16", "15 to 16".
[[nodiscard]] inline std::string rows_text(const std::vector<RankNumbers>& ranks) {
  const auto [fewest, most] =
      std::minmax_element(ranks.begin(), ranks.end(), [](const auto& l, const auto& r) { return l.rows < r.rows; });
  return fewest->rows == most->rows ? message(most->rows) : message(fewest->rows, " to ", most->rows);
}
inline void print_memory_of_ranks(const std::vector<RankNumbers>& ranks) {
  const auto largest = std::max_element(
      ranks.begin(), ranks.end(), [](const auto& l, const auto& r) { return l.expected_memory < r.expected_memory; });
  std::printf("memory    up to %lld MiB a rank expected\n", static_cast<long long>(largest->expected_memory >> 20));
}

inline void print_ranks(const Context& ctx, const std::vector<RankNumbers>& ranks, const RankOverlaps& overlaps = {}) {
  if (ranks.empty()) return;
  const int levels = ranks.front().distributed_levels;
  std::printf("ranks     %zu, with %s rows each; %d level%s distributed%s, the others replicated on every rank%s\n",
              ranks.size(), rows_text(ranks).c_str(), levels, levels == 1 ? " is" : "s are",
              overlap_text(overlaps).c_str(), ctx.on_gpu() ? exchange_text(*ctx.communicator()).c_str() : "");
  print_memory_of_ranks(ranks);
}

/// Of a rank, beside what it has of the grid.
inline void add_rank(JsonObject& json, const RankNumbers& rank) {
  if (rank.gpu >= 0) json.add("gpu", rank.gpu);
  json.add("exchanges", rank.exchanges).add("gathers", rank.gathers);
  json.add("setup_seconds", rank.setup_seconds).add("solve_seconds", rank.solve_seconds);
  json.add("expected_memory_bytes", rank.expected_memory).add("peak_memory_bytes", rank.peak_memory);
}

/// Why one GPU is faster with a solver than these ranks: distributed lines have to be solved exactly, in 39 kernels a level
/// and cycle for 8, on the finest level or, of few unknowns, on any (A5 with 2047 x 2047 unknowns by CG, H200: 3.1 ms on one,
/// 4.7 on two; A3 4.0 on four). Nothing where that is not so, or one has not the memory.
[[nodiscard]] inline std::string why_one_gpu(const Context& ctx, const StructuredSolver& solver, const Geometry& mesh) {
  constexpr std::int64_t few = 8'000'000;
  const auto overlaps = solver.overlaps();
  const int distributed = PartitionLevels(ctx, solver.meshes(), solver.params().multigrid.partition()).distributed();
  const bool any =
      std::any_of(overlaps.end() - distributed, overlaps.end(), [](const auto& level) { return level.empty(); });
  if (!overlaps.back().empty() && (!any || mesh.logical().unknowns().nodes() >= few)) return "";
  const Context alone = ctx.alone();
  const bool fits = required_memory(alone, mesh, solver.params()) < available_memory(alone);
  const auto all = ctx.communicator()->gather_on_host(fits ? 1 : 0);
  if (all.front() == 0) return "";
  return "distributed lines would have to be solved exactly, which takes several longer";
}

/// Of several ranks of which the first has gone on alone.
inline void print_alone(const Machine& machine) {
  if (!machine.alone.empty()) std::printf("ranks     %s\n", machine.alone.c_str());
}
inline void add_alone(JsonObject& json, const Machine& machine) {
  if (!machine.alone.empty()) json.add("solved_on_one", machine.alone);
}

/// All ranks learn from rank 0 whether there is a file for ParaView, or an array in its place.
inline void share_outputs(const Machine& machine, OutputFiles& outputs) {
  if (!machine.has_ranks()) return;
  const auto wanted = machine.ranks->communicator()->gather_on_host(outputs.has("vtk") ? 1 : 0);
  if (wanted[0] == 0) outputs.remove("vtk");
}

/// Nothing where there is one rank.
inline void add_ranks(JsonObject& json, const Context& ctx, const std::vector<RankNumbers>& ranks,
                      const RankOverlaps& overlaps = {}) {
  if (ranks.empty()) return;
  json.add("distributed_levels", ranks.front().distributed_levels);
  if (!overlaps.empty()) json.add("overlaps", most_rows(overlaps));
  json.add("ranks_exchange_by", std::string(ctx.communicator()->name()));
  std::size_t r = 0;
  json.add("ranks", json_array(ranks, [&](const RankNumbers& rank) {
             JsonObject numbers;
             numbers.add("first_row", rank.first_row).add("rows", rank.rows).add("threads", rank.threads);
             // Of the rank below and of the one above, by levels.
             if (!overlaps.empty())
               numbers.add("rows_beside", json_array(overlaps, [&](const auto& level) {
                             const OverlapRows beside = level.empty() ? OverlapRows{} : level[r];
                             return Json{beside.below, beside.above};
                           }));
             ++r;
             add_rank(numbers, rank);
             return numbers.value();
           }));
}

/// Values on a rank's rows of nodes, of several ranks on all nodes.
[[nodiscard]] inline std::vector<double> gathered(const Context& ctx, const TensorMesh<2>& mesh, const NodeRows& rows,
                                                  std::vector<double> nodal) {
  if (ctx.subdomains() == 1) return nodal;
  // The last row is the next rank's first.
  if (rows.last < mesh.y().size()) nodal.resize(nodal.size() - nodal.size() / static_cast<std::size_t>(rows.count()));
  return ctx.communicator()->join_on_host(nodal);
}

/// Of a rank's subdomain, beside the file that tells of all: out_0.vtr of out.pvtr, out_0.vts of out.pvts.
[[nodiscard]] inline std::string piece_name(const std::string& path, int rank) {
  const auto dot = path.rfind('.');
  return message(std::string_view(path).substr(0, dot), '_', rank, '.', std::string_view(path).substr(dot + 2));
}

/// Whether a rank's subdomain has this name.
[[nodiscard]] inline bool is_piece(const std::string& path, int ranks, const std::string& name) {
  for (int r = 0; r < ranks; ++r)
    if (name == std::filesystem::path(piece_name(path, r)).filename().string()) return true;
  return false;
}

/// Who writes files together: the ranks of the run, or its first one alone.
[[nodiscard]] inline std::shared_ptr<Communicator> communicator_of(const Machine& machine) {
  return machine.has_ranks() ? machine.ranks->communicator() : thread_communicators(1).front();
}

/// The ranks' subdomains first, write_own(its path), what tells of them last, write_all(pieces). Throws FileError on all ranks
/// where one could not write its subdomain, and leaves none.
template <class WriteOwn, class WriteAll>
void write_pieces(Communicator& communicator, const std::string& path, const NodeRows& rows, const WriteOwn& write_own,
                  const WriteAll& write_all) {
  const std::string own = piece_name(path, communicator.rank());
  const RemovedWhenInterrupted unfinished_piece(temporary_name(own));
  std::string reason;
  try {
    write_own(own);
  } catch (const FileError& error) {
    reason = error.what();
  }
  if (const std::string first = first_fault(communicator, reason).text; !first.empty()) {
    std::error_code error;
    if (reason.empty()) std::filesystem::remove(own, error);
    throw FileError(first);
  }
  const auto all = communicator.gather_on_host(rows);
  if (communicator.rank() > 0) return;
  std::vector<VtkPiece> pieces;
  for (std::size_t r = 0; r < all.size(); ++r)
    pieces.push_back({std::filesystem::path(piece_name(path, static_cast<int>(r))).filename().string(), all[r]});
  write_all(pieces);
}

inline void write_pieces(Communicator& communicator, const std::string& path, const ProblemMesh& mesh,
                         const NodeRows& rows, const std::vector<VtkField>& fields,
                         const std::vector<VtkField>& of_cells, VtkCompression compression = VtkCompression::fast) {
  const auto write_own = [&](const std::string& own) {
    if (mesh.mapped())
      write_vts_piece(own, *mesh.mapped(), rows, fields, of_cells, compression);
    else
      write_vtr_piece(own, mesh.logical(), rows, fields, of_cells, compression);
  };
  write_pieces(communicator, path, rows, write_own, [&](const std::vector<VtkPiece>& pieces) {
    if (mesh.mapped())
      write_pvts(path, mesh.logical(), pieces, fields, of_cells);
    else
      write_pvtr(path, mesh.logical(), pieces, fields, of_cells);
  });
}
/// The same of a box, fields at these planes of nodes and on the cells between.
inline void write_pieces(Communicator& communicator, const std::string& path, const TensorMesh<3>& mesh,
                         const NodePlanes& planes, const std::vector<VtkField>& fields,
                         const std::vector<VtkField>& of_cells, VtkCompression compression, int threads) {
  const NodeRows rows{planes.first, planes.last};
  write_pieces(
      communicator, path, rows,
      [&](const std::string& own) {
        write_vtr_piece(own, mesh, planes.axis, rows, fields, of_cells, compression, threads);
      },
      [&](const std::vector<VtkPiece>& all) { write_pvtr(path, mesh, planes.axis, all, fields, of_cells); });
}

}  // namespace stratum::apps
