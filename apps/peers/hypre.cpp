#include "hypre.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <stratum/core/grid/blas.hpp>

#ifdef STRATUM_HAVE_HYPRE
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_struct_ls.h>
#include <HYPRE_utilities.h>
#include <mpi.h>
#endif

namespace stratum::apps {

const std::vector<std::string>& Hypre::solvers() {
  static const std::vector<std::string> names{"SMG", "SMG-CG", "PFMG-CG", "BoomerAMG-CG"};
  return names;
}

#ifdef STRATUM_HAVE_HYPRE

namespace {

/// A handle of hypre's, destroyed by the function that belongs to it.
template <class H>
using Owned = std::unique_ptr<std::remove_pointer_t<H>, HYPRE_Int (*)(H)>;

/// make(create, destroy, arguments...): the handle that create(arguments..., &handle) gives.
template <class H, class Create, class... Arguments>
Owned<H> make(const Create& create, HYPRE_Int (*destroy)(H), const Arguments&... arguments) {
  H handle = nullptr;
  create(arguments..., &handle);
  return Owned<H>(handle, destroy);
}

/// Failing to converge is an outcome; anything else is an error.
void check(const char* what) {
  const HYPRE_Int error = HYPRE_GetError() & ~HYPRE_ERROR_CONV;
  HYPRE_ClearAllErrors();
  if (error == 0) return;
  std::array<char, 512> text{};
  HYPRE_DescribeError(error, text.data());
  throw std::runtime_error(message("hypre, ", what, ": ", text.data()));
}

/// What the solvers of both interfaces have in common: vectors go over and come back, and the truth is told.
class Solver : public HypreSolver {
 public:
  Solver(const GridOperator<double>& a, double rtol, int max_iterations, Stopwatch now)
      : a_(a), rtol_(rtol), max_iterations_(max_iterations), now_(now),
        values_(static_cast<std::size_t>(a.shape().nodes())) {}

  SolveReport solve(Context& ctx, GridView<const double> b, GridView<double> x) final {
    copy_to_host(ctx, b, values_.data());
    set_rhs(values_.data());
    std::fill(values_.begin(), values_.end(), 0.0);
    set_solution(values_.data());
    const double begin = now_();
    SolveReport report;
    report.iterations = iterate();
    report.solve_seconds = now_() - begin;
    report.setup_seconds = setup_seconds_;
    check("solve");
    get_solution(values_.data());
    copy_from_host(ctx, values_.data(), x);

    Vector<double> r(ctx, a_.shape());
    a_.residual(ctx, b, x, r.view());
    report.residual = norm2(ctx, r.cview());
    report.initial_residual = report.baseline_norm = norm2(ctx, b);
    const bool grew = !(report.residual <= report.initial_residual);
    report.status = report.residual <= 1.01 * rtol_ * report.baseline_norm ? Status::converged
                    : grew                                                 ? Status::diverged
                    : report.iterations >= max_iterations_                 ? Status::max_iterations
                                                                           : Status::stagnated;
    return report;
  }

 protected:
  template <class SetUp>
  void time_set_up(const SetUp& set_up) {
    const double begin = now_();
    set_up();
    setup_seconds_ = now_() - begin;
    check("set-up");
  }
  [[nodiscard]] GridShape shape() const { return a_.shape(); }
  /// (A x)_ij takes this much of x at (i + dx, j + dy), for all nodes, x fastest.
  [[nodiscard]] double coefficient(int dx, int dy, int i, int j) const {
    if (const auto* bands = std::get_if<NineBandMatrix<double>>(&a_.storage()))
      return bands->band[static_cast<std::size_t>(band_index(dx, dy))].view()(i, j);
    const auto upper = [&](int ex, int ey, int p, int q) {
      const auto k = static_cast<std::size_t>(band_index(ex, ey) - SymmetricNineBand<double>::first);
      return std::get<SymmetricNineBand<double>>(a_.storage()).band[k].view()(p, q);
    };
    return dy > 0 || (dy == 0 && dx >= 0) ? upper(dx, dy, i, j) : upper(-dx, -dy, i + dx, j + dy);
  }
  [[nodiscard]] double rtol() const { return rtol_; }
  [[nodiscard]] int max_iterations() const { return max_iterations_; }

