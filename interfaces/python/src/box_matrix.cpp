// A matrix on a box for Python (multigrid/structured/box_matrix_solver.hpp): the compiled part of stratum.Multigrid in three
// dimensions. Arrays on a GPU are copied to the host and back, where the solver takes them.

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/axis.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include "matrices.hpp"

namespace stratum::python {

namespace {

class BoxMatrixSystem {
 public:
  BoxMatrixSystem(Context ctx, const AnyHostArray& start, const AnyHostArray& column, const AnyHostArray& value,
                  const std::array<int, 3>& n, const BoxMatrixParams& params)
      : ctx_(std::move(ctx)), n_(n), params_(params),
        solver_(std::make_unique<BoxMatrixSolver>(ctx_, rows_of(start, column, value), n_, params_)) {
    setup_seconds_ = clock_.seconds();
  }

  void update(const std::optional<AnyHostArray>& start, const std::optional<AnyHostArray>& column,
              const AnyHostArray& value) {
    expects(start && column, "a matrix on a box is given by rows");
    const WithoutGil computing;
    const Clock clock;
    const bool symmetric = solver_->findings().symmetric;
    const int fixed = solver_->findings().fixed;
    auto made = std::make_unique<BoxMatrixSolver>(ctx_, rows_of(*start, *column, value), n_, params_);
    expects(made->findings().symmetric || !symmetric,
            "the matrix was symmetric and is not any more: make another stratum.Multigrid");
    expects(made->findings().fixed == fixed, "the matrix had ", fixed, " rows that hold their diagonal alone, and has ",
            made->findings().fixed, " now: make another stratum.Multigrid");
    solver_ = std::move(made);
    setup_seconds_ = clock.seconds();
  }

  nb::dict solve(const HostArray<double, 1>& b, ResultArray x, double rtol, double atol, int maxiter,
                 const nb::object& callback) {
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    {
      const WithoutGil computing;
      set_stop(rtol, atol, maxiter);
      report = solver_->solve(ctx_, std::span<const double>(b.data(), b.size()), std::span<double>(x.data(), x.size()),
                              monitor);
    }
    return dictionary_of(report, setup_seconds_);
  }

  void apply(const HostArray<double, 1>& r, ResultArray z) {
    const WithoutGil computing;
    solver_->apply(ctx_, std::span<const double>(r.data(), r.size()), std::span<double>(z.data(), z.size()));
  }

  nb::tuple solve_on_device(const DeviceArray<1>& b, const std::optional<DeviceArray<1>>& x0, double rtol, double atol,
                            int maxiter, const nb::object& callback) {
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    Numbers on_device;
    {
      const WithoutGil computing;
      set_stop(rtol, atol, maxiter);
      const std::vector<double> right = on_host(b);
      std::vector<double> x = x0 ? on_host(*x0) : std::vector<double>(right.size(), 0.0);
      report = solver_->solve(ctx_, right, x, monitor);
      on_device = to_device(x);
    }
    return nb::make_tuple(array_on_device(on_device, {b.size()}, b.device_id()), dictionary_of(report, setup_seconds_));
  }

  nb::object apply_on_device(const DeviceArray<1>& r) {
    Numbers on_device;
    {
      const WithoutGil computing;
      std::vector<double> z = on_host(r);
      solver_->apply(ctx_, z, z);
      on_device = to_device(z);
    }
    return array_on_device(on_device, {r.size()}, r.device_id());
  }

  [[nodiscard]] nb::dict found() const {
    const BoxMatrixSolver::Findings& found = solver_->findings();
    constexpr std::array names{"x", "y", "z"};
    const auto axis = [&](std::size_t k) { return std::string(names.at(static_cast<std::size_t>(found.order.at(k)))); };
    nb::dict d;
    d["symmetric"] = found.symmetric;
    d["negative"] = found.negative;
    d["singular"] = found.singular;
    d["singular_parts"] = found.singular ? 1 : 0;
    d["note"] = "";
    d["numbering"] = !params_.numbering.empty()                   ? "given"
                     : found.order == std::array<int, 3>{0, 1, 2} ? "x first"
                                                                  : axis(0) + " first, then " + axis(1);
    d["periodic"] = nb::make_tuple(found.periodic[2], found.periodic[1], found.periodic[0]);
    nb::dict boundaries;
    constexpr std::array<std::array<const char*, 2>, 3> ends{{{"left", "right"}, {"bottom", "top"}, {"front", "back"}}};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t end = 0; end < 2; ++end) {
        const BoundaryType type = found.periodic.at(a)             ? BoundaryType::periodic
                                  : found.is_natural.at(a).at(end) ? BoundaryType::neumann
                                                                   : BoundaryType::dirichlet;
        boundaries[ends.at(a).at(end)] = nb::cast(std::string(to_string(type)));
      }
    d["boundaries"] = boundaries;
    d["fixed_rows"] = found.fixed;
    d["accel"] = nb::cast(std::string(to_string(found.method)));
    d["choice"] = found.choice;
    d["levels"] = found.levels.size();
    return d;
  }
  /// In a child process, which does not have the threads of its parent: on a CPU what follows runs on one.
  void after_fork() {
    if (!ctx_.on_gpu()) ctx_ = Context(Backend::cpu, 1);
  }
  [[nodiscard]] std::uintptr_t stream() const { return reinterpret_cast<std::uintptr_t>(ctx_.stream()); }

