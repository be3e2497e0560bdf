#include "ranks.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace stratum::apps::poisson3d {

std::vector<RankNumbers> numbers_of_ranks(const Context& ctx, const Machine& machine, const BoxSolverPlan& plan,
                                          const GridLayout<3>& unknowns, RankNumbers own) {
  const auto axis = static_cast<std::size_t>(plan.lines);
  own.first_row = unknowns.first[axis];
  own.rows = std::array{unknowns.extents.nx, unknowns.extents.ny, unknowns.extents.nz}[axis];
  own.distributed_levels = plan.distributed_levels();
  return rank_numbers(ctx, machine, own);
}

void print_ranks(const Context& ctx, const BoxSolverPlan& plan, const std::vector<RankNumbers>& ranks) {
  if (ranks.empty()) return;
  const int levels = ranks.front().distributed_levels;
  const std::string of_levels = plan.levels.empty() ? ""
                                                    : message("; ", levels, levels == 1 ? " level is" : " levels are",
                                                              " distributed, the others replicated on every rank");
  std::printf("ranks     %zu, with %s planes of unknowns across %c each%s%s\n", ranks.size(), rows_text(ranks).c_str(),
              axis_names[static_cast<std::size_t>(plan.lines)], of_levels.c_str(),
              ctx.on_gpu() ? exchange_text(*ctx.communicator()).c_str() : "");
  print_memory_of_ranks(ranks);
}

void add_ranks(JsonObject& json, const Context& ctx, const BoxSolverPlan& plan, const std::vector<RankNumbers>& ranks) {
  if (ranks.empty()) return;
  json.add("ranks_exchange_by", std::string(ctx.communicator()->name()));
  if (plan.kind == BoxMethod::multigrid) json.add("distributed_levels", ranks.front().distributed_levels);
  json.add("ranks", json_array(ranks, [](const RankNumbers& rank) {
             JsonObject numbers;
             numbers.add("first_plane", rank.first_row).add("planes", rank.rows).add("threads", rank.threads);
             add_rank(numbers, rank);
             return numbers.value();
           }));
}

}  // namespace stratum::apps::poisson3d
