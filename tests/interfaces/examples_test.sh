#!/usr/bin/env bash
# examples_test.sh BIN SOURCE CASE: runs an example and looks at what it prints.
set -euo pipefail
bin=$1
source=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

needs() {
  [ -x "$bin/$1" ] && return
  echo "skipped: $1 was not built, $2 was not found"
  exit 77
}

# Runs a program, keeps what it prints, and shows it.
output=
prints() {
  output=$("$@") || fail "$* ended with exit code $?: $output"
  echo "$output"
}

# Every number that follows or precedes the word "iterations" on a line.
iterations() { <<<"$output" sed -n 's/.*after \([0-9]*\) iterations.*/\1/p; s/^\([0-9]*\) iterations.*/\1/p'; }
at_most() {
  local limit=$1 count=0 n
  for n in $(iterations); do
    count=$((count + 1))
    [ "$n" -le "$limit" ] || fail "$n iterations, at most $limit were expected"
  done
  [ "$count" -eq "$2" ] || fail "$count lines with iterations, $2 were expected"
}

# What they print stands in the pages, and tests/docs looks at it.
case_own_mesh() { prints "$bin/own_mesh"; }
case_own_patches() {
  prints "$bin/own_patches"
  at_most 9 1
}
case_own_heat() { prints "$bin/own_heat"; }
case_own_boundaries() { prints "$bin/own_boundaries"; }
case_own_volumes() { prints "$bin/own_volumes"; }
case_krylov_methods() {
  prints "$bin/krylov_methods"
  [ "$(wc -l <<<"$output")" -eq 5 ] || fail "not five methods"
}

case_own_matrix() {
  [ "$(wc -l <"$source/apps/examples/own_matrix.cpp")" -lt 40 ] || fail "the example has 40 lines or more"
  prints "$bin/own_matrix"
  at_most 16 1
}

case_own_memory() {
  prints "$bin/own_memory"
  grep -q 'by [0-9.]*e-1[0-9]; nothing was allocated' <<<"$output" || fail "unexpected output"
}

case_own_ranks() {
  needs own_ranks MPI
  prints "$bin/own_ranks" 5
  local one=$output
  for count in 2 3; do
    two_processes "$bin/own_ranks" 5 | diff - <(echo "${one/1 ranks/2 ranks}") || fail "other numbers on two ranks"
  done
}

case_from_c() {
  prints "$bin/from_c"
  at_most 9 2
}

case_from_fortran() {
  needs from_fortran "a Fortran compiler"
  prints "$bin/from_fortran"
  at_most 9 1
}

case_from_julia() {
  local library=${STRATUM_LIBRARY:-$bin/../libstratum.so}
  if [ -z "$(command -v julia)" ] || [ ! -f "$library" ]; then
    echo "skipped: it takes julia and a shared library"
    exit 77
  fi
  STRATUM_LIBRARY=$library prints julia "$source/apps/examples/from_julia.jl"
  at_most 9 1
}

case_poisson_from_c() {
  prints "$bin/poisson_from_c"
  [ "$(grep -c 'largest error below 1e-7' <<<"$output")" -eq 2 ] || fail "not both are solved: $output"
}

case_petsc_jumping() {
  needs petsc_jumping PETSc
  for options in "" "-pc_stratum_precision single" "-da_grid_x 100 -da_grid_y 63 -jump 1e6"; do
    # shellcheck disable=SC2086
    prints "$bin/petsc_jumping" $options
    at_most 10 2
    true_residuals 1e-8 2
  done
}

case_petsc_neumann() {
  needs petsc_neumann PETSc
  for options in "" "-da_grid_x 33 -da_grid_y 1000 -pc_stratum_precision single"; do
    # shellcheck disable=SC2086
    prints "$bin/petsc_neumann" $options
    at_most 8 1
    true_residuals 1e-8 1
  done
}

# As many true residuals as said, none above this.
true_residuals() {
  sed -n 's/.*true residual \([^,]*\),.*/\1/p' <<<"$output" |
    awk -v limit="$1" -v count="$2" '$1 > limit { bad = 1 } END { exit bad || NR != count }' || fail "true residuals"
}

two_processes() {
  command -v mpirun >/dev/null || { echo "skipped: there is no mpirun"; exit 77; }
  mpirun --oversubscribe -n 2 true 2>/dev/null || { echo "skipped: mpirun cannot start two processes here"; exit 77; }
  mpirun --oversubscribe -n 2 "$@"
}

# However unknowns are shared out, iterations and residuals are those of one process.
case_petsc_ranks() {
  needs petsc_neumann PETSc
  local program processors one
  for program in petsc_jumping petsc_neumann; do
    prints "$bin/$program" -da_grid_x 129 -da_grid_y 100
    one=$(sed 's/, error.*//; s/, set-up.*//' <<<"$output")
    for processors in -da_processors_x -da_processors_y; do
      two_processes "$bin/$program" -da_grid_x 129 -da_grid_y 100 $processors 1 | sed 's/, error.*//; s/, set-up.*//' |
        diff - <(echo "$one") || fail "other numbers on two processes"
    done
  done
}

case_own_rows() {
  needs own_rows MPI
  prints "$bin/own_rows" 100
  at_most 8 1
  two_processes "$bin/own_rows" 100 | diff - <(echo "${output/1 ranks/2 ranks}") || fail "other numbers on two ranks"
}

