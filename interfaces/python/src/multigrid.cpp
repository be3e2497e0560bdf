// A matrix on a grid for Python (multigrid/structured/matrix_solver.hpp). Arrays come as NumPy's or through DLPack, on a GPU
// those that lie there; everything that takes long runs without the GIL.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "arrays.hpp"

namespace stratum::python {

namespace {

using AnyHostArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using DeviceArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cuda>;

template <class T>
std::span<const T> span_of(const AnyHostArray& array) {
  return {static_cast<const T*>(array.data()), array.size()};
}

/// Calls use(start, column) with spans of 32-bit integers or of 64-bit ones.
template <class Use>
auto with_indices(const AnyHostArray& start, const AnyHostArray& column, const Use& use) {
  const bool narrow = start.dtype() == nb::dtype<std::int32_t>() && column.dtype() == nb::dtype<std::int32_t>();
  const bool wide = start.dtype() == nb::dtype<std::int64_t>() && column.dtype() == nb::dtype<std::int64_t>();
  expects(narrow || wide, "indptr and indices are both int32 or both int64");
  return narrow ? use(span_of<std::int32_t>(start), span_of<std::int32_t>(column))
                : use(span_of<std::int64_t>(start), span_of<std::int64_t>(column));
}

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
    const nb::gil_scoped_release release;
    const Clock clock;
    if (start)
      with_indices(*start, *column,
                   [&](const auto& s, const auto& c) { solver_.update_csr(ctx_, s, c, span_of<double>(value)); });
    else
      solver_.update_bands(ctx_, span_of<double>(value));
    setup_seconds_ = clock.seconds();
  }

  nb::dict solve(const HostArray<double, 1>& b, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> x,
                 double rtol, double atol, int maxiter, const nb::object& callback) {
    set_stop(rtol, atol, maxiter);
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    {
      const nb::gil_scoped_release release;
      report = solver_.solve(ctx_, std::span<const double>(b.data(), b.size()), std::span<double>(x.data(), x.size()),
                             monitor);
    }
    return dictionary_of(report, setup_seconds_);
  }

  void apply(const HostArray<double, 1>& r, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> z) {
    const nb::gil_scoped_release release;
    solver_.apply(ctx_, std::span<const double>(r.data(), r.size()), std::span<double>(z.data(), z.size()));
  }

  /// The same in device memory; what comes back has been computed when this returns.
  nb::tuple solve_on_device(const DeviceArray& b, const std::optional<DeviceArray>& x0, double rtol, double atol,
                            int maxiter, const nb::object& callback) {
    set_stop(rtol, atol, maxiter);
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    Numbers x;
    {
      const nb::gil_scoped_release release;
      x = numbers();
      if (x0) copy(ctx_, flat(x0->data()), flat(x.get()));
      report = solver_.solve(ctx_, flat(b.data()), flat(x.get()), monitor);
      ctx_.synchronise();
    }
    return nb::make_tuple(array_of(x), dictionary_of(report, setup_seconds_));
  }

  nb::object apply_on_device(const DeviceArray& r) {
    Numbers z;
    {
      const nb::gil_scoped_release release;
      z = numbers();
      solver_.apply(ctx_, flat(r.data()), flat(z.get()));
      ctx_.synchronise();
    }
    return array_of(z);
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
  using Numbers = std::shared_ptr<double>;

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

  [[nodiscard]] int unknowns() const { return solver_.rows().unknowns(); }
  template <class T>
  [[nodiscard]] FieldView<T> flat(T* data) const {
    FieldView<T> view;
    view.data = data;
    view.nx = unknowns();
    view.ny = 1;
    view.pitch = unknowns();
    return view;
  }
  [[nodiscard]] Numbers numbers() {
    return std::static_pointer_cast<double>(allocate(ctx_, static_cast<std::size_t>(unknowns()) * sizeof(double)));
  }
  /// For from_dlpack of the caller's library.
  [[nodiscard]] static nb::object on_device(const Numbers& numbers, std::size_t n) {
    auto* const kept = new Numbers(numbers);  // NOLINT: the capsule owns it
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Numbers*>(p); });
    return nb::cast(nb::ndarray<double, nb::device::cuda>(numbers.get(), {n}, owner, {}, nb::dtype<double>(),
                                                          nb::device::cuda::value));
  }
  [[nodiscard]] nb::object array_of(const Numbers& numbers) const {
    return on_device(numbers, static_cast<std::size_t>(unknowns()));
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
  nb::class_<MatrixSystem>(m, "MatrixSystem", "The compiled part of stratum.Multigrid.")
      .def(
          "__init__",
          [](MatrixSystem* self, const std::optional<AnyHostArray>& start, const std::optional<AnyHostArray>& column,
             const AnyHostArray& value, int nx, int ny, const std::string& device, int threads,
             std::optional<std::uintptr_t> stream, const nb::dict& options) {
            expects(!stream || device == "cuda", "a stream belongs to device='cuda'");
            const MatrixSolverParams params = params_of(options);
            const nb::gil_scoped_release release;
            new (self) MatrixSystem(stream ? Context::on_stream(reinterpret_cast<void*>(*stream))
                                           : make_context(device, threads),
                                    start, column, value, nx, ny, params);
          },
          nb::arg("start").none(), nb::arg("column").none(), nb::arg("value"), nb::arg("nx"), nb::arg("ny"),
          nb::arg("device"), nb::arg("threads"), nb::arg("stream").none(), nb::arg("options"))
      .def("update", &MatrixSystem::update, nb::arg("start").none(), nb::arg("column").none(), nb::arg("value"))
      .def("solve", &MatrixSystem::solve, nb::arg("b"), nb::arg("x").noconvert(), nb::arg("rtol"), nb::arg("atol"),
           nb::arg("maxiter"), nb::arg("callback").none())
      .def("apply", &MatrixSystem::apply, nb::arg("r"), nb::arg("z").noconvert())
      .def("solve_on_device", &MatrixSystem::solve_on_device, nb::arg("b"), nb::arg("x0").none(), nb::arg("rtol"),
           nb::arg("atol"), nb::arg("maxiter"), nb::arg("callback").none())
      .def("apply_on_device", &MatrixSystem::apply_on_device, nb::arg("r"))
      .def_prop_ro("stream", &MatrixSystem::stream)
      .def("after_fork", &MatrixSystem::after_fork)
      .def("found", &MatrixSystem::found);
}

}  // namespace stratum::python