 private:
  virtual void set_rhs(double* values) = 0;
  virtual void set_solution(double* values) = 0;
  virtual void get_solution(double* values) = 0;
  /// Returns the number of iterations.
  virtual int iterate() = 0;

  const GridOperator<double>& a_;
  double rtol_, setup_seconds_ = 0;
  int max_iterations_;
  Stopwatch now_;
  std::vector<double> values_;
};

// --- SMG, SMG-CG, PFMG-CG: the Struct interface ------------------------------------------------------------------------

class StructSolver final : public Solver {
 public:
  StructSolver(const std::string& name, const GridOperator<double>& a, double rtol, int max_iterations, bool singular,
               Stopwatch now)
      : Solver(a, rtol, max_iterations, now), first_{0, 0}, last_{shape().nx - 1, shape().ny - 1} {
    HYPRE_StructGridSetExtents(grid_.get(), first_.data(), last_.data());
    HYPRE_StructGridAssemble(grid_.get());
    set_matrix();
    for (auto* vector : {b_.get(), x_.get()}) {
      HYPRE_StructVectorInitialize(vector);
      HYPRE_StructVectorAssemble(vector);
    }
    check("matrix");

    conjugate_gradients_ = name != "SMG";
    multigrid_ = name == "PFMG-CG" ? pfmg(singular) : smg();
    if (!conjugate_gradients_) {
      time_set_up([&] { HYPRE_StructSMGSetup(multigrid_.get(), matrix_.get(), b_.get(), x_.get()); });
      return;
    }
    HYPRE_StructPCGSetTol(pcg_.get(), rtol);
    HYPRE_StructPCGSetMaxIter(pcg_.get(), max_iterations);
    HYPRE_StructPCGSetTwoNorm(pcg_.get(), 1);
    if (name == "PFMG-CG")
      HYPRE_StructPCGSetPrecond(pcg_.get(), HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, multigrid_.get());
    else
      HYPRE_StructPCGSetPrecond(pcg_.get(), HYPRE_StructSMGSolve, HYPRE_StructSMGSetup, multigrid_.get());
    time_set_up([&] { HYPRE_StructPCGSetup(pcg_.get(), matrix_.get(), b_.get(), x_.get()); });
  }

 private:
  /// The upper half of the stencil, centre first, without corners where all of them are zero; hypre is told that the matrix is
  /// symmetric, which is 5 to 10 % faster.
  void set_matrix() {
    const bool corners = has(1, 1) || has(-1, 1);
    std::vector<std::array<HYPRE_Int, 2>> offsets{{0, 0}, {1, 0}, {0, 1}};
    if (corners) offsets.insert(offsets.end(), {{-1, 1}, {1, 1}});
    const auto size = static_cast<HYPRE_Int>(offsets.size());
    stencil_ = make<HYPRE_StructStencil>(HYPRE_StructStencilCreate, HYPRE_StructStencilDestroy, HYPRE_Int{2}, size);
    for (HYPRE_Int k = 0; k < size; ++k)
      HYPRE_StructStencilSetElement(stencil_.get(), k, offsets[static_cast<std::size_t>(k)].data());
    // Made only now: a matrix takes its shape from the stencil.
    matrix_ = make<HYPRE_StructMatrix>(HYPRE_StructMatrixCreate, HYPRE_StructMatrixDestroy, MPI_COMM_WORLD, grid_.get(),
                                       stencil_.get());
    HYPRE_StructMatrixSetSymmetric(matrix_.get(), 1);
    HYPRE_StructMatrixInitialize(matrix_.get());
    std::vector<double> values(offsets.size() * static_cast<std::size_t>(shape().nx));
    std::vector<HYPRE_Int> entries(offsets.size());
    std::iota(entries.begin(), entries.end(), 0);
    for (int j = 0; j < shape().ny; ++j) {
      auto value = values.begin();
      for (int i = 0; i < shape().nx; ++i)
        for (const auto& [dx, dy] : offsets) *value++ = coefficient(dx, dy, i, j);
      std::array<HYPRE_Int, 2> begin{0, j}, end{shape().nx - 1, j};
      HYPRE_StructMatrixSetBoxValues(matrix_.get(), begin.data(), end.data(), size, entries.data(), values.data());
    }
    HYPRE_StructMatrixAssemble(matrix_.get());
  }
  [[nodiscard]] bool has(int dx, int dy) const {
    for (int j = 0; j < shape().ny; ++j)
      for (int i = 0; i < shape().nx; ++i)
        if (coefficient(dx, dy, i, j) != 0) return true;
    return false;
  }

