#!/usr/bin/env bash
# ranks_test.sh PROGRAM CASE: poisson2d on several ranks of MPI, a thread each, against the same on one.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

mpirun=${MPIRUN:-mpirun}
compare_grids=$(dirname "$program")/compare_grids
common=(--backend cpu --threads 1)
# More ranks than cores; in containers a rank may be root, and cannot read another one's memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# ranks N CODE ARGS...: mpirun must end with CODE.
ranks() {
  local count=$1 expected=$2 code
  shift 2
  command="mpirun -n $count $(basename "$program") $*"
  timeout 60 "$mpirun" -n "$count" "$program" "${common[@]}" "$@" >"$work/.output" 2>"$work/.errors"
  code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

says() { grep -qE -e "$1" "$work/.errors" || fail "does not say /$1/"; }

needs_vtk() {
  "$program" --backend cpu --level 1 --quiet --vtk probe.vtr 2>/dev/null || skip "this build has no VTK"
  rm probe.vtr
}

# Largest difference of two arrays, relative to the largest number, must be at most so much.
same_array() {
  python3 - "$@" <<'END' || fail "$1 and $2 differ"
import struct, sys
def read(name):
    data = open(name, "rb").read()
    (length,) = struct.unpack("<H", data[8:10])
    return struct.unpack("<%dd" % ((len(data) - 10 - length) // 8), data[10 + length :])
a, b = read(sys.argv[1]), read(sys.argv[2])
largest = max(map(abs, a))
difference = max(abs(x - y) for x, y in zip(a, b))
print("difference", difference / largest)
sys.exit(0 if len(a) == len(b) and largest > 0 and difference <= float(sys.argv[3]) * largest else 1)
END
}

# Two reports must agree in what the solver did and in the solution's numbers.
same_report() {
  python3 - "$@" <<'END' || fail "the reports differ"
import json, math, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
def differs(x, y, tolerance):
    if isinstance(x, list):
        return len(x) != len(y) or any(differs(p, q, tolerance) for p, q in zip(x, y))
    if isinstance(x, float) and isinstance(y, (float, int)):
        return abs(x - y) > tolerance * max(abs(x), abs(y)) + 1e-12
    return x != y
wrong = [key for key in ("status", "iterations", "unknowns", "cells", "smoothers", "solver", "cycle", "hierarchy") if a[key] != b[key]]
wrong += [key for key in ("relative_l2_error", "relative_largest_error", "relative_energy_error", "minimum", "maximum",
                          "minimum_at", "maximum_at", "boundary_range", "largest_step", "fluxes", "reaction_integral",
                          "load_integral") if differs(a[key], b[key], 1e-6)]
print(*(f"{key}: {a[key]} {b[key]}" for key in wrong), sep="\n")
sys.exit(1 if wrong else 0)
END
}

# as_on_one N ARGS...: two cycles in double, and a whole solve.
as_on_one() {
  local count=$1
  shift
  run 2 "$@" --precision double --max-iterations 2 --rtol 1e-15 --quiet --vtk one.npy
  ranks "$count" 2 "$@" --precision double --max-iterations 2 --rtol 1e-15 --quiet --vtk several.npy
  same_array one.npy several.npy 1e-13
  run 0 "$@" --quiet --vtk none --report one.json
  ranks "$count" 0 "$@" --quiet --vtk none --report report.json
  same_report one.json report.json
  check "len(r['ranks']) == $count and sum(k['rows'] for k in r['ranks']) * (r['unknowns'] // sum(k['rows'] for k in r['ranks'])) == r['unknowns']"
}

case_square_cells() {
  as_on_one 2 --level 6 --smoother jacobi
  as_on_one 4 --level 6 --smoother colour_gs
}

case_stretched_cells() {
  as_on_one 2 --mesh A3 --level 6
  as_on_one 4 --mesh A3 --level 6 --solver cg --smoother line_y
}

case_sides() {
  as_on_one 2 --cells 20,37 --rhs 'x+y' --left neumann --bottom robin:3,y --top neumann:x --reaction 2
  as_on_one 4 --cells 24,32 --rhs 'sin(2*pi*y)' --bottom periodic --top periodic --boundary x
}

case_coefficients() {
  as_on_one 2 --level 5 --rhs 1 --kappa '1+x+3*y' --reaction '2+x'
}

# exchanges ROWS GATHERS ARGS...: of a cycle, in each level that is cut. Besides the residual takes one exchange, the coarse
# right-hand side a gather and the norm another.
exchanges() {
  local rows=$1 gathers=$2
  shift 2
  local options=(--steps 2 --precision double --rtol 1e-15 --quiet --vtk none --report report.json "$@")
  ranks 2 2 "${options[@]}" --max-iterations 2
  mv report.json two.json
  ranks 2 2 "${options[@]}" --max-iterations 3
  check "all(k['exchanges'] - l['exchanges'] == $rows * r['levels_cut'] + 1 and k['gathers'] - l['gathers'] == $gathers * r['levels_cut'] + 2
    for k, l in zip(r['ranks'], json.load(open('two.json'))['ranks']))"
}

# A cycle V(2,2) with zebra ADI takes 5 exchanges of rows and 4 gathers a level, by overlap 2 exchanges.
case_exchanges_of_a_cycle() {
  exchanges 5 4 --mesh A3 --level 8 --cut-lines exact
  check "r['levels_cut'] >= 2 and r['overlaps'] == [0] * r['levels_cut']"
  exchanges 2 0 --level 8 --cut-lines overlap
  check "r['levels_cut'] >= 2 and r['overlaps'] == [30] * r['levels_cut']"
}

case_overlap() {
  as_on_one 2 --mesh U2 --level 7 --cut-lines overlap
  check "r['overlaps'][0] > 0"
  as_on_one 4 --mesh A3 --level 7 --smoother colour_gs --solver cg --cut-lines overlap
  check "r['overlaps'][0] > 0"
  as_on_one 3 --cells 40,150 --rhs 1 --kappa '1+x+3*y' --top neumann:x --cut-lines overlap
  ranks 2 0 --level 9 --vtk none
  prints '^ranks +2, .* levels are cut, [1-9] by overlap of [0-9]+ rows, the others whole'
  ranks 2 1 --cut-lines half
  says "cut-lines.*half"
}

case_full_multigrid_in_mixed_precision() {
  run 0 --mesh A2 --level 7 --cycle fmg --rtol 1e-8 --quiet --vtk none --report one.json
  ranks 2 0 --mesh A2 --level 7 --cycle fmg --rtol 1e-8 --quiet --vtk none --report report.json
  same_report one.json report.json
}

case_a_singular_problem() {
  run 0 --level 5 --rhs 'x-0.5' --left neumann --right neumann --bottom neumann --top neumann --quiet --vtk one.npy
  ranks 2 0 --level 5 --rhs 'x-0.5' --left neumann --right neumann --bottom neumann --top neumann --quiet --vtk two.npy
  same_array one.npy two.npy 1e-6
}

case_the_same_bits_twice() {
  ranks 2 0 --mesh A3 --level 6 --quiet --vtk a.npy
  ranks 2 0 --mesh A3 --level 6 --quiet --vtk b.npy
  cmp -s a.npy b.npy || fail "not the same bits"
}

case_the_first_rank_speaks() {
  run 0 --level 5 --vtk none
  sed -E 's/[0-9.e+-]+ s set-up.*//; s/; cpu.*//' .output >one
  ranks 2 0 --level 5 --vtk none
  prints '^ranks +2, with 13 to 18 rows each; '
  sed -E '/^ranks /d; s/[0-9.e+-]+ s set-up.*//; s/; cpu.*//; s/[0-9.]+e[-+][0-9]+|0\.[0-9]+/#/g' .output >several
  sed -Ei 's/[0-9.]+e[-+][0-9]+|0\.[0-9]+/#/g' one
  cmp -s one several || fail "prints other lines: $(diff one several)"
  [ ! -s .errors ] || fail "writes to stderr"
}

case_files() {
  needs_vtk
  local options=(--mesh A2 --level 5 --rhs 1 --exact x*y --boundary x*y --rtol 1e-12)
  run 0 "${options[@]}" --quiet --vtk one.vtr --probe 0,0,1,1,11:one.csv
  for count in 2 4; do
    ranks $count 0 "${options[@]}" --vtk several.pvtr --probe 0,0,1,1,11:several.csv --png several.png --history history.csv
    [ -s several.png ] && [ -s several_$((count - 1)).vtr ] && [ -s history.csv ] || fail "left $(files)"
    prints '^written +several.pvtr in'
    "$compare_grids" several.pvtr one.vtr 1e-9 || fail "the pieces are not the whole"
    python3 -c 'import sys
a, b = ([float(x) for line in open(name).read().split()[1:] for x in line.split(",")] for name in ("one.csv", "several.csv"))
sys.exit(0 if len(a) == len(b) and all(abs(x - y) < 1e-9 for x, y in zip(a, b)) else 1)' || fail "other probes"
    rm several*
  done
  ranks 2 0 --level 3 --quiet
  [ -s poisson2d_U1_L3.pvtr ] && [ -s poisson2d_U1_L3_1.vtr ] || fail "left $(files)"
  ranks 2 5 --level 3 --quiet --vtk nowhere/out.pvtr
  says "cannot write 'nowhere/out.pvtr'"
  mkdir out_1.vtr
  ranks 2 5 --level 3 --quiet --vtk out.pvtr
  says "cannot write 'out_1.vtr': it is a directory"
  [ ! -e out_0.vtr ] && [ ! -e out.pvtr ] || fail "left $(files)"
}

case_convergence_table() {
  ranks 2 0 --rhs 1 --convergence-table 3..5
  prints '^ +5 .* 2\.0'
}

# A lattice is cut in t.
case_quarks_on_several_ranks() {
  local count options
  program=$(dirname "$program")/staggered
  [ -x "$program" ] || skip "staggered was not built"
  options=(--lattice 4,4,4,8 --mass 0.1,0.2)
  run 0 "${options[@]}" --report one.json
  for count in 2 4; do
    ranks $count 0 "${options[@]}" --report several.json --correlator several.csv
    prints "^ranks +$count, with $((8 / count)) times each"
    python3 - $count <<'END' || fail "$count ranks give something else than one"
import json, sys
one, several = json.load(open("one.json")), json.load(open("several.json"))
assert several["ranks"] == int(sys.argv[1])
for a, b in zip(one["runs"], several["runs"]):
    assert abs(a["iterations"] - b["iterations"]) <= 1, (a, b)
for a, b in zip(one["correlators"], several["correlators"]):
    assert len(a) == len(b) == 8 and all(abs(x - y) < 1e-8 * a[0] for x, y in zip(a, b)), (a, b)
END
  done
  ranks 2 0 --lattice 4,4,4,8 --field unit --mass 0.1,0.3 --rtol 1e-13 --precision mixed16 --together --report several.json
  python3 -c 'import json; assert json.load(open("several.json"))["error"] < 1e-10' || fail "not the free propagator"
  ranks 3 1 "${options[@]}"
  says '^staggered: nt = 8 cannot be cut into 3 pieces'
}

case_what_is_refused() {
  ranks 2 1 --level 4 --map x+y,y --rhs 1
  says '^poisson2d: --map: a deformed mesh is solved on by one rank, not 2'
  ranks 2 1 --level 4 --rhs 1 --kappa '1+x' --deflate blocks:2
  says '^poisson2d: --deflate: '
  ranks 2 1 --level 4 --precision two-float
  says '^poisson2d: --precision: two-float'
  ranks 2 1 --level 4 --vtk out.vtr
  says "'out.vtr' must end in .pvtr"
  ranks 4 1 --cells 16,4
  says '^poisson2d: 3 rows cannot be cut'
  command="two kinds of ranks"
  "$mpirun" -n 1 "$program" --level 4 --vtk none : -n 1 "$program" --level 5 --vtk none >.output 2>.errors
  [ $? -eq 1 ] || fail "not exit code 1"
  says "all ranks need the same options: rank 0 has '--level=4', rank 1 has '--level=5'"
  command="heat2d on two ranks"
  "$mpirun" -n 2 "$(dirname "$program")/heat2d" --help >.output 2>.errors
  [ $? -eq 1 ] || fail "not exit code 1"
  says '^heat2d: it runs in one process, and was started as 2'
  no_files
}

case_one_rank_throws_and_all_end() {
  local begin=$SECONDS
  # The upper half alone is not finite: rank 1's.
  ranks 2 1 --level 6 --rhs 'y > 0.75 ? sqrt(-1) : 1' --report report.json
  says '^poisson2d: rank 1: the right-hand side is -?nan at \('
  [ $((SECONDS - begin)) -lt 10 ] || fail "took $((SECONDS - begin)) s"
  no_files
}

# The processes of the program that mpirun, the last command in the background, has started.
started() { pgrep -P "$mpirun_id" "$(basename "$program")"; }

in_background() {
  command="mpirun -n 2 $(basename "$program") $*"
  "$mpirun" -n 2 "$program" "${common[@]}" "$@" >.output 2>.errors &
  mpirun_id=$!
  for ((k = 0; k < 500; ++k)); do
    if grep -q '^ *3 ' .output; then return; fi
    sleep 0.02
  done
  fail "does not start"
}

# They all do within ten seconds.
ends() {
  local process left
  for ((k = 0; k < 500; ++k)); do
    left=
    for process in "$mpirun_id" $1; do
      if [[ $(cat "/proc/$process/stat" 2>/dev/null) == *') '[!Z]' '* ]]; then left+=" $process"; fi
    done
    if [ -z "$left" ]; then break; fi
    sleep 0.02
  done
  [ -z "$left" ] || fail "leaves processes$left behind"
  # shellcheck disable=SC2086
  kill -9 $left 2>/dev/null
  wait "$mpirun_id" && fail "ends as if nothing had happened"
  no_files
}

endless=(--level 10 --smoother jacobi --mesh A2 --steps 1 --damping 0.1 --solver gmres --restart 3 --rtol 1e-300 --max-iterations 1000000)

case_a_killed_rank_leaves_no_other_waiting() {
  in_background "${endless[@]}" --report report.json --vtk none
  local all
  all=$(started)
  kill -9 "$(echo "$all" | tail -n 1)"
  ends "$all"
}

case_an_interrupted_run_leaves_nothing() {
  in_background "${endless[@]}" --report report.json --vtk none
  local all
  all=$(started)
  kill -TERM "$mpirun_id"
  ends "$all"
}

run_case "$2"
