// PCType "stratum" of PETSc, a MatrixSolver or a BoxMatrixSolver; and what PETSc looks for in a library that it opens.

#include <petsc/private/pcimpl.h>
#include <petscdmda.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/mpi.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>
#include <stratum/petsc.h>

#include "dmda_nodes.hpp"

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
#error "Stratum is for PETSc with real numbers in double"
#endif

namespace {

using namespace stratum;

struct Options {
  std::array<PetscInt, 3> grid{};  // nx = 0: of the DM; nz = 0: of two dimensions
  std::string smoother = "auto";
  PetscInt sweeps = 0;
  PetscInt cycle = 0;  // in names_of_cycles
  PetscInt precision = 1, interpolation = 0, backend = 0;
  PetscInt threads = 0;
  friend bool operator==(const Options&, const Options&) = default;
};

/// "auto", and after it the names of these values.
template <class E, std::size_t n>
constexpr std::array<const char*, n + 1> auto_or(const std::array<Named<E>, n>& table) {
  std::array<const char*, n + 1> names{"auto"};
  for (std::size_t k = 0; k < n; ++k) names[k + 1] = table[k].name;
  return names;
}

/// Names are literals, which end with a zero.
template <class E>
constexpr const char* text_of(E value) {
  return to_string(value).data();
}

constexpr auto names_of_cycles = auto_or(names_of<Cycle>);
constexpr std::array names_of_precisions{text_of(Precision::single), text_of(Precision::full)};
constexpr std::array names_of_interpolations{"auto", text_of(InterpolationKind::matrix),
                                             text_of(InterpolationKind::bilinear)};
constexpr std::array names_of_backends{"cpu", "cuda"};

/// Rows of this process, as they lie in PETSc.
struct Rows {
  PetscInt n = 0;
  const PetscInt *start = nullptr, *column = nullptr;
  const PetscScalar* value = nullptr;
  std::vector<int> node;  // of several processes with a DMDA: those of rows; columns are nodes, too

  [[nodiscard]] RowArrays<PetscInt> arrays() const {
    const auto size = static_cast<std::size_t>(n), entries = static_cast<std::size_t>(start[n]);
    return {{start, size + 1}, {column, entries}, {value, entries}};
  }
};

/// Processes that were not told how many threads to take have one each where there are several.
Context context_of(const Options& options, const std::shared_ptr<Communicator>& communicator) {
  const bool alone = communicator == nullptr, told = options.threads != 0 || std::getenv("OMP_NUM_THREADS") != nullptr;
  Context ctx(options.backend == 1 ? Backend::cuda : Backend::cpu,
              alone || told ? static_cast<int>(options.threads) : 1);
  if (!alone) ctx.set_communicator(communicator);
  return ctx;
}

/// M^-1 on a box: the cycle for A or D A.
class BoxCycle {
 public:
  BoxCycle(const Options& options, const Rows& a, bool singular)
      : ctx_(context_of(options, nullptr)), solver_(ctx_, rows_of(a), size_of(options), params_of(options)) {
    expects(!singular || solver_.findings().singular, "a null space of constants is attached to the matrix; all rows "
                                                      "must sum to zero then, and columns as well unless it "
                                                      "becomes symmetric by scales of its rows");
  }
  void apply(std::span<const double> r, std::span<double> z) { solver_.apply(ctx_, r, z); }
  [[nodiscard]] const BoxMatrixSolver::Findings& findings() const { return solver_.findings(); }