  [[nodiscard]] Owned<HYPRE_StructSolver> smg() const {
    auto solver = make<HYPRE_StructSolver>(HYPRE_StructSMGCreate, HYPRE_StructSMGDestroy, MPI_COMM_WORLD);
    HYPRE_StructSMGSetNumPreRelax(solver.get(), 1);
    HYPRE_StructSMGSetNumPostRelax(solver.get(), 1);
    HYPRE_StructSMGSetTol(solver.get(), conjugate_gradients_ ? 0 : rtol());
    HYPRE_StructSMGSetMaxIter(solver.get(), conjugate_gradients_ ? 1 : max_iterations());
    if (conjugate_gradients_) HYPRE_StructSMGSetZeroGuess(solver.get());
    return solver;
  }

  [[nodiscard]] Owned<HYPRE_StructSolver> pfmg(bool singular) const {
    auto solver = make<HYPRE_StructSolver>(HYPRE_StructPFMGCreate, HYPRE_StructPFMGDestroy, MPI_COMM_WORLD);
    HYPRE_StructPFMGSetRelaxType(solver.get(), 1);  // weighted Jacobi
    HYPRE_StructPFMGSetJacobiWeight(solver.get(), 0.5);
    HYPRE_StructPFMGSetNumPreRelax(solver.get(), 2);
    HYPRE_StructPFMGSetNumPostRelax(solver.get(), 2);
    HYPRE_StructPFMGSetRAPType(solver.get(), 0);  // Galerkin
    HYPRE_StructPFMGSetSkipRelax(solver.get(), 0);
    HYPRE_StructPFMGSetTol(solver.get(), 0);
    HYPRE_StructPFMGSetMaxIter(solver.get(), 1);
    HYPRE_StructPFMGSetZeroGuess(solver.get());
    // Down to one unknown there is a level for every halving of either side, and the finest.
    if (singular) HYPRE_StructPFMGSetMaxLevels(solver.get(), std::ilogb(shape().nx) + std::ilogb(shape().ny));
    return solver;
  }

  void set_rhs(double* values) override {
    HYPRE_StructVectorSetBoxValues(b_.get(), first_.data(), last_.data(), values);
    HYPRE_StructVectorAssemble(b_.get());
  }
  void set_solution(double* values) override {
    HYPRE_StructVectorSetBoxValues(x_.get(), first_.data(), last_.data(), values);
    HYPRE_StructVectorAssemble(x_.get());
  }
  void get_solution(double* values) override {
    HYPRE_StructVectorGetBoxValues(x_.get(), first_.data(), last_.data(), values);
  }
  int iterate() override {
    HYPRE_Int iterations = 0;
    if (conjugate_gradients_) {
      HYPRE_StructPCGSolve(pcg_.get(), matrix_.get(), b_.get(), x_.get());
      HYPRE_StructPCGGetNumIterations(pcg_.get(), &iterations);
    } else {
      HYPRE_StructSMGSolve(multigrid_.get(), matrix_.get(), b_.get(), x_.get());
      HYPRE_StructSMGGetNumIterations(multigrid_.get(), &iterations);
    }
    return iterations;
  }