 private:
  static SparseRows rows_of(const AnyHostArray& start, const AnyHostArray& column, const AnyHostArray& value) {
    return with_indices(start, column, [&]<class Index>(std::span<const Index> s, std::span<const Index> c) {
      return rows_of_csr<Index>(s, c, span_of<double>(value));
    });
  }
  void set_stop(double rtol, double atol, int maxiter) {
    StoppingParams stop = params_.stop;
    stop.rtol = rtol;
    stop.atol = atol;
    stop.max_iterations = maxiter;
    solver_->set_stop(stop);
  }
  std::vector<double> on_host(const DeviceArray<1>& array) {
    std::vector<double> numbers(array.size());
    copy_to_host<double>(ctx_, flat_view(array.data(), array.size()), numbers.data());
    return numbers;
  }
  Numbers to_device(const std::vector<double>& numbers) {
    Numbers made = numbers_on(ctx_, numbers.size());
    copy_from_host<double>(ctx_, numbers.data(), flat_view(made.get(), numbers.size()));
    ctx_.synchronise();
    return made;
  }

  Clock clock_;  // first, to measure what follows
  Context ctx_;
  std::array<int, 3> n_;
  BoxMatrixParams params_;
  std::unique_ptr<BoxMatrixSolver> solver_;
  double setup_seconds_ = 0;
};

BoxMatrixParams params_of(const nb::dict& options) {
  BoxMatrixParams params;
  const auto given = [&](const char* name) { return !options[name].is_none(); };
  const auto text = [&](const char* name) { return option<std::string>(options, name); };
  const auto text_or_none = [&](const char* name) { return given(name) ? text(name) : std::string(); };
  expects_options_of_boxes(text("smoother"),
                           given("sweeps") ? std::optional(option<int>(options, "sweeps")) : std::nullopt,
                           text_or_none("cycle"), text_or_none("interpolation"));
  if (given("accel")) params.method = by_name("accel", text("accel"), values_of<Method>);
  params.float_cycles = option<bool>(options, "single_precision");
  if (given("symmetric")) params.symmetric = option<bool>(options, "symmetric");
  if (given("singular")) params.singular = option<bool>(options, "singular");
  params.project = option<bool>(options, "project");
  params.triangle = by_name("triangle", text("triangle"), values_of<Triangle>);
  if (given("widths")) {
    const auto [x, y, z] =
        nb::cast<std::tuple<HostArray<double, 1>, HostArray<double, 1>, HostArray<double, 1>>>(options["widths"]);
    params.widths = {vector_of(x), vector_of(y), vector_of(z)};
  }
  if (given("numbering")) {
    const auto node = nb::cast<HostArray<int, 1>>(options["numbering"]);
    params.numbering.assign(node.data(), node.data() + node.size());
  }
  return params;
}

}  // namespace

void add_box_matrix(nb::module_& m) {
  nb::class_<BoxMatrixSystem> type(m, "BoxMatrixSystem", "The compiled part of stratum.Multigrid in three dimensions.");
  type.def(
      "__init__",
      [](BoxMatrixSystem* self, const AnyHostArray& start, const AnyHostArray& column, const AnyHostArray& value,
         int nx, int ny, int nz, const std::string& device, int threads, std::optional<std::uintptr_t> stream,
         const nb::dict& options) {
        const BoxMatrixParams params = params_of(options);
        const WithoutGil computing;
        new (self) BoxMatrixSystem(make_context(device, threads, stream), start, column, value, {nx, ny, nz}, params);
      },
      nb::arg("start"), nb::arg("column"), nb::arg("value"), nb::arg("nx"), nb::arg("ny"), nb::arg("nz"),
      nb::arg("device"), nb::arg("threads"), nb::arg("stream").none(), nb::arg("options"));
  add_methods(type);
}

}  // namespace stratum::python
