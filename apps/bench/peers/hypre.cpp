#include "hypre.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <stratum/core/field/blas.hpp>

#ifdef STRATUM_HAVE_HYPRE
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_struct_ls.h>
#include <HYPRE_utilities.h>
#include <mpi.h>
#ifdef HYPRE_USING_CUDA
#include <cuda_runtime_api.h>
#endif
#endif

namespace stratum::apps {

const std::vector<std::string>& Hypre::solvers(bool on_gpu) {
  static const std::vector<std::string> on_cpus{"SMG", "SMG-CG", "PFMG-CG", "BoomerAMG-CG"},
      on_gpus{"PFMG-CG", "BoomerAMG-CG", "BoomerAMG-Chebyshev-CG"};
  return on_gpu ? on_gpus : on_cpus;
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

/// (A x)_ij takes this much of x at (i + dx, j + dy), for all nodes, x fastest.
double coefficient(const GridOperator<double>& a, int dx, int dy, int i, int j) {
  if (const auto* bands = std::get_if<NineBandMatrix<double>>(&a.storage()))
    return bands->band[static_cast<std::size_t>(band_index(dx, dy))].view()(i, j);
  const auto upper = [&](int ex, int ey, int p, int q) {
    const auto k = static_cast<std::size_t>(band_index(ex, ey) - SymmetricNineBand<double>::first);
    return std::get<SymmetricNineBand<double>>(a.storage()).band[k].view()(p, q);
  };
  return dy > 0 || (dy == 0 && dx >= 0) ? upper(dx, dy, i, j) : upper(-dx, -dy, i + dx, j + dy);
}

/// What the solvers of both interfaces have in common: vectors go over and come back, and the truth is told.
class Solver : public HypreSolver {
 public:
  Solver(const LinearOperator<double>& a, double rtol, int max_iterations, Stopwatch now)
      : a_(a), rtol_(rtol), max_iterations_(max_iterations), now_(now),
        values_(static_cast<std::size_t>(a.shape().nodes())) {}

  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x) final {
    copy_to_host(ctx, b, values_.data());
    set_rhs(values_.data());
    std::fill(values_.begin(), values_.end(), 0.0);
    set_solution(values_.data());
    const double begin = now_();
    SolveReport report;
    report.iterations = iterate();
    report.solve_seconds = now_() - begin;
    report.setup_seconds = setup_seconds_;
    Hypre::check("solve");
    get_solution(values_.data());
    copy_from_host(ctx, values_.data(), x);

    Field<double> r(ctx, a_.shape());
    a_.residual(ctx, b, x, r.view());
    report.residual = norm2(ctx, r.cview());
    report.initial_residual = report.reference_norm_value = norm2(ctx, b);
    const bool grew = !(report.residual <= report.initial_residual);
    report.status = report.residual <= 1.01 * rtol_ * report.reference_norm_value ? Status::converged
                    : grew                                                        ? Status::diverged
                    : report.iterations >= max_iterations_                        ? Status::max_iterations
                                                                                  : Status::stagnated;
    return report;
  }

 protected:
  template <class SetUp>
  void time_set_up(const SetUp& set_up) {
    const double begin = now_();
    set_up();
    setup_seconds_ = now_() - begin;
    Hypre::check("set-up");
  }
  [[nodiscard]] GridLayout<2> shape() const { return a_.shape(); }
  [[nodiscard]] double rtol() const { return rtol_; }
  [[nodiscard]] int max_iterations() const { return max_iterations_; }

 private:
  virtual void set_rhs(double* values) = 0;
  virtual void set_solution(double* values) = 0;
  virtual void get_solution(double* values) = 0;
  /// Returns the number of iterations.
  virtual int iterate() = 0;

  const LinearOperator<double>& a_;
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
      : Solver(a, rtol, max_iterations, now), grid_operator_(a), first_{0, 0}, last_{shape().nx - 1, shape().ny - 1} {
    HYPRE_StructGridSetExtents(grid_.get(), first_.data(), last_.data());
    HYPRE_StructGridAssemble(grid_.get());
    set_matrix();
    for (auto* vector : {b_.get(), x_.get()}) {
      HYPRE_StructVectorInitialize(vector);
      HYPRE_StructVectorAssemble(vector);
    }
    Hypre::check("matrix");

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
        for (const auto& [dx, dy] : offsets) *value++ = coefficient(grid_operator_, dx, dy, i, j);
      std::array<HYPRE_Int, 2> begin{0, j}, end{shape().nx - 1, j};
      HYPRE_StructMatrixSetBoxValues(matrix_.get(), begin.data(), end.data(), size, entries.data(), values.data());
    }
    HYPRE_StructMatrixAssemble(matrix_.get());
  }
  [[nodiscard]] bool has(int dx, int dy) const {
    for (int j = 0; j < shape().ny; ++j)
      for (int i = 0; i < shape().nx; ++i)
        if (coefficient(grid_operator_, dx, dy, i, j) != 0) return true;
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

  const GridOperator<double>& grid_operator_;
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

// --- The IJ interface: conjugate gradients around BoomerAMG or AMS -----------------------------------------------------

using Indices = std::vector<HYPRE_BigInt>;

/// A vector of hypre's, with numbers in order.
class IjVector {
 public:
  explicit IjVector(int size)
      : size_(size), vector_(make<HYPRE_IJVector>(HYPRE_IJVectorCreate, HYPRE_IJVectorDestroy, MPI_COMM_WORLD,
                                                  HYPRE_BigInt{0}, HYPRE_BigInt{size - 1})) {
    HYPRE_IJVectorSetObjectType(vector_.get(), HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(vector_.get());
    HYPRE_IJVectorAssemble(vector_.get());
  }
  /// Null for the indices: all of them, in order.
  void set(const double* values) {
    HYPRE_IJVectorSetValues(vector_.get(), size_, nullptr, values);
    HYPRE_IJVectorAssemble(vector_.get());
  }
  void get(double* values) { HYPRE_IJVectorGetValues(vector_.get(), size_, nullptr, values); }
  [[nodiscard]] HYPRE_ParVector object() const {
    void* object = nullptr;
    HYPRE_IJVectorGetObject(vector_.get(), &object);
    return static_cast<HYPRE_ParVector>(object);
  }

 private:
  HYPRE_Int size_;
  Owned<HYPRE_IJVector> vector_;
};

/// A matrix of hypre's.
class IjMatrix {
 public:
  explicit IjMatrix(const SparseRows& a)
      : matrix_(make<HYPRE_IJMatrix>(HYPRE_IJMatrixCreate, HYPRE_IJMatrixDestroy, MPI_COMM_WORLD, HYPRE_BigInt{0},
                                     HYPRE_BigInt{a.rows - 1}, HYPRE_BigInt{0}, HYPRE_BigInt{a.columns - 1})) {
    HYPRE_IJMatrixSetObjectType(matrix_.get(), HYPRE_PARCSR);
    std::vector<HYPRE_Int> sizes;
    Indices rows;
    for (int i = 0; i < a.rows; ++i) {
      sizes.push_back(a.start[static_cast<std::size_t>(i) + 1] - a.start[static_cast<std::size_t>(i)]);
      rows.push_back(i);
    }
    HYPRE_IJMatrixSetRowSizes(matrix_.get(), sizes.data());
    HYPRE_IJMatrixInitialize(matrix_.get());
    const Indices columns(a.column.begin(), a.column.end());
    HYPRE_IJMatrixSetValues(matrix_.get(), a.rows, sizes.data(), rows.data(), columns.data(), a.value.data());
    HYPRE_IJMatrixAssemble(matrix_.get());
  }
  [[nodiscard]] HYPRE_ParCSRMatrix object() const {
    void* object = nullptr;
    HYPRE_IJMatrixGetObject(matrix_.get(), &object);
    return static_cast<HYPRE_ParCSRMatrix>(object);
  }

 private:
  Owned<HYPRE_IJMatrix> matrix_;
};

/// Conjugate gradients with a preconditioner of the derived class's.
class IjCg : public Solver {
 public:
  IjCg(const LinearOperator<double>& a, const SparseRows& rows, double rtol, int max_iterations, Stopwatch now)
      : Solver(a, rtol, max_iterations, now), matrix_(rows), b_(rows.rows), x_(rows.rows) {
    Hypre::check("matrix");
    HYPRE_ParCSRPCGSetTol(pcg_.get(), rtol);
    HYPRE_ParCSRPCGSetMaxIter(pcg_.get(), max_iterations);
    HYPRE_ParCSRPCGSetTwoNorm(pcg_.get(), 1);
  }

 protected:
  void set_up(HYPRE_PtrToParSolverFcn cycle, HYPRE_PtrToParSolverFcn prepare, HYPRE_Solver preconditioner) {
    HYPRE_ParCSRPCGSetPrecond(pcg_.get(), cycle, prepare, preconditioner);
    time_set_up([&] { HYPRE_ParCSRPCGSetup(pcg_.get(), matrix_.object(), b_.object(), x_.object()); });
  }

 private:
  void set_rhs(double* values) override { b_.set(values); }
  void set_solution(double* values) override { x_.set(values); }
  void get_solution(double* values) override { x_.get(values); }
  int iterate() override {
    HYPRE_ParCSRPCGSolve(pcg_.get(), matrix_.object(), b_.object(), x_.object());
    HYPRE_Int iterations = 0;
    HYPRE_ParCSRPCGGetNumIterations(pcg_.get(), &iterations);
    return iterations;
  }

  IjMatrix matrix_;
  IjVector b_, x_;
  Owned<HYPRE_Solver> pcg_ = make<HYPRE_Solver>(HYPRE_ParCSRPCGCreate, HYPRE_ParCSRPCGDestroy, MPI_COMM_WORLD);
};

/// Unknown (i, j) of the grid is number j nx + i; zeros are left out.
SparseRows rows_of(const GridOperator<double>& a) {
  const int nx = a.shape().nx, ny = a.shape().ny;
  SparseRows rows;
  rows.rows = rows.columns = nx * ny;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (i + dx < 0 || i + dx >= nx || j + dy < 0 || j + dy >= ny) continue;
          const double value = coefficient(a, dx, dy, i, j);
          if (value == 0) continue;
          rows.column.push_back((j + dy) * nx + i + dx);
          rows.value.push_back(value);
        }
      rows.start.push_back(static_cast<int>(rows.value.size()));
    }
  return rows;
}

class BoomerAmgCg final : public IjCg {
 public:
  BoomerAmgCg(const GridOperator<double>& a, double rtol, int max_iterations, bool singular, Stopwatch now)
      : IjCg(a, rows_of(a), rtol, max_iterations, now) {
    HYPRE_BoomerAMGSetStrongThreshold(multigrid_.get(), 0.5);
    HYPRE_BoomerAMGSetTol(multigrid_.get(), 0);
    HYPRE_BoomerAMGSetMaxIter(multigrid_.get(), 1);
    constexpr HYPRE_Int symmetric_gauss_seidel = 6, coarsest = 3;
    if (singular) HYPRE_BoomerAMGSetCycleRelaxType(multigrid_.get(), symmetric_gauss_seidel, coarsest);
    set_up(HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, multigrid_.get());
  }