  bool conjugate_gradients_ = false;
  std::array<HYPRE_Int, 2> first_, last_;
  Owned<HYPRE_StructGrid> grid_ =
      make<HYPRE_StructGrid>(HYPRE_StructGridCreate, HYPRE_StructGridDestroy, MPI_COMM_WORLD, 2);
  Owned<HYPRE_StructStencil> stencil_{nullptr, HYPRE_StructStencilDestroy};
  Owned<HYPRE_StructMatrix> matrix_{nullptr, HYPRE_StructMatrixDestroy};
  Owned<HYPRE_StructVector> b_ =
      make<HYPRE_StructVector>(HYPRE_StructVectorCreate, HYPRE_StructVectorDestroy, MPI_COMM_WORLD, grid_.get());
  Owned<HYPRE_StructVector> x_ =
      make<HYPRE_StructVector>(HYPRE_StructVectorCreate, HYPRE_StructVectorDestroy, MPI_COMM_WORLD, grid_.get());
  Owned<HYPRE_StructSolver> multigrid_{nullptr, HYPRE_StructSMGDestroy};
  Owned<HYPRE_StructSolver> pcg_ =
      make<HYPRE_StructSolver>(HYPRE_StructPCGCreate, HYPRE_StructPCGDestroy, MPI_COMM_WORLD);
};

// --- BoomerAMG-CG: the IJ interface, unknown (i, j) numbered j nx + i --------------------------------------------------

class BoomerAmgCg final : public Solver {
 public:
  BoomerAmgCg(const GridOperator<double>& a, double rtol, int max_iterations, bool singular, Stopwatch now)
      : Solver(a, rtol, max_iterations, now), last_(static_cast<HYPRE_Int>(shape().nodes() - 1)) {
    set_matrix();
    for (auto* vector : {b_.get(), x_.get()}) {
      HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
      HYPRE_IJVectorInitialize(vector);
      HYPRE_IJVectorAssemble(vector);
    }
    void* object = nullptr;
    HYPRE_IJMatrixGetObject(matrix_.get(), &object);
    a_ = static_cast<HYPRE_ParCSRMatrix>(object);
    HYPRE_IJVectorGetObject(b_.get(), &object);
    rhs_ = static_cast<HYPRE_ParVector>(object);
    HYPRE_IJVectorGetObject(x_.get(), &object);
    solution_ = static_cast<HYPRE_ParVector>(object);
    check("matrix");

    HYPRE_BoomerAMGSetStrongThreshold(multigrid_.get(), 0.5);
    HYPRE_BoomerAMGSetTol(multigrid_.get(), 0);
    HYPRE_BoomerAMGSetMaxIter(multigrid_.get(), 1);
    constexpr HYPRE_Int symmetric_gauss_seidel = 6, coarsest = 3;
    if (singular) HYPRE_BoomerAMGSetCycleRelaxType(multigrid_.get(), symmetric_gauss_seidel, coarsest);
    HYPRE_ParCSRPCGSetTol(pcg_.get(), rtol);
    HYPRE_ParCSRPCGSetMaxIter(pcg_.get(), max_iterations);
    HYPRE_ParCSRPCGSetTwoNorm(pcg_.get(), 1);
    HYPRE_ParCSRPCGSetPrecond(pcg_.get(), HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, multigrid_.get());
    time_set_up([&] { HYPRE_ParCSRPCGSetup(pcg_.get(), a_, rhs_, solution_); });
  }

 private:
  void set_matrix() {
    const int nx = shape().nx, ny = shape().ny;
    HYPRE_IJMatrixSetObjectType(matrix_.get(), HYPRE_PARCSR);
    std::vector<HYPRE_Int> sizes(static_cast<std::size_t>(shape().nodes()), 9);
    HYPRE_IJMatrixSetRowSizes(matrix_.get(), sizes.data());
    HYPRE_IJMatrixInitialize(matrix_.get());
    std::vector<HYPRE_BigInt> rows, columns;
    std::vector<double> values;
    for (int j = 0; j < ny; ++j) {
      sizes.clear(), rows.clear(), columns.clear(), values.clear();
      for (int i = 0; i < nx; ++i) {
        const std::size_t before = columns.size();
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (i + dx < 0 || i + dx >= nx || j + dy < 0 || j + dy >= ny) continue;
            const double value = coefficient(dx, dy, i, j);
            if (value == 0) continue;
            columns.push_back((j + dy) * nx + i + dx);
            values.push_back(value);
          }
        rows.push_back(j * nx + i);
        sizes.push_back(static_cast<HYPRE_Int>(columns.size() - before));
      }
      HYPRE_IJMatrixSetValues(matrix_.get(), nx, sizes.data(), rows.data(), columns.data(), values.data());
    }
    HYPRE_IJMatrixAssemble(matrix_.get());
  }