# PETSc's own tutorials, compiled as they are, take the type from the library.
case_petsc_tutorials() {
  needs petsc_neumann PETSc
  local library sources folder name launcher=
  for library in "$bin"/../libstratum_petsc.so "$bin"/libstratum_petsc.so; do [ -f "$library" ] && break; done
  [ -f "$library" ] || fail "libstratum_petsc.so is not there"
  for sources in "${PETSC_DIR:-/none}" /usr/share/petsc/*/share/petsc/examples; do
    sources=$sources/src/ksp/ksp/tutorials
    [ -f "$sources/ex29.c" ] && break
  done
  [ -f "$sources/ex29.c" ] || { echo "skipped: PETSc's tutorials are not there (Debian: libpetsc3.18-dev-examples)"; exit 77; }
  command -v mpicc >/dev/null || { echo "skipped: there is no mpicc"; exit 77; }
  folder=$(mktemp -d)
  for name in ex29 ex50; do
    # shellcheck disable=SC2046
    mpicc -w -o "$folder/$name" "$sources/$name.c" $(pkg-config --cflags --libs petsc) -lm || fail "$name does not compile"
  done
  tutorial() { # PROGRAM MOST OPTIONS: iterations to a true 1e-8
    local program=$1 most=$2 monitored
    shift 2
    monitored=$($launcher "$folder/$program" "$@" -dll_append "$library" -pc_type stratum -ksp_type gmres -ksp_pc_side right \
      -ksp_rtol 1e-8 -ksp_converged_reason -ksp_monitor_true_residual) || fail "$program $* failed: $monitored"
    output=$(sed -n 's/.*converged due to \([A-Z_]*\) iterations \([0-9]*\)/\1 after \2 iterations/p' <<<"$monitored")
    echo "$program $*: $output"
    at_most "$most" 1
    output="true residual $(sed -n 's/.*||r(i)||\/||b|| \(.*\)/\1/p' <<<"$monitored" | tail -1),"
    true_residuals 1e-8 1
  }
  tutorial ex29 8 -da_grid_x 257 -da_grid_y 257
  tutorial ex29 8 -da_grid_x 257 -da_grid_y 129 -bc_type neumann
  tutorial ex29 9 -da_grid_x 1000 -da_grid_y 33 -rho 100
  tutorial ex50 8 -da_grid_x 257 -da_grid_y 257
  tutorial ex50 8 -da_grid_x 100 -da_grid_y 301
  launcher=two_processes
  tutorial ex29 8 -da_grid_x 129 -da_grid_y 129
  tutorial ex50 8 -da_grid_x 100 -da_grid_y 65
  rm -rf "$folder"
}

# Iterations of the row with this name in a table of the deal.II examples.
row() { sed -n "s/^$1  *\([0-9][0-9]*\) .*/\1/p" <<<"$output"; }
row_at_most() { [ "$(row "$1")" -le "$2" ] || fail "$1: more than $2 iterations"; }
row_above() { [ "$(row "$1")" -gt "$2" ] || fail "$1: at most $2 iterations: the problem is not what it was"; }

case_dealii_anisotropic() { # heavy: half a minute of compiling
  needs dealii_anisotropic deal.II
  local boundaries
  for boundaries in dirichlet neumann; do
    prints "$bin/dealii_anisotropic" 3 0.25 $boundaries
    row_at_most Stratum 7
    row_at_most 'Stratum, single precision' 7
    row_above 'deal.II geometric multigrid (SSOR)' 20
    row_above 'deal.II SSOR' 20
  done
  if "$bin/dealii_anisotropic" 3 2 2>/dev/null; then fail "a bad ratio was accepted"; fi
  if "$bin/dealii_anisotropic" 3 1 periodic 2>/dev/null; then fail "bad boundaries were accepted"; fi
}

case_dealii_jump() {
  needs dealii_jump deal.II
  prints "$bin/dealii_jump" 4
  row_at_most Stratum 9
  row_at_most 'Stratum, single precision' 9
  row_above 'deal.II SSOR' 100
  prints "$bin/dealii_jump" 3 1 1000
  row_at_most Stratum 9
  if "$bin/dealii_jump" 3 1 0 2>/dev/null; then fail "a bad coefficient was accepted"; fi
}

# Ten steps.
case_dealii_heat() { # heavy: half a minute of compiling
  needs dealii_heat deal.II
  prints "$bin/dealii_heat" 3 0.25 10
  row_at_most Stratum 70
  row_at_most 'Stratum, single precision' 70
  row_above 'deal.II SSOR' 300
  if "$bin/dealii_heat" 3 0.25 1 2>/dev/null; then fail "one step was accepted"; fi
}

# Code in the pages below a line <!-- apps/examples/FILE --> is code of that file, line by line.
case_pages() {
  awk 'FNR == 1 { file = ""; inside = 0 } /^<!-- apps\/examples\// { file = $2 }
       /^```/ { inside = !inside; if (!inside) file = ""; next }
       inside && file != "" && NF { print FILENAME "\t" file "\t" $0 }' "$source/README.md" "$source"/docs/*/*.md |
    {
      lines=0
      while IFS=$'\t' read -r page file line; do
        line=${line#"${line%%[![:space:]]*}"}
        grep -qF -- "$line" "$source/$file" || fail "$page: no line of $file reads: $line"
        lines=$((lines + 1))
      done
      [ "$lines" -ge 70 ] || fail "only $lines lines of examples in the pages"
    }
}

"case_$3"