 private:
  static SparseRows rows_of(const Rows& a) {
    const RowArrays<PetscInt> arrays = a.arrays();
    return rows_of_csr<PetscInt>(arrays.start, arrays.column, arrays.value);
  }
  static std::array<int, 3> size_of(const Options& options) {
    return {static_cast<int>(options.grid[0]), static_cast<int>(options.grid[1]), static_cast<int>(options.grid[2])};
  }
  static BoxMatrixParams params_of(const Options& options) {
    const auto at = [](std::span<const char* const> names, PetscInt k) {
      return k == 0 ? std::string_view() : std::string_view(names[static_cast<std::size_t>(k)]);
    };
    expects_options_of_boxes(options.smoother,
                             options.sweeps == 0 ? std::nullopt : std::optional(static_cast<int>(options.sweeps)),
                             at(names_of_cycles, options.cycle), at(names_of_interpolations, options.interpolation));
    BoxMatrixParams params;
    params.float_cycles = options.precision != 1;
    // A matrix of PETSc has all its entries, whether or not they lie in one triangle.
    params.triangle = Triangle::general;
    // PETSc iterates: of ours the one that holds least.
    params.method = Method::multigrid;
    return params;
  }
  Context ctx_;
  BoxMatrixSolver solver_;
};

/// What exists once there is a matrix: M^-1 = cycle for D A, times D.
class GridCycle {
 public:
  GridCycle(const Options& options, const std::shared_ptr<Communicator>& communicator, int nx, int ny, const Rows& a,
            bool singular)
      : ctx_(context_of(options, communicator)) {
    // A matrix of PETSc has all its entries, whether or not they lie in one triangle.
    GridRows rows(ctx_, a.arrays(), nx, ny, a.node, {}, {.scale_to_symmetry = true, .triangle = Triangle::general});
    scales_ = rows.scales;
    expects(!singular || rows.singular,
            "a null space of constants is attached to the matrix; it must be symmetric then, or become so by scales of "
            "its rows, and all rows must sum to zero");
    MatrixSolverParams params;
    auto& cycle = params.solver.multigrid;
    cycle.smoother = options.smoother;
    if (options.sweeps != 0) cycle.sweeps = static_cast<int>(options.sweeps);
    if (options.cycle != 0) cycle.cycle = names_of<Cycle>[static_cast<std::size_t>(options.cycle) - 1].value;
    params.solver.precision = options.precision == 1 ? Precision::full : Precision::mixed;
    if (options.interpolation != 0)
      params.solver.interpolation =
          options.interpolation == 1 ? InterpolationKind::matrix : InterpolationKind::bilinear;
    params.solver.deflate = {};  // of solves, which are PETSc's
    // PETSc iterates: of ours the one that holds least, and for which smoother "auto" chooses a constant cycle.
    params.solver.method = !rows.symmetric ? Method::multigrid : cycle.cycle == Cycle::k ? Method::fcg : Method::cg;
    solver_.emplace(ctx_, std::move(rows), params);
  }

  /// Throws UsageError where that which was detected does not hold any more.
  void update(const Rows& a) {
    solver_->update_csr(ctx_, a.arrays().start, a.arrays().column, a.arrays().value);
    scales_ = solver_->rows().scales;
  }

  void apply(std::span<const double> r, std::span<double> z) {
    if (!is_scaled()) return solver_->apply(ctx_, r, z);
    work_.resize(r.size());
    for (std::size_t i = 0; i < r.size(); ++i) work_[i] = scales_[i] * r[i];
    solver_->apply(ctx_, work_, z);
  }

  [[nodiscard]] bool is_scaled() const { return !scales_.empty(); }
  [[nodiscard]] const GridRows& rows() const { return solver_->rows(); }
  [[nodiscard]] const StructuredSolver& solver() const { return solver_->solver(); }
  [[nodiscard]] int processes() const { return ctx_.subdomains(); }

 private:
  Context ctx_;
  std::vector<double> scales_, work_;
  std::optional<MatrixSolver> solver_;
};

struct Stratum {
  Options options;
  std::shared_ptr<Communicator> communicator;  // of several processes
  std::unique_ptr<GridCycle> cycle;            // one of these,
  std::unique_ptr<BoxCycle> box;               // in three dimensions
  Options made_with;
};

Stratum& stratum_of(PC pc) { return *static_cast<Stratum*>(pc->data); }

/// Runs the body; exceptions become errors of PETSc, a breakdown a failed PC, which KSP reports, unless errors were asked for.
template <class Body>
PetscErrorCode guarded(PC pc, const Body& body) {
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(pc));
  PetscFunctionBegin;
  try {
    body();
  } catch (const UsageError& error) {
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Stratum: %s", error.what());
  } catch (const BreakdownError& error) {
    PetscCheck(!pc->erroriffailure, comm, PETSC_ERR_MAT_LU_ZRPVT, "Stratum: %s", error.what());
    PetscCall(PetscInfo(pc, "Stratum: %s\n", error.what()));
    pc->failedreason = PC_FACTOR_OTHER;
  } catch (const std::bad_alloc&) {
    SETERRQ(comm, PETSC_ERR_MEM, "Stratum: out of memory");
  } catch (const std::exception& error) {
    SETERRQ(comm, PETSC_ERR_GPU, "Stratum: %s", error.what());
  }
  PetscFunctionReturn(0);
}