  /// Null for the indices: all of them, in order.
  void set_rhs(double* values) override {
    HYPRE_IJVectorSetValues(b_.get(), last_ + 1, nullptr, values);
    HYPRE_IJVectorAssemble(b_.get());
  }
  void set_solution(double* values) override {
    HYPRE_IJVectorSetValues(x_.get(), last_ + 1, nullptr, values);
    HYPRE_IJVectorAssemble(x_.get());
  }
  void get_solution(double* values) override { HYPRE_IJVectorGetValues(x_.get(), last_ + 1, nullptr, values); }
  int iterate() override {
    HYPRE_ParCSRPCGSolve(pcg_.get(), a_, rhs_, solution_);
    HYPRE_Int iterations = 0;
    HYPRE_ParCSRPCGGetNumIterations(pcg_.get(), &iterations);
    return iterations;
  }

  HYPRE_Int last_;
  Owned<HYPRE_IJMatrix> matrix_ = make<HYPRE_IJMatrix>(HYPRE_IJMatrixCreate, HYPRE_IJMatrixDestroy, MPI_COMM_WORLD,
                                                       HYPRE_BigInt{0}, last_, HYPRE_BigInt{0}, last_);
  Owned<HYPRE_IJVector> b_ =
      make<HYPRE_IJVector>(HYPRE_IJVectorCreate, HYPRE_IJVectorDestroy, MPI_COMM_WORLD, HYPRE_BigInt{0}, last_);
  Owned<HYPRE_IJVector> x_ =
      make<HYPRE_IJVector>(HYPRE_IJVectorCreate, HYPRE_IJVectorDestroy, MPI_COMM_WORLD, HYPRE_BigInt{0}, last_);
  HYPRE_ParCSRMatrix a_ = nullptr;
  HYPRE_ParVector rhs_ = nullptr, solution_ = nullptr;
  Owned<HYPRE_Solver> multigrid_ = make<HYPRE_Solver>(HYPRE_BoomerAMGCreate, HYPRE_BoomerAMGDestroy);
  Owned<HYPRE_Solver> pcg_ = make<HYPRE_Solver>(HYPRE_ParCSRPCGCreate, HYPRE_ParCSRPCGDestroy, MPI_COMM_WORLD);
};

}  // namespace

Hypre::Hypre(Stopwatch now) : now_(now) {
  MPI_Init(nullptr, nullptr);
  HYPRE_Init();
}

Hypre::~Hypre() {
  HYPRE_Finalize();
  MPI_Finalize();
}

bool Hypre::available() { return true; }
std::string Hypre::version() { return HYPRE_RELEASE_VERSION; }

std::unique_ptr<HypreSolver> Hypre::set_up(const std::string& name, const GridOperator<double>& a, double rtol,
                                           int max_iterations, bool singular) const {
  expects(a.form() == OperatorForm::nine_band || a.form() == OperatorForm::symmetric,
          "hypre takes nine bands or five, not the form ", to_string(a.form()));
  if (name == "BoomerAMG-CG") return std::make_unique<BoomerAmgCg>(a, rtol, max_iterations, singular, now_);
  for (const auto& known : solvers())
    if (name == known) return std::make_unique<StructSolver>(name, a, rtol, max_iterations, singular, now_);
  throw UsageError(message("hypre has no solver '", name, "' here"));
}

#else

Hypre::Hypre(Stopwatch now) : now_(now) {
  throw ResourceError("this program was built without hypre (Debian: libhypre-dev)");
}
Hypre::~Hypre() = default;
bool Hypre::available() { return false; }
std::string Hypre::version() { return ""; }
std::unique_ptr<HypreSolver> Hypre::set_up(const std::string&, const GridOperator<double>&, double, int, bool) const {
  return nullptr;
}

#endif

}  // namespace stratum::apps
