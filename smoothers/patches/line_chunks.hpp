#pragma once

// Lines that run through patches of several ranks, in chunks, on the host and once a level.
//
// Solid chunk: what a line has in patches of one rank alone, nodes 0 .. n. With T the rows of its inner nodes,
//
//     v_0 = T^-1 l_1 e_1 ,   v_n = T^-1 u_(n-1) e_(n-1) ,
//
// (couplings l, u >= 0 to the nodes before and after), elimination of the inner nodes leaves rows of both ends,
//
//     r_0' = r_0 + v_0 . r ,  r_n' = r_n + v_n . r ,  e_0' = e_0 + v_0 . e ,  e_n' = e_n + v_n . e ,  u_0' = l_n' = u_0 v_n,1 ,
//
// e the excess of a row within its line. Only sums and quotients of positive numbers appear: v_0 and v_n come from GTH
// elimination (smoothers/patches/patch_lines.hpp).
// Open chunk: an edge between patches of two ranks, each of which has a part of the row of every node.
// What is left of a line is a line of the ends of its solid chunks and all nodes of its open ones. Its matrix is summed over
// the ranks once, its right-hand side in every phase; then every rank with a part of the line solves it, and the inner nodes of
// solid chunks follow as lines between known ends. So a phase takes one exchange. Of a vertex that is relaxed
// alone there is one node left.
//
// Ranks agree in everything here: what a rank sends is numbered by all alike. Collective.

#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/smoothers/patches/line_plan.hpp>

namespace stratum {

struct DistributedLinesOnHost {
  /// Lines of a solid chunk, in the rank's own plan of lines. Its numbers v begin at `weights`; what it sends for line m
  /// are numbers sent + m, of the first end, and sent + lines + m.
  struct Chunk {
    PatchLineGroup group;
    int weights = 0, sent = 0;
    int of_line = 1, of_node = 1;  // strides of v
  };
  std::vector<Chunk> chunks;
  std::vector<double> to_first, to_last;  // v_0 and v_n, with nodes 0 and n
  /// The residual of a node goes as it is.
  struct Node {
    int node = 0, pitch = 0, sent = 0;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<int>> counts;  // of what each rank sends, by phase

  /// Lines of what is left, where this rank has a part of them: one after another in vectors of `size` numbers.
  int size = 0;
  PatchRowsOnHost rows{0};
  std::vector<int> fixed;
  PatchLinePlan lines;  // but for short ones
  /// What is summed to the right-hand side of number k: sources begin[k] .. begin[k + 1] - 1.
  struct Source {
    int rank = 0, sent = 0;
  };
  std::vector<Source> sources;
  std::vector<int> begin;
  /// Node and number that corrects it.
  struct Target {
    int node = 0, number = 0;
  };
  std::vector<Target> targets;
  /// Of lines that are not short.
  std::vector<int> summed;

  /// Numbers first .. first + nodes - 1, of a cyclic line one more, which is number `first` again; targets count from `first`.
  struct ShortLine {
    int first = 0, nodes = 1;
    bool cyclic = false, first_fixed = false, last_fixed = false;
    int targets_begin = 0, targets_end = 0;
  };
  static constexpr int most_nodes = 8;
  std::vector<ShortLine> short_lines;
  std::vector<Target> short_targets;

  /// The first of each phase; one more at the end.
  std::vector<int> chunk_phases{0}, node_phases{0}, number_phases, target_phases{0}, summed_phases{0}, short_phases{0};
};

/// `plan`: that of the whole collection, becomes that of lines and chunks on this rank, with the same phases.
[[nodiscard]] DistributedLinesOnHost distributed_lines(Communicator& ranks, const PatchLayout& layout,
                                                       const PatchRowsOnHost& rows, const std::vector<int>& fixed,
                                                       PatchLinePlan& plan);

}  // namespace stratum
