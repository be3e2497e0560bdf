#include <algorithm>
#include <array>
#include <map>

#include <stratum/multigrid/patches/patch_transfer.hpp>
#include <stratum/multigrid/patches/patch_transfer_formulas.hpp>

namespace stratum {

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

}  // namespace

std::vector<PatchCoarsening> coarsenings(const PatchLayout& fine, const PatchLayout& coarse) {
  const auto& t = fine.topology();
  std::vector<PatchCoarsening> all;
  for (int p = 0; p < fine.patches(); ++p) {
    PatchCoarsening c;
    c.fine = fine.patch(p);
    c.coarse = coarse.patch(p);
    const auto against_chord = [&](std::size_t local) {
      const auto& own = t.patches[at(p)].edges[local];
      return t.edges[at(own.number)].against_chord != own.reversed;
    };
    c.x = {c.fine.nx, against_chord(0)};
    c.y = {c.fine.ny, against_chord(1)};
    for (std::size_t l = 0; l < 4; ++l) c.reversed[l] = t.patches[at(p)].edges[l].reversed;
    all.push_back(c);
  }
  return all;
}

namespace {

/// Of the edges between patches of two ranks, what conducts along each interval on both sides, which `own` tells of the own
/// side: by edge and side.
using ConductancesOfEdges = std::map<int, std::array<std::vector<double>, 2>>;
template <class Own>
ConductancesOfEdges conductances_between(const PatchLayout& layout, Communicator& ranks, const Own& own) {
  const auto& edges = layout.topology().edges;
  const auto for_each_side_of = [&](int rank, const auto& work) {
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto& sides = edges[e].sides;
      if (sides.size() < 2 || layout.rank_of(sides[0].patch) == layout.rank_of(sides[1].patch)) continue;
      for (std::size_t s = 0; s < 2; ++s)
        if (layout.rank_of(sides[s].patch) == rank) work(static_cast<int>(e), s);
    }
  };
  std::vector<double> mine;
  for_each_side_of(ranks.rank(), [&](int e, std::size_t s) {
    for (int k = 0; k < layout.cells_of_edge(e); ++k) mine.push_back(own(edges[at(e)].sides[s], k));
  });
  const auto all = ranks.join_on_host(mine);
  ConductancesOfEdges found;
  auto next = all.begin();
  for (int r = 0; r < ranks.size(); ++r)
    for_each_side_of(r, [&](int e, std::size_t s) {
      found[e][s].assign(next, next + layout.cells_of_edge(e));
      next += layout.cells_of_edge(e);
    });
  return found;
}

}  // namespace

PatchWeightsOnHost interpolation_weights(const PatchLayout& fine, const PatchLayout& coarse,
                                         const PatchConductances& conductances, Communicator* ranks) {
  const auto& t = fine.topology();
  PatchWeightsOnHost w;
  for (auto& numbers : w.numbers) numbers.assign(at(coarse.size()), 0.0);
  // Between nodes (i, j) and (i + 1, j), by the cells of the patch on both sides; the same in y.
  const auto in_x = [&](const PatchLayout::Patch& p, int i, int j) {
    return (j > 0 ? conductances.x[at(p.node(i, j - 1))] : 0) + (j < p.ny ? conductances.x[at(p.node(i, j))] : 0);
  };
  const auto in_y = [&](const PatchLayout::Patch& p, int i, int j) {
    return (i > 0 ? conductances.y[at(p.node(i - 1, j))] : 0) + (i < p.nx ? conductances.y[at(p.node(i, j))] : 0);
  };
  // Interval `k` of an edge, by one of its patches.
  const auto of_side = [&](const PatchTopology::Side& side, int k) {
    const auto& p = fine.patch(side.patch);
    const int n = side.local % 2 == 0 ? p.nx : p.ny;
    const int own = t.patches[at(side.patch)].edges[at(side.local)].reversed ? n - 1 - k : k;
    return side.local % 2 == 0 ? in_x(p, own, side.local == 0 ? 0 : p.ny) : in_y(p, side.local == 3 ? 0 : p.nx, own);
  };
  ConductancesOfEdges between;
  if (fine.is_part()) between = conductances_between(fine, *ranks, of_side);
  // By all its patches.
  const auto on_edge = [&](int e, int k) {
    const auto& sides = t.edges[at(e)].sides;
    if (const auto found = between.find(e); found != between.end())
      return found->second[0][at(k)] + found->second[1][at(k)];
    double sum = 0;
    for (const auto& side : sides) sum += of_side(side, k);
    return sum;
  };
  const auto all = coarsenings(fine, coarse);
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!fine.has(static_cast<int>(number))) continue;
    const auto& c = all[number];
    const detail::PatchInterpolation<double> formulas{w.view(), c};
    // The weight that is stored of a node in the middle of intervals k and k + 1, on local edge `local` or inside.
    const auto stored = [&](int local, int k, double first, double second) {
      if (local < 0) return first / (first + second);
      const auto& own = t.patches[number].edges[at(local)];
      const int n = local % 2 == 0 ? c.fine.nx : c.fine.ny, from = own.reversed ? n - 2 - k : k;
      const double a = on_edge(own.number, from), b = on_edge(own.number, from + 1);
      return a / (a + b);
    };
    for (int J = 0; J <= c.coarse.ny; ++J)
      for (int I = 0; I < c.coarse.nx; ++I) {
        if (!formulas.has_middle(c.x, I)) continue;
        const int i = c.x.fine(I), j = c.y.fine(J);
        w.numbers[0][at(c.coarse.node(I, J))] = stored(J == 0             ? 0
                                                       : J == c.coarse.ny ? 2
                                                                          : -1,
                                                       i, in_x(c.fine, i, j), in_x(c.fine, i + 1, j));
      }
    for (int J = 0; J < c.coarse.ny; ++J)
      for (int I = 0; I <= c.coarse.nx; ++I) {
        if (!formulas.has_middle(c.y, J)) continue;
        const int i = c.x.fine(I), j = c.y.fine(J);
        w.numbers[1][at(c.coarse.node(I, J))] = stored(I == 0             ? 3
                                                       : I == c.coarse.nx ? 1
                                                                          : -1,
                                                       j, in_y(c.fine, i, j), in_y(c.fine, i, j + 1));
      }
    for (int J = 0; J < c.coarse.ny; ++J)
      for (int I = 0; I < c.coarse.nx; ++I) {
        if (!formulas.has_middle(c.x, I) || !formulas.has_middle(c.y, J)) continue;
        const int i = c.x.fine(I) + 1, j = c.y.fine(J) + 1;
        const double west = in_x(c.fine, i - 1, j), east = in_x(c.fine, i, j), south = in_y(c.fine, i, j - 1),
                     north = in_y(c.fine, i, j), sum = west + east + south + north;
        const std::size_t k = at(c.coarse.node(I, J));
        w.numbers[2][k] = (south * formulas.weight_x(I, J, false) + west * formulas.weight_y(I, J, false)) / sum;
        w.numbers[3][k] = (south * formulas.weight_x(I, J, true) + east * formulas.weight_y(I + 1, J, false)) / sum;
        w.numbers[4][k] = (north * formulas.weight_x(I, J + 1, false) + west * formulas.weight_y(I, J, true)) / sum;
        w.numbers[5][k] = (north * formulas.weight_x(I, J + 1, true) + east * formulas.weight_y(I + 1, J, true)) / sum;
      }
  }
  return w;
}

