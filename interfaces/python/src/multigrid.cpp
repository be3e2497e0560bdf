// A matrix on a grid for Python (multigrid/structured/matrix_solver.hpp). Arrays come as NumPy's or through DLPack, on a GPU
// those that lie there; everything that takes long runs without the GIL.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "matrices.hpp"

namespace stratum::python {

namespace {

/// A MatrixSolver on its Context. What Python calls stratum.Multigrid checks shapes.
class MatrixSystem {
 public:
  /// `start` and `column` of a matrix by rows, or neither and bands.
  MatrixSystem(Context ctx, const std::optional<AnyHostArray>& start, const std::optional<AnyHostArray>& column,
               const AnyHostArray& value, int nx, int ny, const MatrixSolverParams& params)
      : ctx_(std::move(ctx)), solver_(make(ctx_, start, column, value, nx, ny, params)), stop_(params.solver.stop) {
    setup_seconds_ = clock_.seconds();
  }

  void update(const std::optional<AnyHostArray>& start, const std::optional<AnyHostArray>& column,
              const AnyHostArray& value) {
    const WithoutGil computing;
    const Clock clock;
    if (start)
      with_indices(*start, *column,
                   [&](const auto& s, const auto& c) { solver_.update_csr(ctx_, s, c, span_of<double>(value)); });
    else
      solver_.update_bands(ctx_, span_of<double>(value));
    setup_seconds_ = clock.seconds();
  }

  nb::dict solve(const HostArray<double, 1>& b, ResultArray x, double rtol, double atol, int maxiter,
                 const nb::object& callback) {
    set_stop(rtol, atol, maxiter);
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    {
      const WithoutGil computing;
      report = solver_.solve(ctx_, std::span<const double>(b.data(), b.size()), std::span<double>(x.data(), x.size()),
                             monitor);
    }
    return dictionary_of(report, setup_seconds_);
  }

  void apply(const HostArray<double, 1>& r, ResultArray z) {
    const WithoutGil computing;
    solver_.apply(ctx_, std::span<const double>(r.data(), r.size()), std::span<double>(z.data(), z.size()));
  }

  /// The same in device memory; what comes back has been computed when this returns.
  nb::tuple solve_on_device(const DeviceArray<1>& b, const std::optional<DeviceArray<1>>& x0, double rtol, double atol,
                            int maxiter, const nb::object& callback) {
    set_stop(rtol, atol, maxiter);
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    Numbers x;
    {
      const WithoutGil computing;
      expects_reached(ctx_, "b", flat(b.data()));
      x = numbers_on(ctx_, unknowns());
      if (x0) copy(ctx_, flat(x0->data()), flat(x.get()));
      report = solver_.solve(ctx_, flat(b.data()), flat(x.get()), monitor);
      ctx_.synchronise();
    }
    return nb::make_tuple(array_on_device(x, {unknowns()}, b.device_id()), dictionary_of(report, setup_seconds_));
  }

  nb::object apply_on_device(const DeviceArray<1>& r) {
    Numbers z;
    {
      const WithoutGil computing;
      expects_reached(ctx_, "r", flat(r.data()));
      z = numbers_on(ctx_, unknowns());
      solver_.apply(ctx_, flat(r.data()), flat(z.get()));
      ctx_.synchronise();
    }
    return array_on_device(z, {unknowns()}, r.device_id());
  }

  [[nodiscard]] nb::dict found() const {
    const GridRows& rows = solver_.rows();
    const PoissonSolverParams& params = solver_.solver().params();
    nb::dict d;
    d["symmetric"] = rows.symmetric;
    d["negative"] = rows.negative;
    const SingularParts& parts = rows.parts;
    d["singular"] = params.multigrid.singular || (parts.any() && !parts.is_whole);
    d["singular_parts"] = parts.any() ? parts.parts.size() : std::size_t{params.multigrid.singular ? 1U : 0U};
    d["note"] = parts.note();
    d["numbering"] = rows.numbering == Numbering::x_first   ? "x first"
                     : rows.numbering == Numbering::y_first ? "y first"
                                                            : "given";
    d["periodic"] = nb::make_tuple(rows.periodic_y, rows.periodic_x);
    nb::dict boundaries;
    const std::array<std::pair<const char*, BoundaryType>, 4> ends{
        {{"left", rows.west}, {"right", rows.east}, {"bottom", rows.south}, {"top", rows.north}}};
    for (const auto& [name, end] : ends) boundaries[name] = nb::cast(std::string(to_string(end)));
    d["boundaries"] = boundaries;
    d["fixed_rows"] = rows.fixed.size();
    d["accel"] = nb::cast(std::string(to_string(params.method.value_or(Method::multigrid))));
    d["choice"] = solver_.solver().choice();
    d["levels"] = solver_.solver().levels();
    return d;
  }
  /// In a child process, which does not have the threads of its parent: on a CPU what follows runs on one.
  void after_fork() {
    if (!ctx_.on_gpu()) ctx_ = Context(Backend::cpu, 1);
  }
  [[nodiscard]] std::uintptr_t stream() const { return reinterpret_cast<std::uintptr_t>(ctx_.stream()); }