PetscErrorCode grid_of_dm(PC pc, DM dm, std::array<PetscInt, 3>& grid) {
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(pc));
  PetscBool is_da = PETSC_FALSE;
  PetscInt dimension = 0, dof = 0;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMDA, &is_da));
  if (!is_da) {
    DMType type = nullptr;
    PetscCall(DMGetType(dm, &type));
    SETERRQ(comm, PETSC_ERR_SUP,
            "Stratum: the grid is read from a DMDA, and the DM is of type %s; give it by -pc_stratum_grid nx,ny or "
            "nx,ny,nz",
            type);
  }
  PetscCall(DMDAGetInfo(dm, &dimension, &grid[0], &grid[1], &grid[2], nullptr, nullptr, nullptr, &dof, nullptr, nullptr,
                        nullptr, nullptr, nullptr));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP, "Stratum: the DMDA must have one degree of freedom, not %" PetscInt_FMT,
             dof);
  if (dimension < 2) grid[1] = 1;
  if (dimension < 3) grid[2] = 0;
  PetscFunctionReturn(0);
}

/// Of the options, the PC's DM, the matrix's DM: null where the options say.
PetscErrorCode find_grid(PC pc, std::array<PetscInt, 3>& grid, DM* da) {
  DM dm = pc->dm;
  const char* prefix = nullptr;
  PetscFunctionBegin;
  *da = nullptr;
  grid = stratum_of(pc).options.grid;
  if (grid[0] != 0) PetscFunctionReturn(0);
  if (dm == nullptr) PetscCall(MatGetDM(pc->pmat, &dm));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCheck(dm != nullptr, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_WRONGSTATE,
             "Stratum: the grid of the unknowns is not known: give -%spc_stratum_grid nx,ny or nx,ny,nz, call "
             "PCStratumSetGrid, or "
             "attach a DMDA by KSPSetDM, PCSetDM or MatSetDM",
             prefix == nullptr ? "" : prefix);
  PetscCall(grid_of_dm(pc, dm, grid));
  *da = dm;
  PetscFunctionReturn(0);
}

PetscErrorCode has_constant_null_space(PC pc, PetscBool* constant) {
  MatNullSpace space = nullptr;
  PetscInt vectors = 0;
  PetscFunctionBegin;
  *constant = PETSC_FALSE;
  PetscCall(MatGetNullSpace(pc->pmat, &space));
  if (space == nullptr) PetscCall(MatGetNullSpace(pc->mat, &space));
  if (space == nullptr) PetscFunctionReturn(0);
  PetscCall(MatNullSpaceGetVecs(space, constant, &vectors, nullptr));
  PetscCheck(vectors == 0, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_SUP,
             "Stratum: the null space of the matrix has %" PetscInt_FMT
             " vectors; it may hold constants and nothing else",
             vectors);
  PetscFunctionReturn(0);
}

