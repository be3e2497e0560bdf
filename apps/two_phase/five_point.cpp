#include <stratum/two_phase/five_point.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

std::size_t cells(int nx, int ny) {
  expects(nx >= 2 && ny >= 2 && std::int64_t{nx} * ny <= 2'000'000'000,
          "a five-point matrix is for 2 x 2 cells or more, not ", nx, " x ", ny);
  return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
}

FivePointLinks no_links(int nx, int ny) {
  const std::size_t count = cells(nx, ny);
  return {nx, ny, std::vector<double>(count, 0.0), std::vector<double>(count, 0.0), {}};
}

template <class Check>
void expect_every(const char* what, const std::vector<double>& values, int nx, const char* allowed,
                  [[maybe_unused]] int threads, const Check& check) {
  std::size_t bad = values.size();
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : bad)
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!check(values[k])) bad = std::min(bad, k);
  if (bad == values.size()) return;
  throw UsageError(message(what, " of cell (", bad % static_cast<std::size_t>(nx), ", ",
                           bad / static_cast<std::size_t>(nx), ") is ", values[bad], "; it must be ", allowed));
}

void expect_count(const char* what, std::size_t given, int nx, int ny) {
  expects(given == cells(nx, ny), given, " ", what, " do not cover ", nx, " x ", ny, " cells");
}

/// The diagonal, the sum of the links and the sink.
template <class East, class North>
STRATUM_HOST_DEVICE STRATUM_INLINE double diagonal(const East& east, const North& north, double sink, int i, int j) {
  double sum = sink;
  sum += east(i, j) + north(i, j);
  if (i > 0) sum += east(i - 1, j);
  if (j > 0) sum += north(i, j - 1);
  return sum;
}

/// From the links in the bands and the sink in `centre` to the diagonal.
struct AddLinks {
  FieldView<const double> east, north;
  FieldView<double> centre;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    return diagonal(east, north, centre(i, j), i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double sum) const { centre(i, j) = sum; }
};

}  // namespace

void FivePointLinks::validate(int threads) const {
  expect_count("links to the east", east.size(), nx, ny);
  expect_count("links to the north", north.size(), nx, ny);
  if (!sink.empty()) expect_count("sinks", sink.size(), nx, ny);
  const auto sound = [](double value) { return value >= 0 && std::isfinite(value); };
  for (const auto& [what, values] :
       {std::pair{"the link to the east", &east}, {"the link to the north", &north}, {"the sink", &sink}})
    expect_every(what, *values, nx, "finite and not negative", threads, sound);
  for (int j = 0; j < ny; ++j)
    expects(east[at(nx - 1, j)] == 0, "cell (", nx - 1, ", ", j, ") has no neighbour to the east, and a link of ",
            east[at(nx - 1, j)]);
  for (int i = 0; i < nx; ++i)
    expects(north[at(i, ny - 1)] == 0, "cell (", i, ", ", ny - 1, ") has no neighbour to the north, and a link of ",
            north[at(i, ny - 1)]);
}

FivePointLinks poisson_links(int nx, int ny) {
  FivePointLinks links = no_links(nx, ny);
  links.sink.assign(links.east.size(), 0.0);
  links.walls = false;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const std::size_t at = links.at(i, j);
      links.east[at] = i + 1 < nx ? 1 : 0;
      links.north[at] = j + 1 < ny ? 1 : 0;
      links.sink[at] = (i == 0 ? 1 : 0) + (i + 1 == nx ? 1 : 0) + (j == 0 ? 1 : 0) + (j + 1 == ny ? 1 : 0);
    }
  return links;
}

FivePointLinks layered_links(int n, double contrast) {
  expects(contrast > 0 && std::isfinite(contrast), "the contrast of two layers must be positive, not ", contrast);
  FivePointLinks links = no_links(n, n);
  const double light = 1, heavy = 1 / contrast;
  const int interface = n / 2 - 1;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const std::size_t at = links.at(i, j);
      if (i + 1 < n) links.east[at] = j < interface ? light : j == interface ? (light + heavy) / 2 : heavy;
      if (j + 1 < n) links.north[at] = j < interface ? light : heavy;
    }
  return links;
}