 private:
  static MatrixSolver make(Context& ctx, const std::optional<AnyHostArray>& start,
                           const std::optional<AnyHostArray>& column, const AnyHostArray& value, int nx, int ny,
                           const MatrixSolverParams& params) {
    const auto values = span_of<double>(value);
    if (!start) return MatrixSolver::from_bands(ctx, values, nx, ny, params);
    return with_indices(*start, *column, [&](const auto& s, const auto& c) {
      return MatrixSolver::from_csr(ctx, s, c, values, nx, ny, params);
    });
  }

  void set_stop(double rtol, double atol, int maxiter) {
    stop_.rtol = rtol;
    stop_.atol = atol;
    stop_.max_iterations = maxiter;
    solver_.set_stop(stop_);
  }

  [[nodiscard]] std::size_t unknowns() const { return static_cast<std::size_t>(solver_.rows().unknowns()); }
  template <class T>
  [[nodiscard]] FieldView<T> flat(T* data) const {
    return flat_view(data, unknowns());
  }

  Clock clock_;  // first, to measure what follows
  Context ctx_;
  MatrixSolver solver_;
  StoppingParams stop_;
  double setup_seconds_ = 0;
};

MatrixSolverParams params_of(const nb::dict& options) {
  MatrixSolverParams params;
  const auto given = [&](const char* name) { return !options[name].is_none(); };
  const auto text = [&](const char* name) { return option<std::string>(options, name); };
  auto& multigrid = params.solver.multigrid;
  multigrid.smoother = text("smoother");
  if (given("sweeps")) multigrid.sweeps = option<int>(options, "sweeps");
  if (given("cycle")) multigrid.cycle = by_name("cycle", text("cycle"), values_of<Cycle>);
  if (given("accel")) params.solver.method = by_name("accel", text("accel"), values_of<Method>);
  if (given("interpolation"))
    params.solver.interpolation = by_name("interpolation", text("interpolation"),
                                          std::array{InterpolationKind::bilinear, InterpolationKind::matrix});
  if (!option<bool>(options, "single_precision")) params.solver.precision = Precision::full;
  if (given("symmetric")) params.symmetric = option<bool>(options, "symmetric");
  if (given("singular")) params.singular = option<bool>(options, "singular");
  params.project = option<bool>(options, "project");
  params.triangle = by_name("triangle", text("triangle"), values_of<Triangle>);
  if (given("widths")) {
    const auto [x, y] = nb::cast<std::tuple<HostArray<double, 1>, HostArray<double, 1>>>(options["widths"]);
    params.widths_x = vector_of(x);
    params.widths_y = vector_of(y);
  }
  if (given("numbering")) {
    const auto node = nb::cast<HostArray<int, 1>>(options["numbering"]);
    params.numbering.assign(node.data(), node.data() + node.size());
  }
  return params;
}

}  // namespace

void add_multigrid(nb::module_& m) {
  nb::class_<MatrixSystem> type(m, "MatrixSystem", "The compiled part of stratum.Multigrid.");
  type.def(
      "__init__",
      [](MatrixSystem* self, const std::optional<AnyHostArray>& start, const std::optional<AnyHostArray>& column,
         const AnyHostArray& value, int nx, int ny, const std::string& device, int threads,
         std::optional<std::uintptr_t> stream, const nb::dict& options) {
        const MatrixSolverParams params = params_of(options);
        const WithoutGil computing;
        new (self) MatrixSystem(make_context(device, threads, stream), start, column, value, nx, ny, params);
      },
      nb::arg("start").none(), nb::arg("column").none(), nb::arg("value"), nb::arg("nx"), nb::arg("ny"),
      nb::arg("device"), nb::arg("threads"), nb::arg("stream").none(), nb::arg("options"));
  add_methods(type);
}

}  // namespace stratum::python