/// Makes the cycle for rows, or updates it.
PetscErrorCode set_up_rows(PC pc, const std::array<PetscInt, 3>& grid, PetscInt in_all, const Rows& rows,
                           bool singular) {
  Stratum& stratum = stratum_of(pc);
  PetscFunctionBegin;
  PetscCall(guarded(pc, [&] {
    const auto fits = [](std::int64_t k) { return k > 0 && k <= std::numeric_limits<int>::max(); };
    const bool in_box = grid[2] != 0;
    const std::int64_t planes = in_box ? grid[2] : 1;
    expects(fits(grid[0]) && fits(grid[1]) && fits(planes) && grid[0] <= in_all && grid[1] <= in_all / grid[0] &&
                std::int64_t{grid[0]} * grid[1] * planes == in_all,
            "the grid of ", grid[0], " x ", grid[1], in_box ? message(" x ", planes) : std::string(),
            " unknowns does not fit a matrix of ", in_all, " rows");
    stratum.box.reset();
    if (in_box) {
      stratum.cycle.reset();
      Options options = stratum.options;
      options.grid = grid;
      stratum.box = std::make_unique<BoxCycle>(options, rows, singular);
      return;
    }
    // One that could not be made or updated is no longer there.
    auto cycle = std::move(stratum.cycle);
    if (cycle && pc->flag == SAME_NONZERO_PATTERN && stratum.options == stratum.made_with) {
      try {
        cycle->update(rows);
        stratum.cycle = std::move(cycle);
        return;
      } catch (const UsageError& error) {
        // What holds of the pattern need not hold of the values: rows may have lost their couplings, or A its symmetry.
        (void)PetscInfo(pc, "Stratum: made anew, since %s\n", error.what());
      }
    }
    cycle.reset();
    stratum.cycle = std::make_unique<GridCycle>(stratum.options, stratum.communicator, static_cast<int>(grid[0]),
                                                static_cast<int>(grid[1]), rows, singular);
    stratum.made_with = stratum.options;
  }));
  PetscFunctionReturn(0);
}

/// The same of a matrix whose rows lie on this process, columns of all.
PetscErrorCode set_up_local(PC pc, const std::array<PetscInt, 3>& grid, PetscInt in_all, Mat a, const DmdaNodes* nodes,
                            PetscInt first_row, bool singular) {
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(pc));
  PetscBool done = PETSC_FALSE;
  Rows rows;
  std::vector<PetscInt> columns;
  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.start, &rows.column, &done));
  PetscCheck(done == PETSC_TRUE, comm, PETSC_ERR_PLIB, "Stratum: the rows of the matrix cannot be read");
  const PetscInt* const borrowed = rows.column;
  PetscCall(MatSeqAIJGetArrayRead(a, &rows.value));
  PetscErrorCode error = 0;
  if (nodes != nullptr)
    error = guarded(pc, [&] {
      columns.reserve(static_cast<std::size_t>(rows.start[rows.n]));
      for (PetscInt e = 0; e < rows.start[rows.n]; ++e) columns.push_back((*nodes)(rows.column[e]));
      for (PetscInt k = 0; k < rows.n; ++k) rows.node.push_back(static_cast<int>((*nodes)(first_row + k)));
      rows.column = columns.data();
    });
  if (error == 0) error = set_up_rows(pc, grid, in_all, rows, singular);
  if (error != 0) stratum_of(pc).cycle.reset(), stratum_of(pc).box.reset();
  rows.column = borrowed;
  PetscCall(MatSeqAIJRestoreArrayRead(a, &rows.value));
  PetscCall(MatRestoreRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.start, &rows.column, &done));
  PetscCall(error);
  PetscFunctionReturn(0);
}

PetscErrorCode set_up_alone(PC pc, const std::array<PetscInt, 3>& grid, PetscInt in_all, bool singular) {
  PetscBool by_rows = PETSC_FALSE;
  Mat a = pc->pmat;
  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQAIJ, &by_rows));
  if (by_rows == PETSC_FALSE) PetscCall(MatConvert(pc->pmat, MATSEQAIJ, MAT_INITIAL_MATRIX, &a));
  const PetscErrorCode error = set_up_local(pc, grid, in_all, a, nullptr, 0, singular);
  if (by_rows == PETSC_FALSE) PetscCall(MatDestroy(&a));
  PetscCall(error);
  PetscFunctionReturn(0);
}