PatchConductances coarser(const PatchLayout& fine, const PatchLayout& coarse, const PatchConductances& conductances) {
  PatchConductances result{std::vector<double>(at(coarse.size()), 0.0), std::vector<double>(at(coarse.size()), 0.0)};
  for (const auto& c : coarsenings(fine, coarse)) {
    if (c.fine.first < 0) continue;
    for (int J = 0; J < c.coarse.ny; ++J)
      for (int I = 0; I < c.coarse.nx; ++I) {
        double x = 0, y = 0;
        for (int j = c.y.fine(J); j < c.y.fine(J + 1); ++j) {
          double resistance = 0;
          for (int i = c.x.fine(I); i < c.x.fine(I + 1); ++i) resistance += 1 / conductances.x[at(c.fine.node(i, j))];
          x += 1 / resistance;
        }
        for (int i = c.x.fine(I); i < c.x.fine(I + 1); ++i) {
          double resistance = 0;
          for (int j = c.y.fine(J); j < c.y.fine(J + 1); ++j) resistance += 1 / conductances.y[at(c.fine.node(i, j))];
          y += 1 / resistance;
        }
        result.x[at(c.coarse.node(I, J))] = x;
        result.y[at(c.coarse.node(I, J))] = y;
      }
  }
  return result;
}

PatchRowsOnHost galerkin(const PatchLayout& fine, const PatchLayout& coarse, const PatchWeightsOnHost& weights,
                         const PatchRowsOnHost& a, int threads) {
  using Interpolation = detail::PatchInterpolation<double>;
  PatchRowsOnHost result(coarse.size());
  const auto all = coarsenings(fine, coarse);
  const PatchBands<double> bands{a.excess.data(), a.east.data(), a.north.data(), a.north_east.data(),
                                 a.north_west.data()};
  const int patches = static_cast<int>(all.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int number = 0; number < patches; ++number) {
    const auto& c = all[at(number)];
    if (c.fine.first < 0) continue;
    const Interpolation interpolation{weights.view(), c};
    std::array<std::vector<Interpolation::Parents>, 3> rows;  // of P, around row j
    for (auto& row : rows) row.resize(at(c.fine.nx) + 1);
    const auto fill = [&](int j) {
      for (int i = 0; i <= c.fine.nx; ++i) rows[at(j % 3)][at(i)] = interpolation.parents(i, j);
    };
    fill(0);
    for (int j = 0; j <= c.fine.ny; ++j) {
      if (j < c.fine.ny) fill(j + 1);
      for (int i = 0; i <= c.fine.nx; ++i) {
        const auto row = bands.row(c.fine.node(i, j), c.fine.pitch);
        const auto& own = rows[at(j % 3)][at(i)];
        double diagonal = row.excess;
        for (const auto& line : row.to)
          for (const double entry : line) diagonal -= entry;
        for (int m = 0; m < own.count; ++m)
          result.excess[at(c.coarse.node(own.I[m], own.J[m]))] += own.weight[m] * row.excess;
        for (int dj = -1; dj <= 1; ++dj)
          for (int di = -1; di <= 1; ++di) {
            if (i + di < 0 || i + di > c.fine.nx || j + dj < 0 || j + dj > c.fine.ny) continue;
            const double entry = di == 0 && dj == 0 ? diagonal : row.to[dj + 1][di + 1];
            if (entry == 0) continue;
            const auto& other = rows[at((j + dj) % 3)][at(i + di)];
            for (int m = 0; m < own.count; ++m)
              for (int n = 0; n < other.count; ++n) {
                const int dI = other.I[n] - own.I[m], dJ = other.J[n] - own.J[m];
                std::vector<double>* band = nullptr;
                if (dJ == 0 && dI == 1) band = &result.east;
                if (dJ == 1) band = dI == 0 ? &result.north : dI == 1 ? &result.north_east : &result.north_west;
                if (band != nullptr)
                  (*band)[at(c.coarse.node(own.I[m], own.J[m]))] += own.weight[m] * entry * other.weight[n];
              }
          }
      }
    }
  }
  return result;
}

}  // namespace stratum