FivePointLinks flow_links(int nx, int ny, const std::vector<double>& density, double width, double height,
                          int threads) {
  expect_count("densities", density.size(), nx, ny);
  expects(width > 0 && height > 0 && std::isfinite(width / height),
          "a rectangle needs a width and a height above zero, not ", width, " x ", height);
  expect_every("the density", density, nx, "positive and finite", threads,
               [](double value) { return value > 0 && std::isfinite(value); });
  FivePointLinks links = no_links(nx, ny);
  const double hx = width / nx, hy = height / ny;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const std::size_t at = links.at(i, j);
      if (i + 1 < nx) links.east[at] = 2 / (density[at] + density[links.at(i + 1, j)]) * (hy / hx);
      if (j + 1 < ny) links.north[at] = 2 / (density[at] + density[links.at(i, j + 1)]) * (hx / hy);
    }
  return links;
}

void pin(FivePointLinks& links, int i, int j) {
  expects(i >= 0 && i < links.nx && j >= 0 && j < links.ny, "cell (", i, ", ", j, ") is none of ", links.nx, " x ",
          links.ny);
  if (links.sink.empty()) links.sink.assign(links.east.size(), 0.0);
  const auto east = [&links](int p, int q) { return links.east[links.at(p, q)]; };
  const auto north = [&links](int p, int q) { return links.north[links.at(p, q)]; };
  double& sink = links.sink[links.at(i, j)];
  sink += diagonal(east, north, sink, i, j);
}

std::vector<double> densities_of_discs(int nx, int ny, const std::vector<Disc>& discs, double inside, double outside,
                                       double width, double height, [[maybe_unused]] int threads) {
  std::vector<double> density(cells(nx, ny), outside);
  for (const Disc& disc : discs)
    expects(disc.radius > 0 && std::isfinite(disc.radius), "the radius of a disc must be positive, not ", disc.radius);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
  for (int j = 0; j < ny; ++j) {
    const double y = (j + 0.5) * height / ny;
    for (const Disc& disc : discs) {
      if (std::abs(y - disc.y) > disc.radius) continue;
      // The cells of its bounding box, and one more on either side for what rounds.
      const auto column = [&](double x) { return static_cast<int>(std::clamp(x / width * nx, -1.0, nx + 1.0)); };
      const int begin = std::max(0, column(disc.x - disc.radius) - 1);
      const int end = std::min(nx, column(disc.x + disc.radius) + 2);
      for (int i = begin; i < end; ++i)
        if (std::hypot((i + 0.5) * width / nx - disc.x, y - disc.y) < disc.radius)
          density[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)] = inside;
    }
  }
  return density;
}

std::vector<double> densities_of_phase(int nx, int ny, const std::vector<double>& phase, double first, double second) {
  expect_count("phases", phase.size(), nx, ny);
  expect_every("the phase", phase, nx, "in 0 .. 1", 1, [](double value) { return value >= 0 && value <= 1; });
  std::vector<double> density(phase.size());
  for (std::size_t k = 0; k < phase.size(); ++k) density[k] = phase[k] * first + (1 - phase[k]) * second;
  return density;
}

GridOperator<double> five_point_operator(Context& ctx, const FivePointLinks& links) {
  links.validate(ctx.threads());
  SymmetricNineBand<double> a(ctx, mesh_of_centres(links).unknowns());
  const auto band = [&](int dx, int dy) {
    return a.band[static_cast<std::size_t>(band_index(dx, dy) - SymmetricNineBand<double>::first)].view();
  };
  const auto centre = band(0, 0), east = band(1, 0), north = band(0, 1);
  if (!links.sink.empty()) copy_from_host(ctx, links.sink.data(), centre);
  copy_from_host(ctx, links.east.data(), east);
  copy_from_host(ctx, links.north.data(), north);
  for_each_node(ctx, all_nodes(centre), AddLinks{east, north, centre});
  copy_scaled<double, double>(ctx, -1, east, east);
  copy_scaled<double, double>(ctx, -1, north, north);
  return {std::move(a)};
}

TensorMesh<2> mesh_of_centres(const FivePointLinks& links) {
  const auto line = [&](int nodes) {
    const BoundaryType end = links.walls ? BoundaryType::neumann : BoundaryType::dirichlet;
    return Axis(std::vector<double>(static_cast<std::size_t>(links.walls ? nodes - 1 : nodes + 1), 1.0))
        .with_boundaries(end, end);
  };
  return {line(links.nx), line(links.ny), "cell centres"};
}

}  // namespace stratum