/// Rows of every process are nodes of its part of the DMDA, or follow those of the processes before.
PetscErrorCode set_up_together(PC pc, const std::array<PetscInt, 3>& grid, PetscInt in_all, DM da, bool singular) {
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(pc));
  Stratum& stratum = stratum_of(pc);
  PetscBool by_rows = PETSC_FALSE;
  PetscInt first = 0, end = 0;
  Mat a = pc->pmat, own = nullptr;
  std::unique_ptr<DmdaNodes> nodes;
  PetscFunctionBegin;
  PetscCall(guarded(pc, [&] {
    if (!stratum.communicator) stratum.communicator = mpi_communicator(comm);
    if (stratum.options.backend == 1) select_device(rank_on_host(comm));
  }));
  PetscCall(MatGetOwnershipRange(a, &first, &end));
  if (da != nullptr) {
    PetscInt across = 0, up = 0;
    const PetscInt *widths = nullptr, *heights = nullptr;
    DMDALocalInfo info;
    PetscCall(DMDAGetInfo(da, nullptr, nullptr, nullptr, nullptr, &across, &up, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, nullptr));
    PetscCall(DMDAGetOwnershipRanges(da, &widths, &heights, nullptr));
    PetscCall(DMDAGetLocalInfo(da, &info));
    PetscMPIInt compared = MPI_UNEQUAL;
    PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm(reinterpret_cast<PetscObject>(da)), &compared));
    int fits = (compared == MPI_IDENT || compared == MPI_CONGRUENT) && end - first == info.xm * info.ym ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm));
    PetscCheck(fits != 0, comm, PETSC_ERR_ARG_INCOMP,
               "Stratum: processes have other rows of the matrix than unknowns of the DMDA; of a matrix that is "
               "numbered along x or along y, give -pc_stratum_grid nx,ny");
    PetscCall(guarded(pc, [&] { nodes = std::make_unique<DmdaNodes>(grid[0], grid[1], across, up, widths, heights); }));
  }
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(a), MATMPIAIJ, &by_rows));
  if (by_rows == PETSC_FALSE) PetscCall(MatConvert(pc->pmat, MATMPIAIJ, MAT_INITIAL_MATRIX, &a));
  PetscCall(MatMPIAIJGetLocalMat(a, MAT_INITIAL_MATRIX, &own));
  const PetscErrorCode error = set_up_local(pc, grid, in_all, own, nodes.get(), first, singular);
  PetscCall(MatDestroy(&own));
  if (by_rows == PETSC_FALSE) PetscCall(MatDestroy(&a));
  PetscCall(error);
  PetscFunctionReturn(0);
}

PetscErrorCode set_up(PC pc) {
  PetscMPIInt processes = 1;
  std::array<PetscInt, 3> grid{};
  PetscInt rows = 0;
  PetscBool singular = PETSC_FALSE;
  DM da = nullptr;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), &processes));
  PetscCall(find_grid(pc, grid, &da));
  PetscCall(has_constant_null_space(pc, &singular));
  PetscCall(MatGetSize(pc->pmat, &rows, nullptr));
  PetscCheck(processes == 1 || (grid[1] > 1 && grid[2] == 0), PetscObjectComm(reinterpret_cast<PetscObject>(pc)),
             PETSC_ERR_SUP, "Stratum: matrices %s are for one process, and here are %d",
             grid[2] != 0 ? "on boxes" : "of one dimension", processes);
  if (processes == 1)
    PetscCall(set_up_alone(pc, grid, rows, singular == PETSC_TRUE));
  else
    PetscCall(set_up_together(pc, grid, rows, da, singular == PETSC_TRUE));
  PetscFunctionReturn(0);
}

PetscErrorCode apply(PC pc, Vec r, Vec z) {
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt n = 0;
  PetscFunctionBegin;
  Stratum& stratum = stratum_of(pc);
  PetscCheck(stratum.cycle || stratum.box, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ORDER,
             "Stratum: set-up failed");
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(VecGetArrayRead(r, &from));
  PetscCall(VecGetArrayWrite(z, &to));
  const auto size = static_cast<std::size_t>(n);
  PetscCall(guarded(pc, [&] {
    if (stratum.box)
      stratum.box->apply({from, size}, {to, size});
    else
      stratum.cycle->apply({from, size}, {to, size});
  }));
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscCall(VecRestoreArrayRead(r, &from));
  PetscFunctionReturn(0);
}

