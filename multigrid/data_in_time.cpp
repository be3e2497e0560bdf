#include <stratum/multigrid/data_in_time.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/assembly/box_points.hpp>

namespace stratum {

namespace {

constexpr double golden = 0.6180339887498949;

/// Of n, in [0, 1): evenly spread, whatever the number of them.
double spread(int n, double ratio = golden) {
  const double x = (n + 0.5) * ratio;
  return x - std::floor(x);
}

/// The place of the n-th of many among `size`.
int place_of(int n, int size, double ratio) { return std::min(static_cast<int>(spread(n, ratio) * size), size - 1); }

/// The integral over the step of the line through values at times.
double integral(const std::vector<double>& times, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t n = 1; n < times.size(); ++n) sum += (times[n] - times[n - 1]) * (values[n] + values[n - 1]) / 2;
  return sum;
}

constexpr int places_inside = 256, places_on_side = 32;

/// A function at points.
template <class P>
class Watch {
 public:
  Watch(std::vector<P> inside, std::vector<TimeFunction>& to)
      : inside_(std::make_shared<const std::vector<P>>(std::move(inside))), to_(to) {}

  using Function = std::function<double(const P&)>;
  using Points = SharedPoints<P>;

  void add(const Function& function, const Points& points) {
    if (function) to_.push_back(time_function<P>(function, points));
  }
  void add(const Function& function) { add(function, inside_); }
  void add_side(const Function& function, std::vector<P> points) {
    add(function, std::make_shared<const std::vector<P>>(std::move(points)));
  }
  /// In a body, or anywhere where it is so small that no point is in it.
  void add_body(const Function& function, const Function& shape) {
    std::vector<P> points;
    for (const P& p : *inside_)
      if (!shape || shape(p) > 0) points.push_back(p);
    if (points.empty())
      add(function);
    else
      add_side(function, std::move(points));
  }

 private:
  Points inside_;
  std::vector<TimeFunction>& to_;
};

}  // namespace

std::vector<TimeFunction> functions_of_time(const Geometry& mesh, const HeatProblem& problem) {
  std::vector<TimeFunction> found;
  const PoissonProblem& space = problem.space;
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  constexpr double ratio_x = 0.7548776662466927, ratio_y = 0.5698402909980532;
  std::vector<Point> inside;
  for (int n = 0; n < places_inside; ++n)
    inside.push_back(mesh.cell(place_of(n, nx, ratio_x), place_of(n, ny, ratio_y)).at(0.5, 0.5));
  Watch<Point> watch(std::move(inside), found);
  if (!problem.steady_rhs) watch.add(space.rhs);
  const bool moving = !problem.steady_coefficients;
  if (moving)
    for (const Coefficient* k :
         {&space.diffusion.xx, &space.diffusion.xy, &space.diffusion.yy, &space.reaction_of_cells, &problem.capacity})
      watch.add(k->function);
  const BoundaryConditions& sides = space.boundaries;
  for (const auto* side : {&sides.left, &sides.right, &sides.bottom, &sides.top}) {
    if (side->kind == BoundaryConditionType::periodic) continue;
    std::vector<Point> points;
    for (int n = 0; n < places_on_side; ++n) {
      const int i = place_of(n, nx + 1, golden), j = place_of(n, ny + 1, golden);
      points.push_back(side == &sides.left     ? mesh.node(0, j)
                       : side == &sides.right  ? mesh.node(nx, j)
                       : side == &sides.bottom ? mesh.node(i, 0)
                                               : mesh.node(i, ny));
    }
    const bool of_problem = side->kind == BoundaryConditionType::dirichlet && !side->value;
    watch.add_side(of_problem && has_boundary_values(space) ? boundary_function(space) : side->value, points);
    if (moving && has_alpha(side->kind)) watch.add_side(side->alpha, std::move(points));
  }
  for (const Body& body : space.bodies)
    if (body.kind == BodyKind::value ? !problem.steady_bodies : moving)
      for (const ScalarFunction* f : {&body.value, &body.kxy, &body.kyy}) watch.add_body(*f, body.inside);
  return found;
}

