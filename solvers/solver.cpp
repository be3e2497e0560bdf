#include <stratum/solvers/solver.hpp>

#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

template <class T>
SolveReport Solver<T>::solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b,
                             FieldView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const GridLayout<2> of_a = a.shape();
  expects(of_a.nx == shape_.nx && of_a.ny == shape_.ny, "this solver was made for ", shape_.nx, " x ", shape_.ny,
          ", not for A of ", of_a.nx, " x ", of_a.ny);
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  expects_reached(ctx, "b", b);
  expects_reached(ctx, "x", x);
  stop.validate();
  const auto entered = guard_->enter("solver");
  return run(ctx, a, m, b, x, stop, monitor);
}

template <class T>
SolveReport Solver<T>::solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<float>& m, FieldView<const T> b,
                             FieldView<T> x, const StoppingParams& stop,
                             const Monitor& monitor) requires std::is_same_v<T, double> {
  // clang++ before 16 instantiates this for other numbers, too.
  if constexpr (std::is_same_v<T, double>) {
    if (cast_of_ != &m) {
      cast_ = std::make_shared<PrecisionCast<double, float>>(
          ctx, shape_, std::shared_ptr<Preconditioner<float>>(std::shared_ptr<void>(), &m));  // not owned
      cast_of_ = &m;
    }
    return solve(ctx, a, *cast_, b, x, stop, monitor);
  }
}

namespace {

const SolverRegistry& registry() {
  static const SolverRegistry builtin = builtin_solvers();
  return builtin;
}

}  // namespace

const std::map<std::string, SolverEntry, std::less<>>& solver_entries() { return registry().entries(); }

const SolverEntry& solver_entry(std::string_view name) { return registry().find(name); }

void expects_restart(int restart) { expects(restart >= 1, "restart must be 1 or more, not ", restart); }

template <class T>
std::unique_ptr<Solver<T>> make_solver(Context& ctx, std::string_view name, const GridLayout<2>& shape,
                                       const SolverParams& params) {
  expects_restart(params.restart);
  return registry().make<T>(ctx, name, shape, params);
}

#define STRATUM_INSTANTIATE(T)                                                                      \
  template class Solver<T>;                                                                         \
  template std::unique_ptr<Solver<T>> make_solver(Context&, std::string_view, const GridLayout<2>&, \
                                                  const SolverParams&);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