 private:
  Owned<HYPRE_Solver> multigrid_ = make<HYPRE_Solver>(HYPRE_BoomerAMGCreate, HYPRE_BoomerAMGDestroy);
};

class AmsCg final : public IjCg {
 public:
  AmsCg(const CsrMatrix<double>& a, const SparseRows& rows, const SparseRows& gradient,
        const std::array<std::vector<double>, 3>& points, double rtol, int max_iterations, Stopwatch now)
      : IjCg(a, rows, rtol, max_iterations, now),
        gradient_(gradient), points_{IjVector(gradient.columns), IjVector(gradient.columns),
                                     IjVector(gradient.columns)} {
    for (std::size_t d = 0; d < 3; ++d) points_[d].set(points[d].data());
    HYPRE_AMSSetDiscreteGradient(ams_.get(), gradient_.object());
    HYPRE_AMSSetCoordinateVectors(ams_.get(), points_[0].object(), points_[1].object(), points_[2].object());
    HYPRE_AMSSetBetaPoissonMatrix(ams_.get(), nullptr);  // the mass term is zero
    HYPRE_AMSSetTol(ams_.get(), 0);
    HYPRE_AMSSetMaxIter(ams_.get(), 1);
    HYPRE_AMSSetPrintLevel(ams_.get(), 0);
    set_up(HYPRE_AMSSolve, HYPRE_AMSSetup, ams_.get());
  }

