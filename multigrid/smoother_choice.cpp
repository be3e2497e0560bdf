#include <stratum/multigrid/smoother_choice.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

namespace stratum {

namespace {

constexpr double point_limit = 1.4;
constexpr double line_limit = 2.2;
constexpr std::size_t held = 2;  // nodes beside a side, on lines with more than eight cells

struct Widths {
  double narrowest = std::numeric_limits<double>::infinity();  // but for nodes that a side holds
  double widest = 0;
};

Widths node_widths(const Axis& line) {
  Widths widths;
  const auto& h = line.widths();
  for (std::size_t i = 1; i < h.size(); ++i) {
    const double width = std::sqrt(h[i - 1]) * std::sqrt(h[i]);
    const bool counts = h.size() <= 4 * held || (i > held && i + held < h.size());
    if (counts) widths.narrowest = std::min(widths.narrowest, width);
    widths.widest = std::max(widths.widest, width);
  }
  return widths;
}

std::string times(double ratio) {
  std::ostringstream out;
  out.precision(2);
  out << ratio;
  return out.str();
}

}  // namespace

double largest_jump(const Axis& line) {
  double jump = 1;
  const auto& h = line.widths();
  for (std::size_t i = 1; i < h.size(); ++i) jump = std::max({jump, h[i] / h[i - 1], h[i - 1] / h[i]});
  return jump;
}

namespace {

/// How strongly a level couples along x and along y, the shape of its cells alone or what K makes of it, and whether along
/// neither.
struct Strengths {
  double along_x, along_y;
  bool rotated;
};

template <class StrengthsOf>
std::vector<SmootherChoice> choose(const std::vector<TensorMesh<2>>& meshes, const SmootherParams& given,
                                   std::optional<int> sweeps, bool of_matrix, const StrengthsOf& strengths_of) {
  const char* const what = of_matrix ? "nodes coupled like cells up to " : "cells up to ";
  std::vector<SmootherChoice> choices{{"jacobi", given, 0, "the coarsest level is solved"}};
  for (std::size_t l = 1; l < meshes.size(); ++l) {
    const bool x_coarsens = meshes[l].x().size() != meshes[l - 1].x().size();
    const bool y_coarsens = meshes[l].y().size() != meshes[l - 1].y().size();
    const Strengths found = strengths_of(l);
    const double along_x = y_coarsens ? found.along_x : 0, along_y = x_coarsens ? found.along_y : 0;
    const std::string narrow_x = message(what, times(along_x), " times as high as wide");
    const std::string narrow_y = message(what, times(along_y), " times as wide as high");

    SmootherChoice choice{"", given, sweeps.value_or(default_sweeps("auto")), ""};
    if (found.rotated) {
      choice.smoother = "adi";
      choice.sweeps += choice.sweeps % 2;
      choice.reason = "coupled along neither x nor y";
    } else if (std::max(along_x, along_y) <= point_limit) {
      choice.smoother = "colour_gs";
      choice.reason = x_coarsens && y_coarsens
                          ? of_matrix ? "coupled alike along x and y" : "cells nearly square"
                          : message("strongest along ", x_coarsens ? "x" : "y", ", which alone coarsens");
    } else if (std::min(along_x, along_y) <= line_limit) {
      choice.smoother = along_x >= along_y ? "line_x" : "line_y";
      choice.reason = along_x >= along_y ? narrow_x : narrow_y;
    } else {
      choice.smoother = "adi";
      choice.sweeps += choice.sweeps % 2;
      choice.reason = message(narrow_x, " here and ", times(along_y), " times as wide as high there");
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

std::vector<SmootherChoice> choose_smoothers(const std::vector<TensorMesh<2>>& meshes, const SmootherParams& given,
                                             std::optional<int> sweeps) {
  return choose(meshes, given, sweeps, false, [&meshes](std::size_t l) -> Strengths {
    const Widths x = node_widths(meshes[l].x()), y = node_widths(meshes[l].y());
    return {y.widest / x.narrowest, x.widest / y.narrowest, false};
  });
}

std::vector<SmootherChoice> choose_smoothers(const std::vector<TensorMesh<2>>& meshes,
                                             const std::vector<Couplings>& matrices, const SmootherParams& given,
                                             std::optional<int> sweeps) {
  expects(matrices.size() == meshes.size(), matrices.size(), " matrices do not belong to ", meshes.size(), " meshes");
  return choose(meshes, given, sweeps, true, [&matrices](std::size_t l) -> Strengths {
    return {matrices[l].along_x, matrices[l].along_y, matrices[l].is_rotated()};
  });
}

}  // namespace stratum
