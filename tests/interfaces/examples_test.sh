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

case_from_c() {
  prints "$bin/from_c"
  at_most 6 2
}

case_petsc_shell() {
  needs petsc_shell PETSc
  prints "$bin/petsc_shell"
  at_most 6 2
  prints "$bin/petsc_shell" -da_grid_x 100 -da_grid_y 63 -anisotropy 0.01
  at_most 12 2
}

case_petsc_shell_refuses_processes() {
  needs petsc_shell PETSc
  command -v mpirun >/dev/null || { echo "skipped: there is no mpirun"; exit 77; }
  mpirun --oversubscribe -n 2 true 2>/dev/null || { echo "skipped: mpirun cannot start two processes here"; exit 77; }
  if mpirun --oversubscribe -n 2 "$bin/petsc_shell" >/dev/null 2>"${TMPDIR:-/tmp}/petsc_shell.$$"; then fail "two processes were accepted"; fi
  grep -q 'Stratum runs on one process, this is a communicator of 2' "${TMPDIR:-/tmp}/petsc_shell.$$" ||
    { cat "${TMPDIR:-/tmp}/petsc_shell.$$"; fail "the reason is missing"; }
  rm -f "${TMPDIR:-/tmp}/petsc_shell.$$"
}

# Iterations of the row with this name in a table of the deal.II examples.
row() { sed -n "s/^$1  *\([0-9][0-9]*\) .*/\1/p" <<<"$output"; }
row_at_most() { [ "$(row "$1")" -le "$2" ] || fail "$1: more than $2 iterations"; }
row_above() { [ "$(row "$1")" -gt "$2" ] || fail "$1: at most $2 iterations: the problem is not what it was"; }

case_dealii_anisotropic() {
  needs dealii_anisotropic deal.II
  local sides
  for sides in dirichlet natural; do
    prints "$bin/dealii_anisotropic" 3 0.25 $sides
    row_at_most Stratum 7
    row_at_most 'Stratum, single precision' 7
    row_above 'deal.II geometric multigrid (SSOR)' 20
    row_above 'deal.II SSOR' 20
  done
  if "$bin/dealii_anisotropic" 3 2 2>/dev/null; then fail "a bad ratio was accepted"; fi
  if "$bin/dealii_anisotropic" 3 1 periodic 2>/dev/null; then fail "bad sides were accepted"; fi
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
case_dealii_heat() {
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
       inside && file != "" && NF { print FILENAME "\t" file "\t" $0 }' "$source/README.md" "$source"/docs/*.md |
    {
      lines=0
      while IFS=$'\t' read -r page file line; do
        line=${line#"${line%%[![:space:]]*}"}
        grep -qF -- "$line" "$source/$file" || fail "$page: no line of $file reads: $line"
        lines=$((lines + 1))
      done
      [ "$lines" -ge 80 ] || fail "only $lines lines of examples in the pages"
    }
}

"case_$3"