std::vector<TimeFunction> functions_of_time(const TensorMesh<3>& mesh, const HeatProblem3D& problem) {
  std::vector<TimeFunction> found;
  const PoissonProblem3D& space = problem.space;
  constexpr std::array<double, 3> ratios{0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
  std::vector<Point3D> inside;
  for (int n = 0; n < places_inside; ++n) {
    std::array<LinePoint, 3> at{};
    for (std::size_t d = 0; d < 3; ++d) {
      const Axis& axis = mesh.axis(static_cast<int>(d));
      at[d] = LineInterval(axis, place_of(n, axis.size(), ratios[d])).at(0.5);
    }
    inside.push_back(make_point(at[0], at[1], at[2]));
  }
  Watch<Point3D> watch(std::move(inside), found);
  if (!has_steady_rhs(problem)) watch.add(space.rhs);
  if (!has_steady_faces(problem))
    for (const BoxFace face : all_box_faces) {
      const BoundaryCondition3D& condition = space.boundaries.faces[static_cast<std::size_t>(face)];
      if (condition.kind == BoundaryConditionType::periodic) continue;
      const FacePlace place(face);
      std::vector<Point3D> points;
      for (int n = 0; n < places_on_side; ++n) {
        const Axis &first = mesh.axis(place.first), &second = mesh.axis(place.second);
        points.push_back(place.point(node_of(mesh.axis(place.across), place.node(mesh)),
                                     node_of(first, place_of(n, first.size() + 1, ratios[0])),
                                     node_of(second, place_of(n, second.size() + 1, ratios[2]))));
      }
      const bool of_problem = condition.kind == BoundaryConditionType::dirichlet && !condition.value;
      watch.add_side(of_problem && (space.boundary || space.exact) ? boundary_function(space) : condition.value,
                     std::move(points));
    }
  if (!has_steady_bodies(problem))
    for (const Body3D& body : space.bodies)
      if (body.kind == BodyKind::value) watch.add_body(body.value, body.inside);
  return found;
}

DataInTime::DataInTime(const std::vector<TimeFunction>& functions, double start, double from, double to, double tol)
    : start_(std::min(start, from)), from_(from), to_(to), tol_(tol) {
  if (functions.empty()) return;
  // Where a run stops often, all looks together are a few thousand.
  constexpr double all_times = 4 * most_times;
  constexpr int fewest_times = 32, of_the_past = 32;
  const int times = std::clamp(static_cast<int>(all_times * (to - from) / (to - start)), fewest_times, most_times);
  for (int n = 0; n < times; ++n) times_.push_back(from + (to - from) * (n + spread(n)) / times);
  std::vector<double> before;
  for (int n = 0; from > start && n < of_the_past; ++n)
    before.push_back(start + (from - start) * (n + spread(n)) / of_the_past);
  for (const TimeFunction& function : functions) {
    constexpr int usual_places = 8, most_places = 24;
    for (int place = 0; place < std::min(usual_places, function.places); ++place) add(function, place, before);
    if (function.places <= usual_places) continue;
    // Others, where something happens.
    std::vector<bool> known(static_cast<std::size_t>(function.places), false);
    int count = usual_places;
    for (int n = 0; n < 4 * times && count < most_places; ++n) {
      const int place = n % function.places;
      const auto p = static_cast<std::size_t>(place);
      if (place < usual_places || known[p]) continue;
      if (function.value(place, from + (to - from) * spread(n)) == function.value(place, from)) continue;
      known[p] = true;
      ++count;
      add(function, place, before);
    }
  }
}

void DataInTime::add(const TimeFunction& function, int place, const std::vector<double>& before) {
  Series series{&function, place, {}};
  for (const double t : times_) series.values.push_back(function.value(place, t));
  const auto& values = series.values;
  // What is not finite the steps find, and what stays as it is they see.
  const bool finite = std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  if (!finite || std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; })) return;
  const auto is_known = [&](const Series& other) { return other.values == values; };
  if (std::any_of(series_.begin(), series_.end(), is_known)) return;
  std::vector<double> sorted = values;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double median = *middle;
  const auto mean_root = [&](const std::vector<double>& of) {
    double sum = 0;
    for (const double v : of) sum += std::isfinite(v) ? std::sqrt(std::abs(v - median)) : 0;
    return of.empty() ? 0 : sum / static_cast<double>(of.size());
  };
  std::vector<double> past;
  for (const double t : before) past.push_back(function.value(place, t));
  const double part = (to_ - from_) / (to_ - start_), now = mean_root(values),
               all = part * now + (1 - part) * mean_root(past), root = std::max(now, all);
  const double theta = std::clamp(100 * tol_, 0.01, 0.1);
  series.allowed = theta * root * root;
  for (const double v : values) series.size += tol_ * std::abs(v) / static_cast<double>(values.size());
  series_.push_back(std::move(series));
}

double DataInTime::longest(double t, double step, const std::vector<Stage>& stages) const {
  if (series_.empty() || fits(t, step, stages)) return step;
  constexpr double shortest = 1e-7, near = 0.05;
  const double least = shortest * (to_ - start_);
  double good = step / 2, bad = step;
  for (; good > least && !fits(t, good, stages); good /= 2) bad = good;
  // Up to what does not fit, where that is a jump.
  while (good > least && bad - good > near * good) {
    const double middle = (good + bad) / 2;
    (fits(t, middle, stages) ? good : bad) = middle;
  }
  return std::min(good, step);
}

bool DataInTime::fits(double t, double step, const std::vector<Stage>& stages) const {
  constexpr int fewest = 16;
  const auto first = std::upper_bound(times_.begin(), times_.end(), t),
             last = std::lower_bound(first, times_.end(), t + step);
  const bool looked = last - first >= fewest;
  std::vector<double> times{t}, values;
  if (looked)
    times.insert(times.end(), first, last);
  else
    for (int n = 0; n < fewest; ++n) times.push_back(t + step * (n + spread(n)) / fewest);
  times.push_back(t + step);
  for (const Series& series : series_) {
    const auto at = [&](double time) { return series.function->value(series.place, time); };
    values.assign(1, at(t));
    if (looked) {
      const auto offset = first - times_.begin();
      values.insert(values.end(), series.values.begin() + offset, series.values.begin() + offset + (last - first));
    } else {
      for (std::size_t n = 1; n + 1 < times.size(); ++n) values.push_back(at(times[n]));
    }
    values.push_back(at(t + step));
    double by_stages = 0;
    for (const Stage& stage : stages) by_stages += stage.weight * at(t + stage.c * step);
    const double missed = std::abs(step * by_stages - integral(times, values));
    constexpr double of_run = 0.01;
    // Written so that what is not finite is left to the steps.
    if (missed > series.allowed * (step + of_run * (to_ - start_)) + series.size * step) return false;
  }
  return true;
}

}  // namespace stratum