 private:
  IjMatrix gradient_;
  std::array<IjVector, 3> points_;
  Owned<HYPRE_Solver> ams_ = make<HYPRE_Solver>(HYPRE_AMSCreate, HYPRE_AMSDestroy);
};

}  // namespace

void Hypre::check(const char* what) {
  const HYPRE_Int error = HYPRE_GetError() & ~HYPRE_ERROR_CONV;
  HYPRE_ClearAllErrors();
  if (error == 0) return;
  std::array<char, 512> text{};
  HYPRE_DescribeError(error, text.data());
  throw std::runtime_error(message("hypre, ", what, ": ", text.data()));
}

Hypre::Hypre(Stopwatch now, bool on_gpu) : now_(now), on_gpu_(on_gpu) {
  if (!available(on_gpu)) throw ResourceError("this program was built with a hypre without CUDA");
  MPI_Init(nullptr, nullptr);
  HYPRE_Init();
#ifdef HYPRE_USING_CUDA
  // Either is of the whole process, and CUDA's hypre computes on GPUs unless told.
  HYPRE_SetMemoryLocation(on_gpu ? HYPRE_MEMORY_DEVICE : HYPRE_MEMORY_HOST);
  HYPRE_SetExecutionPolicy(on_gpu ? HYPRE_EXEC_DEVICE : HYPRE_EXEC_HOST);
  if (!on_gpu) return;
  HYPRE_DeviceInitialize();
  HYPRE_SetSpGemmUseVendor(0);
  HYPRE_SetUseGpuRand(1);
#endif
}