PetscErrorCode apply_transpose(PC pc, Vec r, Vec z) {
  const GridCycle* cycle = stratum_of(pc).cycle.get();
  const BoxCycle* box = stratum_of(pc).box.get();
  PetscFunctionBegin;
  const bool of_box = box != nullptr && box->findings().symmetric && box->findings().fixed == 0;
  const bool of_grid =
      cycle != nullptr && cycle->rows().symmetric && cycle->rows().fixed_in_all == 0 && !cycle->is_scaled();
  PetscCheck(of_box || of_grid, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_SUP,
             "Stratum: only of a symmetric matrix is there the transposed cycle");
  PetscCall(apply(pc, r, z));
  PetscFunctionReturn(0);
}

PetscErrorCode set_from_options(PC pc, PetscOptionItems* PetscOptionsObject) {
  Options& options = stratum_of(pc).options;
  char smoother[64];
  std::array<PetscInt, 3> grid{};
  PetscInt count = 3;
  PetscBool given = PETSC_FALSE;
  const auto choice = [&](const char* option, const char* what, const auto& names, PetscInt* index) {
    return PetscOptionsEList(option, what, "stratum/petsc.h", names.data(), static_cast<PetscInt>(names.size()),
                             names[static_cast<std::size_t>(*index)], index, nullptr);
  };
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Stratum options");
  PetscCall(PetscOptionsIntArray("-pc_stratum_grid", "nx,ny or nx,ny,nz of the unknowns", "PCStratumSetGrid",
                                 grid.data(), &count, &given));
  if (given == PETSC_TRUE) {
    PetscCheck(count >= 2, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_WRONG,
               "Stratum: -pc_stratum_grid takes two numbers or three, nx,ny or nx,ny,nz, not %" PetscInt_FMT, count);
    if (count == 3)
      PetscCall(PCStratumSetBox(pc, grid[0], grid[1], grid[2]));
    else
      PetscCall(PCStratumSetGrid(pc, grid[0], grid[1]));
  }
  PetscCall(PetscOptionsString("-pc_stratum_smoother", "Smoother", "stratum/petsc.h", options.smoother.c_str(),
                               smoother, sizeof smoother, &given));
  if (given == PETSC_TRUE) options.smoother = smoother;
  PetscCall(PetscOptionsInt("-pc_stratum_sweeps", "Sweeps before and after the coarse correction", "stratum/petsc.h",
                            options.sweeps, &options.sweeps, nullptr));
  PetscCall(choice("-pc_stratum_cycle", "Cycle", names_of_cycles, &options.cycle));
  PetscCall(choice("-pc_stratum_precision", "Precision of the cycle", names_of_precisions, &options.precision));
  PetscCall(choice("-pc_stratum_interpolation", "What interpolation follows", names_of_interpolations,
                   &options.interpolation));
  PetscCall(choice("-pc_stratum_backend", "Where the cycle runs", names_of_backends, &options.backend));
  PetscCall(PetscOptionsInt("-pc_stratum_threads", "Threads on the CPU, 0: what OpenMP offers", "stratum/petsc.h",
                            options.threads, &options.threads, nullptr));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(0);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  const Stratum& stratum = stratum_of(pc);
  PetscBool ascii = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(0);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  smoother %s, cycle %s, precision %s, interpolation %s\n",
                                   stratum.options.smoother.c_str(),
                                   names_of_cycles[static_cast<std::size_t>(stratum.options.cycle)],
                                   names_of_precisions[static_cast<std::size_t>(stratum.options.precision)],
                                   names_of_interpolations[static_cast<std::size_t>(stratum.options.interpolation)]));
  if (stratum.box) {
    const BoxMatrixSolver::Findings& found = stratum.box->findings();
    const char* const kind = found.symmetric ? "symmetric"
                             : found.scaled  ? "symmetric by scales of rows"
                                             : "nonsymmetric";
    PetscCall(PetscViewerASCIIPrintf(viewer, "  box of unknowns; %s%s\n", kind, found.singular ? ", singular" : ""));
    for (const std::string& level : found.levels) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", level.c_str()));
  }
  if (!stratum.cycle) PetscFunctionReturn(0);
  const GridRows& rows = stratum.cycle->rows();
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "  grid of %d x %d unknowns%s%s; %s%s%s\n", rows.nx, rows.ny, rows.periodic_x ? ", periodic in x" : "",
      rows.periodic_y ? ", periodic in y" : "", rows.symmetric ? "symmetric" : "nonsymmetric",
      stratum.cycle->is_scaled() ? " by scales of rows" : "", rows.singular ? ", singular" : ""));
  if (rows.fixed_in_all > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %d rows hold nothing but their diagonal; %d x %d nodes are left\n",
                                     rows.fixed_in_all, rows.left_nx, rows.left_ny));
  if (rows.moved)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %d subdomains of lines%s\n", stratum.cycle->processes(),
                                     rows.moved->in_place() ? ", as the unknowns lie" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %d levels, the coarsest solved by %s\n", stratum.cycle->solver().levels(),
                                   stratum.cycle->solver().coarse_solver().c_str()));
  const auto levels = stratum.cycle->solver().level_reports();
  for (auto level = levels.rbegin(); level != levels.rend() && !level->smoother.empty(); ++level)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %d x %d: %s\n", level->nx, level->ny, level->smoother.c_str()));
  PetscFunctionReturn(0);
}

