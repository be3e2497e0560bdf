#pragma once

// How long a step may be, so that it does not pass over what data do between its stages. The estimate of a step's error knows
// the data at the stages alone: a source that is on for a while between two of them is nothing to it.
//
// Every function of the time is looked at before the steps to a time: at `most_times` times, or fewer where that is a small
// part of the run, at some places, and at those of many where one of many pairs of a place and a time differs from the start.
// A step from t over dt then fits where, at all these places,
//
//     | sum over stages of w_i g(t + c_i dt)  -  mean of g over the step |  dt   <=   theta S (dt + T / 100)  +  tol G dt
//
// with the mean of what was looked at within the step, or of 16 times where that is less. S is the size of the changes of g, the
// square of the mean of sqrt | g - median |, in which what is large for a moment does not hide the rest; G the mean of | g |, T
// the time from the start. theta is 100 tol, within [0.01, 0.1]. A jump at a time costs a few steps, and a change that is
// shorter than the times looked at may still be missed.
//
// Data that do not change cost one look; numbers alone nothing. Host only.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/heat_problem_3d.hpp>

namespace stratum {

/// A function of the time at some places, any first few of which are spread over all.
struct TimeFunction {
  int places;
  std::function<double(int place, double t)> value;
};

template <class P>
using SharedPoints = std::shared_ptr<const std::vector<P>>;

/// A function at points.
template <class P>
[[nodiscard]] TimeFunction time_function(const std::function<double(const P&)>& function,
                                         const SharedPoints<P>& points) {
  return {static_cast<int>(points->size()), [function, points](int place, double t) {
            P p = (*points)[static_cast<std::size_t>(place)];
            p.t = t;
            return function(p);
          }};
}

/// What may change with the time: f, values of boundaries and of bodies, K, c, the capacity and alpha.
[[nodiscard]] std::vector<TimeFunction> functions_of_time(const Geometry& mesh, const HeatProblem& problem);
[[nodiscard]] std::vector<TimeFunction> functions_of_time(const TensorMesh<3>& mesh, const HeatProblem3D& problem);

class DataInTime {
 public:
  static constexpr int most_times = 512;

  /// For steps from `from` to `to`, of a run from `start` on. Keeps references to `functions`.
  DataInTime(const std::vector<TimeFunction>& functions, double start, double from, double to, double tol);

  /// A stage, at t + c dt, and its weight in the step.
  struct Stage {
    double c, weight;
  };
  /// `step`, or the part of it from t on that fits.
  [[nodiscard]] double longest(double t, double step, const std::vector<Stage>& stages) const;

 private:
  struct Series {
    const TimeFunction* function;
    int place;
    std::vector<double> values;
    double allowed = 0, size = 0;  // theta S, tol G
  };

  void add(const TimeFunction& function, int place, const std::vector<double>& before);
  [[nodiscard]] bool fits(double t, double step, const std::vector<Stage>& stages) const;

  double start_, from_, to_, tol_;
  std::vector<double> times_;
  std::vector<Series> series_;
};

}  // namespace stratum