Hypre::~Hypre() {
  HYPRE_Finalize();
  MPI_Finalize();
}

std::string Hypre::version() { return HYPRE_RELEASE_VERSION; }
std::int64_t Hypre::most_entries() { return std::numeric_limits<HYPRE_Int>::max() / 2; }

#ifdef HYPRE_USING_CUDA

namespace {

void expect_success(cudaError_t error) {
  if (error != cudaSuccess) throw ResourceError(message("CUDA, beside hypre: ", cudaGetErrorString(error)));
}

}  // namespace

bool Hypre::available(bool /*on_gpu*/) { return true; }

double Hypre::seconds() const {
  if (on_gpu_) expect_success(cudaDeviceSynchronize());
  return now_();
}

std::shared_ptr<double> Hypre::lend(std::vector<double>& values) const {
  if (!on_gpu_) return {values.data(), [](double*) {}};
  void* memory = nullptr;
  expect_success(cudaMalloc(&memory, values.size() * sizeof(double)));
  std::shared_ptr<double> lent(static_cast<double*>(memory), [](double* copy) { cudaFree(copy); });
  expect_success(cudaMemcpy(memory, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
  return lent;
}

void Hypre::take_back(const std::shared_ptr<double>& lent, std::vector<double>& values) const {
  if (!on_gpu_) return;
  expect_success(cudaMemcpy(values.data(), lent.get(), values.size() * sizeof(double), cudaMemcpyDeviceToHost));
}

void Hypre::trim_memory() const {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  if (!on_gpu_ || cudaDeviceSynchronize() != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) return;
  if (cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess) (void)cudaMemPoolTrimTo(pool, 0);
}

#else

bool Hypre::available(bool on_gpu) { return !on_gpu; }
double Hypre::seconds() const { return now_(); }
std::shared_ptr<double> Hypre::lend(std::vector<double>& values) const {
  return {values.data(), [](double*) {}};
}
void Hypre::take_back(const std::shared_ptr<double>& /*lent*/, std::vector<double>& /*values*/) const {}
void Hypre::trim_memory() const {}

#endif

std::unique_ptr<HypreSolver> Hypre::set_up(const std::string& name, const GridOperator<double>& a, double rtol,
                                           int max_iterations, bool singular) const {
  expects(a.format() == StorageFormat::nine_band || a.format() == StorageFormat::symmetric,
          "hypre takes nine bands or five, not the storage format ", to_string(a.format()));
  if (name == "BoomerAMG-CG") return std::make_unique<BoomerAmgCg>(a, rtol, max_iterations, singular, now_);
  for (const auto& known : solvers())
    if (name == known) return std::make_unique<StructSolver>(name, a, rtol, max_iterations, singular, now_);
  throw UsageError(message("hypre has no solver '", name, "' here"));
}

std::unique_ptr<HypreSolver> Hypre::set_up_ams(const CsrMatrix<double>& a, const SparseRows& rows,
                                               const SparseRows& gradient,
                                               const std::array<std::vector<double>, 3>& points, double rtol,
                                               int max_iterations) const {
  return std::make_unique<AmsCg>(a, rows, gradient, points, rtol, max_iterations, now_);
}

#else

Hypre::Hypre(Stopwatch now, bool on_gpu) : now_(now), on_gpu_(on_gpu) {
  throw ResourceError("this program was built without hypre (Debian: libhypre-dev)");
}
Hypre::~Hypre() = default;
bool Hypre::available(bool /*on_gpu*/) { return false; }
std::string Hypre::version() { return ""; }
std::int64_t Hypre::most_entries() { return 0; }
void Hypre::check(const char* /*what*/) {}
double Hypre::seconds() const { return now_(); }
std::shared_ptr<double> Hypre::lend(std::vector<double>& /*values*/) const { return {}; }
void Hypre::take_back(const std::shared_ptr<double>& /*lent*/, std::vector<double>& /*values*/) const {}
void Hypre::trim_memory() const {}
std::unique_ptr<HypreSolver> Hypre::set_up(const std::string&, const GridOperator<double>&, double, int, bool) const {
  return nullptr;
}
std::unique_ptr<HypreSolver> Hypre::set_up_ams(const CsrMatrix<double>&, const SparseRows&, const SparseRows&,
                                               const std::array<std::vector<double>, 3>&, double, int) const {
  return nullptr;
}

#endif

}  // namespace stratum::apps