PetscErrorCode reset(PC pc) {
  PetscFunctionBegin;
  stratum_of(pc).cycle.reset();
  stratum_of(pc).box.reset();
  PetscFunctionReturn(0);
}

PetscErrorCode set_grid(PC pc, PetscInt nx, PetscInt ny) {
  PetscFunctionBegin;
  PetscCheck(nx >= 1 && ny >= 1, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_OUTOFRANGE,
             "Stratum: a grid has 1 x 1 unknowns or more, not %" PetscInt_FMT " x %" PetscInt_FMT, nx, ny);
  stratum_of(pc).options.grid = {nx, ny, 0};
  PetscFunctionReturn(0);
}

PetscErrorCode set_box(PC pc, PetscInt nx, PetscInt ny, PetscInt nz) {
  PetscFunctionBegin;
  PetscCheck(
      nx >= 1 && ny >= 1 && nz >= 1, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_OUTOFRANGE,
      "Stratum: a box has 1 x 1 x 1 unknowns or more, not %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT, nx,
      ny, nz);
  stratum_of(pc).options.grid = {nx, ny, nz};
  PetscFunctionReturn(0);
}

PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  delete static_cast<Stratum*>(pc->data);
  pc->data = nullptr;
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(pc), "PCStratumSetGrid_C", nullptr));
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(pc), "PCStratumSetBox_C", nullptr));
  PetscFunctionReturn(0);
}

PetscErrorCode create(PC pc) {
  PetscFunctionBegin;
  PetscCall(guarded(pc, [&] { pc->data = new Stratum; }));
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->applytranspose = apply_transpose;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(pc), "PCStratumSetGrid_C", set_grid));
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(pc), "PCStratumSetBox_C", set_box));
  PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode PCRegisterStratum(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister(PCSTRATUM, create));
  PetscFunctionReturn(0);
}

PetscErrorCode PCStratumSetGrid(PC pc, PetscInt nx, PetscInt ny) {
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCStratumSetGrid_C", (PC, PetscInt, PetscInt), (pc, nx, ny));
  PetscFunctionReturn(0);
}

PetscErrorCode PCStratumSetBox(PC pc, PetscInt nx, PetscInt ny, PetscInt nz) {
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCStratumSetBox_C", (PC, PetscInt, PetscInt, PetscInt), (pc, nx, ny, nz));
  PetscFunctionReturn(0);
}

PetscErrorCode PetscDLLibraryRegister_stratum_petsc(void) {
  PetscFunctionBegin;
  PetscCall(PCRegisterStratum());
  PetscFunctionReturn(0);
}
