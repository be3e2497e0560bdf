// The extension module of the Python package: arrays, exceptions, reports. What users see is in ../stratum.

#include "arrays.hpp"

#include <exception>
#include <utility>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/version.h>

namespace stratum::python {

NumpyArray numpy_array(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<double>(std::move(values));  // NOLINT: the capsule owns it
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return NumpyArray(kept->data(), shape, owner);
}

nb::object array_on_device(const Numbers& numbers, std::initializer_list<std::size_t> shape, int device_id) {
  auto* const kept = new Numbers(numbers);  // NOLINT: the capsule owns it
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Numbers*>(p); });
  return nb::cast(nb::ndarray<double, nb::device::cuda>(numbers.get(), shape, owner, {}, nb::dtype<double>(),
                                                        nb::device::cuda::value, device_id));
}

Context make_context(std::string_view device, int threads, std::optional<std::uintptr_t> stream) {
  expects(device == "cpu" || device == "cuda", "device is 'cpu' or 'cuda'; not '", shown(device), "'");
  expects(!stream || device == "cuda", "a stream belongs to device='cuda'");
  if (stream) return Context::on_stream(reinterpret_cast<void*>(*stream));
  return Context(device == "cuda" ? Backend::cuda : Backend::cpu, threads);
}

nb::dict dictionary_of(const SolveReport& report, double setup_seconds) {
  nb::dict d;
  d["status"] = nb::cast(std::string(to_string(report.status)));
  d["converged"] = report.status == Status::converged;
  d["failed"] = exit_code(report.status) == 3;  // nothing to use
  d["exit_codes"] = nb::make_tuple(exit_code(report.status, false), exit_code(report.status, true));
  d["reason"] = report.reason;
  d["iterations"] = report.iterations;
  d["inner_iterations"] = report.inner_iterations;
  d["residual"] = report.residual;
  d["initial_residual"] = report.initial_residual;
  d["relative_residual"] = report.relative_residual();
  d["estimated_error"] = report.estimated_error ? nb::cast(*report.estimated_error) : nb::none();
  d["reference_norm"] = nb::cast(std::string(to_string(report.reference_norm)));
  d["residuals"] = report.history;
  d["convergence_rate"] = report.convergence_rate();
  d["choice"] = report.choice;
  d["setup_seconds"] = setup_seconds;
  d["solve_seconds"] = report.solve_seconds;
  nb::list levels;
  for (const LevelReport& level : report.levels) {
    nb::dict l;
    l["shape"] = nb::make_tuple(level.ny, level.nx);
    l["smoother"] = level.smoother;
    l["sweeps"] = level.sweeps;
    levels.append(l);
  }
  d["levels"] = levels;
  return d;
}

StoppingParams stopping_of(double rtol, double atol, int maxiter, const std::optional<std::string>& reference_norm) {
  StoppingParams stop;
  stop.rtol = rtol;
  stop.atol = atol;
  stop.max_iterations = maxiter;
  if (reference_norm) stop.reference_norm = by_name("reference_norm", *reference_norm, values_of<ReferenceNorm>);
  return stop;
}

Monitor monitor_of(const nb::object& callback) {
  return [&callback](int iteration, double residual) {
    with_gil([&] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!callback.is_none()) callback(iteration, residual);
    });
  };
}

namespace {

/// Too little memory and a device that fails are one class in C++: here it is both of Python's.
PyObject* resource_error = nullptr;

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ResourceError& e) {
    PyErr_SetString(resource_error, e.what());
  } catch (const FileError& e) {
    PyErr_SetString(PyExc_OSError, e.what());
  }
}

}  // namespace

NB_MODULE(_stratum, m) {
  m.doc() = "The part of Stratum's Python package that is written in C++.";
  watch_the_end();
  const nb::object bases = nb::make_tuple(nb::handle(PyExc_MemoryError), nb::handle(PyExc_RuntimeError));
  resource_error = PyErr_NewExceptionWithDoc("_stratum.ResourceError", "Memory does not suffice, or a device failed.",
                                             bases.ptr(), nullptr);
  m.attr("ResourceError") = nb::handle(resource_error);
  nb::register_exception_translator(translate);
  m.attr("version") = STRATUM_VERSION;
  m.def("expressions_available", &expressions_available,
        "True where strings are understood as expressions in x and y.");
  m.def("cuda_available", &cuda_available, "True where this build has the CUDA backend and a device answers.");
  add_mesh(m);
  add_poisson(m);
  add_poisson_3d(m);
  add_poisson_patches(m);
  add_heat(m);
  add_multigrid(m);
#if defined(STRATUM_XLA)
  add_xla(m);
#endif
  add_box_matrix(m);
}

}  // namespace stratum::python
