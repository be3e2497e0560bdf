#!/usr/bin/env bash
# ranks_test.sh PROGRAM CASE: poisson2d, and poisson3d, heat2d and staggered beside it, on several ranks of MPI, a thread each, against the
# same on one.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

mpirun=${MPIRUN:-mpirun}
compare_grids=$(dirname "$program")/compare_grids
common=(--backend cpu --threads 1)
# More ranks than cores; in containers a rank may be root, and cannot read another one's memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# ranks N CODE ARGS...: mpirun must end with CODE. Once a rank has failed it gives the others a second to end, which nobody
# needs who writes no files.
ranks() {
  local count=$1 expected=$2 code seconds=1
  case $expected in [124]) seconds=0 ;; esac
  shift 2
  command="mpirun -n $count $(basename "$program") $*"
  OMPI_MCA_odls_base_sigkill_timeout=$seconds timeout 60 "$mpirun" -n "$count" "$program" "${common[@]}" "$@" >"$work/.output" 2>"$work/.errors"
  code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

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
wrong = [key for key in ("status", "iterations", "unknowns", "cells", "smoothers", "solver", "cycle", "hierarchy", "method", "choice")
         if a.get(key) != b.get(key)]
wrong += [key for key in ("relative_l2_error", "relative_largest_error", "relative_energy_error", "minimum", "maximum",
                          "minimum_at", "maximum_at", "boundary_range", "largest_step", "fluxes", "reaction_integral",
                          "load_integral") if differs(a[key], b[key], 1e-6)]
print(*(f"{key}: {a[key]} {b[key]}" for key in wrong), sep="\n")
sys.exit(1 if wrong else 0)
END
}

# as_on_one N ARGS...: two cycles in double, to rounding or to $tolerance, and a whole solve.
as_on_one() {
  local count=$1
  shift
  run 2 "$@" --precision double --max-iterations 2 --rtol 1e-15 --quiet --vtk one.npy
  ranks "$count" 2 "$@" --precision double --max-iterations 2 --rtol 1e-15 --quiet --vtk several.npy
  same_array one.npy several.npy "${tolerance:-1e-13}"
  run 0 "$@" --quiet --vtk none --report one.json
  ranks "$count" 0 "$@" --quiet --vtk none --report report.json
  same_report one.json report.json
  check "len(r['ranks']) == $count and sum(k['rows'] for k in r['ranks']) * (r['unknowns'] // sum(k['rows'] for k in r['ranks'])) == r['unknowns']"
}

case_square_cells() {
  as_on_one 2 --level 6 --smoother jacobi
  as_on_one 4 --level 6 --smoother colour_gs
}

case_stretched_cells() { # heavy: on threads in tests/multigrid/distributed_levels_test.cpp
  as_on_one 2 --mesh A3 --level 6
  as_on_one 4 --mesh A3 --level 6 --solver cg --smoother line_y
}

case_sides() {
  as_on_one 2 --cells 20,37 --rhs 'x+y' --left neumann --bottom robin:3,y --top neumann:x --reaction 2
  as_on_one 2 --cells 24,32 --rhs 'sin(2*pi*y)' --bottom periodic --top periodic --boundary x
}

case_coefficients() { # heavy: on threads in tests/multigrid/distributed_levels_test.cpp
  as_on_one 2 --level 5 --rhs 1 --kappa '1+x+3*y' --reaction '2+x'
  as_on_one 2 --level 5 --rhs 1 --kappa 'x<0.4 && y<0.6 ? 1000 : 1' --interpolation split
}

annulus='(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)'

case_deformed_meshes() { # heavy: on threads in tests/multigrid/distributed_levels_test.cpp
  as_on_one 2 --map "$annulus" --level 6 --rhs 0 --exact 'x/(x^2+y^2)+log(x^2+y^2)' --distributed-smoothing overlap
  as_on_one 4 --map 'x+y/3,y+x/5' --cells 24,37 --bottom periodic --top periodic --rhs 'sin(x)' --kappa '4+x,1/2,3+y' \
    --reaction '4+x' --right robin:3,y --left neumann:1 --smoother colour_gs
  local walls=(--map 'x+y/3,y' --left neumann --right neumann --bottom neumann --top neumann --rhs 'x-2/3' --level 5)
  run 0 "${walls[@]}" --quiet --vtk one.npy
  ranks 2 0 "${walls[@]}" --quiet --vtk two.npy
  same_array one.npy two.npy 1e-6
}

case_deformed_files() {
  needs_vtk
  local options=(--map "$annulus" --level 5 --rhs 1 --exact x*y --boundary x*y --rtol 1e-12 --probe '1.1,0.3,0.9,1.2,11:probe.csv')
  run 0 "${options[@]}" --quiet --vtk one.vts
  cp probe.csv one.csv
  ranks 2 0 "${options[@]}" --vtk several.pvts --png several.png
  [ -s several.png ] && [ -s several_1.vts ] || fail "left $(files)"
  prints '^written +several.pvts in'
  "$compare_grids" several.pvts one.vts 1e-9 || fail "the pieces are not the whole"
  python3 -c 'import sys
a, b = ([float(x) for line in open(name).read().split()[1:] for x in line.split(",")] for name in ("one.csv", "probe.csv"))
sys.exit(0 if len(a) == len(b) and all(abs(x - y) < 1e-9 for x, y in zip(a, b)) else 1)' || fail "other probes"
  ranks 3 0 --mesh-file one.vts --rhs 1 --convergence-table 0..2
  prints '^ +2 .* 1\.99'
  ranks 2 1 --map "$annulus" --rhs 1 --level 4 --vtk out.pvtr
  says "'out.pvtr' must end in .pvts"
  ranks 3 1 --map 'x,y*(y<0.8?1:0.5)' --rhs 1 --level 4 --vtk none
  says '^poisson2d: --map: cell \(0, 12\) of the mesh is turned over'
  [ "$(grep -c turned .errors)" -eq 1 ] || fail "says it more than once"
}

# exchanges ROWS GATHERS ARGS...: of a cycle, in each distributed level. Besides the residual takes one exchange, the coarse
# right-hand side a gather and the norm another.
exchanges() {
  local rows=$1 gathers=$2
  shift 2
  local options=(--sweeps 2 --precision double --rtol 1e-15 --quiet --vtk none --report report.json "$@")
  ranks 2 2 "${options[@]}" --max-iterations 2
  mv report.json two.json
  ranks 2 2 "${options[@]}" --max-iterations 3
  check "all(k['exchanges'] - l['exchanges'] == $rows * r['distributed_levels'] + 1 and k['gathers'] - l['gathers'] == $gathers * r['distributed_levels'] + 2
    for k, l in zip(r['ranks'], json.load(open('two.json'))['ranks']))"
}

# A cycle V(2,2) with zebra ADI takes 5 exchanges of rows and 4 gathers a level, by overlap 2 exchanges.
case_exchanges_of_a_cycle() {
  exchanges 5 4 --mesh A3 --level 8 --distributed-smoothing exact
  check "r['distributed_levels'] >= 2 and r['overlaps'] == [0] * r['distributed_levels']"
  exchanges 2 0 --level 8 --distributed-smoothing overlap
  check "r['distributed_levels'] >= 2 and r['overlaps'] == [12] * r['distributed_levels']"
  check "[k['rows_beside'] for k in r['ranks']] == [[[0, 12]] * r['distributed_levels'], [[12, 0]] * r['distributed_levels']]"
}

case_overlap() { # heavy: on threads in tests/multigrid/overlap_test.cpp
  # What an iteration corrects has fewer rows beside; conjugate gradients take a symmetric cycle for granted.
  tolerance=1e-10 as_on_one 2 --mesh U2 --level 7 --distributed-smoothing overlap
  check "r['overlaps'][0] > 0"
  mv report.json corrected.json
  as_on_one 2 --mesh U2 --level 7 --distributed-smoothing overlap --solver cg
  check "r['overlaps'][0] > json.load(open('corrected.json'))['overlaps'][0]"
  # Cells are thin at the bottom: the lowest cut asks for more rows than the others.
  tolerance=1e-6 as_on_one 4 --mesh A3 --level 9 --distributed-smoothing overlap
  check "r['ranks'][1]['rows_beside'][0][0] > r['ranks'][2]['rows_beside'][0][0] > r['ranks'][3]['rows_beside'][0][0] > 0"
  as_on_one 4 --mesh A3 --level 7 --smoother colour_gs --solver cg --distributed-smoothing overlap
  check "r['overlaps'][0] > 0"
  as_on_one 3 --cells 40,150 --rhs 1 --kappa '1+x+3*y' --top neumann:x --distributed-smoothing overlap
  ranks 2 0 --level 9 --vtk none
  prints '^ranks +2, .* levels are distributed, [1-9] by overlap of [0-9]+ rows, the others replicated'
  ranks 2 1 --distributed-smoothing half
  says "distributed-smoothing.*half"
  ranks 2 1 --exchange pear
  says "exchange.*pear"
  ranks 2 1 --exchange peer
  says "exchange: it is for several ranks on GPUs"
}

case_full_multigrid_in_mixed_precision() { # heavy: on threads in tests/multigrid/distributed_levels_test.cpp
  run 0 --mesh A2 --level 7 --cycle fmg --rtol 1e-8 --quiet --vtk none --report one.json
  ranks 2 0 --mesh A2 --level 7 --cycle fmg --rtol 1e-8 --quiet --vtk none --report report.json
  same_report one.json report.json
}

# Both words of x have halos.
case_two_floats() { # heavy: on threads in tests/multigrid/double_single_test.cpp
  local options
  while read -r options; do
    # shellcheck disable=SC2086
    run 0 $options --precision double-single --rhs 1+x --quiet --vtk one.npy --report one.json
    # shellcheck disable=SC2086
    ranks 2 0 $options --precision double-single --rhs 1+x --quiet --vtk two.npy --report report.json </dev/null
    same_array one.npy two.npy 1e-6
    check "r['status'] == 'round-off limit' and all(r[key] == json.load(open('one.json'))[key] for key in ('status', 'iterations', 'solver', 'precision'))"
  done <<<$'--mesh A3 --level 7\n--cells 37,45 --kappa x<0.5?1:1e4 --left neumann --bottom periodic --top periodic'
  ranks 2 1 --level 4 --precision double-single --operator nine-band
  says '^poisson2d: double-single precision is for tensor and element-coefficient operators'
}

# Each rank has its rows of the vectors, all of them the coarse matrix.
case_deflation() {
  local discs='(x-0.3)^2+(y-0.45)^2<0.02 || (x-0.7)^2+(y-0.8)^2<0.02 ? 1e5 : 1' by
  for by in auto ritz:5; do
    run 0 --level 5 --rhs 1 --kappa "$discs" --deflate $by --quiet --vtk one.npy --report one.json
    ranks 2 0 --level 5 --rhs 1 --kappa "$discs" --deflate $by --quiet --vtk two.npy --report report.json
    same_array one.npy two.npy 1e-6
    check "r['deflation'].startswith('by ') and all(r[key] == json.load(open('one.json'))[key] for key in ('status', 'iterations', 'deflation'))"
  done
  ranks 2 1 --level 4 --rhs 1 --kappa "$discs" --deflate blocks:16
  says '^poisson2d: deflation by 16 x 16 blocks: the grid has only 15 x 15 unknowns'
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

# same_bits COUNTS ARGS...: one rank as one process without MPI, with more threads, and COUNTS ranks.
same_bits() {
  local counts=$1 count
  shift
  run 0 "$@" --reproducible --quiet --vtk one.npy
  "$program" --backend cpu --threads 3 "$@" --reproducible --quiet --vtk threads.npy || fail "with 3 threads: exit code $?"
  cmp -s one.npy threads.npy || fail "with 3 threads not the same bits"
  for count in $counts; do
    ranks "$count" 0 "$@" --reproducible --quiet --vtk several.npy
    cmp -s one.npy several.npy || fail "on $count ranks not the same bits"
  done
}

case_the_same_bits_on_any_number_of_ranks() {
  same_bits '2 3' --mesh A3 --level 6
  same_bits 2 --cells 45,67 --rhs 'x+y' --left neumann --bottom robin:3,y --solver cg
  same_bits 2 --cells 45,67 --rhs 'x+y' --bottom periodic --top periodic --precision double-single
}

case_the_same_bits_in_every_kind_of_solve() { # heavy: on threads in tests/multigrid/reproducible_test.cpp
  same_bits '2 3 4' --mesh A3 --level 7
  same_bits '2 3 4' --mesh U1 --level 7 --smoother colour_gs --cycle fmg --rtol 1e-8
  same_bits '3 4' --cells 45,67 --rhs 'x+y' --left neumann --bottom robin:3,y --solver cg
  same_bits '2 3 4' --map "$annulus" --cells 45,67 --rhs 'x+y' --left neumann --interpolation bilinear
  same_bits '3 4' --cells 45,67 --rhs 'x+y' --bottom periodic --top periodic --precision double-single
}

case_the_first_rank_speaks() {
  run 0 --level 5 --vtk none
  sed -E 's/[0-9.e+-]+ s set-up.*//; s/; cpu.*//' .output >one
  ranks 2 0 --level 5 --vtk none
  prints '^ranks +2, with 15 to 16 rows each; '
  prints '^memory +up to [0-9]+ MiB a rank expected$'
  sed -E '/^(ranks|memory) /d; s/[0-9.e+-]+ s set-up.*//; s/; cpu.*//; s/[0-9.]+e[-+][0-9]+|0\.[0-9]+/#/g' .output >several
  sed -Ei 's/[0-9.]+e[-+][0-9]+|0\.[0-9]+/#/g' one
  cmp -s one several || fail "prints other lines: $(diff one several)"
  [ ! -s .errors ] || fail "writes to stderr"
}

case_files() {
  needs_vtk
  local options=(--mesh A2 --level 5 --rhs 1 --exact x*y --boundary x*y --rtol 1e-12)
  run 0 "${options[@]}" --quiet --vtk one.vtr --probe 0,0,1,1,11:one.csv
  for count in 2 3; do
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

# What is too small for several ranks is solved by the first: with the bits, files and exit code of one process.
case_the_first_rank_alone() {
  local how=(--mesh A3 --level 5) name
  run 0 "${how[@]}" --quiet --vtk one.npy --report one.json
  ranks 3 0 "${how[@]}" --several-from 962 --vtk alone.npy --report report.json
  prints '^ranks +solved on one of 3 ranks: 961 unknowns are too few for several$'
  cmp -s one.npy alone.npy || fail "not the bits of one"
  same_report one.json report.json
  check "r['solved_on_one'].startswith('solved on one of 3 ranks') and 'ranks' not in r"
  ranks 2 0 "${how[@]}" --several-from 961 --vtk none --report report.json
  prints '^ranks +2, '
  check "len(r['ranks']) == 2 and 'solved_on_one' not in r"
  ranks 2 2 "${how[@]}" --several-from 10000 --max-iterations 1 --vtk none
  ranks 2 1 "${how[@]}" --several-from 10000 --rhs 'y > 0.75 ? sqrt(-1) : 1' --vtk none
  says 'the right-hand side is -?nan'
  ranks 2 0 --rhs 1 --convergence-table 3..5 --several-from 900
  prints '^ +5 .* 2\.0'
  for name in heat2d staggered; do
    program=$(dirname "$program")/$name
    [ -x "$program" ] || continue
    ranks 2 0 --several-from 100000 --report report.json
    prints '^ranks +solved on one of 2 ranks: [0-9]+ (unknowns|sites) are too few for several$'
    check "'solved on one of 2 ranks' in r['solved_on_one']"
  done
}

case_the_pieces_of_the_first_rank_alone() {
  needs_vtk
  run 0 --mesh A3 --level 5 --quiet --vtk one.vtr
  ranks 2 0 --mesh A3 --level 5 --several-from 1000 --vtk alone.pvtr
  "$compare_grids" alone.pvtr one.vtr 0 || fail "the piece is not the whole"
  ranks 2 0 --map "$annulus" --level 4 --rhs 1 --several-from 1000 --vtk alone.pvts
  [ -s alone.pvts ] && [ -s alone_0.vts ] && [ ! -e alone_1.vts ] || fail "left $(files)"
  heat
  ranks 2 0 --level 4 --several-from 1000 --vtk film.pvd
  [ -s film_0001.vtr ] && grep -q 'film_0001.vtr' film.pvd || fail "left $(files)"
}

case_convergence_table() {
  ranks 2 0 --rhs 1 --convergence-table 3..5
  prints '^ +5 .* 2\.0'
}

# A lattice is cut in t first.
case_quarks_on_several_ranks() {
  local options
  program=$(dirname "$program")/staggered
  [ -x "$program" ] || skip "staggered was not built"
  options=(--lattice 4,4,4,8 --mass 0.1,0.2)
  run 0 "${options[@]}" --report one.json
  ranks 2 0 "${options[@]}" --report several.json --correlator several.csv
  prints "^ranks +2, with 4 times each"
  python3 - <<'END' || fail "two ranks give something else than one"
import json
one, several = json.load(open("one.json")), json.load(open("several.json"))
assert several["ranks"] == 2
for a, b in zip(one["runs"], several["runs"]):
    assert abs(a["iterations"] - b["iterations"]) <= 1, (a, b)
for a, b in zip(one["correlators"], several["correlators"]):
    assert len(a) == len(b) == 8 and all(abs(x - y) < 1e-8 * a[0] for x, y in zip(a, b)), (a, b)
END
  ranks 2 0 --lattice 4,4,4,8 --field unit --mass 0.1,0.3 --rtol 1e-13 --precision mixed16 --together --report several.json
  python3 -c 'import json; assert json.load(open("several.json"))["error"] < 1e-10' || fail "not the free propagator"
  ranks 3 1 "${options[@]}"
  says '^staggered: nt = 8 and nz = 4 cannot be cut into 3 subdomains'
}

# partitioned_as_one COUNT WHAT ARGS...: so many ranks, which have WHAT each, must give what one gives.
partitioned_as_one() {
  local count=$1 each=$2
  shift 2
  ranks "$count" 0 --lattice 4,4,8,4 --rtol 1e-8 "$@" --report several.json
  prints "^ranks +$count, with $each"
  python3 - "$count" <<'END' || fail "$count ranks give something else than one"
import json, sys
one, several = json.load(open("one.json")), json.load(open("several.json"))
assert several["partition"][0] * several["partition"][1] == int(sys.argv[1])
for a, b in zip(one["runs"], several["runs"]):
    assert abs(a["iterations"] - b["iterations"]) <= 1, (a, b)
for a, b in zip(one["correlators"], several["correlators"]):
    assert len(a) == len(b) == 4 and all(abs(x - y) < 1e-6 * a[0] for x, y in zip(a, b)), (a, b)
END
}

# Then in z, where t is too short or where it is asked for.
case_quarks_cut_in_z() { # heavy: on threads in tests/apps/staggered/subdomains_test.cpp
  program=$(dirname "$program")/staggered
  [ -x "$program" ] || skip "staggered was not built"
  run 0 --lattice 4,4,8,4 --rtol 1e-8 --report one.json
  partitioned_as_one 2 '4 times and nz = 4 each; work goes on while sites travel' --partition 1,2
  partitioned_as_one 2 '4 times and nz = 4 each; sites travel first' --partition 1,2 --overlap no
  partitioned_as_one 4 '2 times and nz = 4 each; work goes on' --overlap yes
  partitioned_as_one 4 '4 times and nz = 2 each; work goes on' --partition 1,4
  ranks 2 1 --lattice 4,4,4,8 --partition 2
  says "^staggered: --partition: '2' is not T,Z"
  ranks 2 1 --lattice 4,4,4,8 --partition 2,2
  says '^staggered: --partition: 2 x 2 subdomains are not 2, as there are'
  ranks 2 1 --lattice 4,4,6,8 --partition 1,2
  says '^staggered: --partition: nz = 6 cannot be cut into 2 subdomains with even nz'
  ranks 4 1 --lattice 4,4,2,4
  says '^staggered: nt = 4 and nz = 2 cannot be cut into 4 subdomains'
  refused --lattice 4,4,4,8 --partition 1,2 -- --partition "1 x 2 subdomains are not 1"
  refused --overlap maybe -- --overlap maybe "auto, yes, no"
}

case_what_is_refused() {
  ranks 2 1 --level 4 --rhs 1 --kappa '1+x' --reproducible --interpolation bilinear --deflate blocks:2
  says '^poisson2d: --reproducible: deflation differs by rounding'
  ranks 2 1 --level 4 --vtk out.vtr
  says "'out.vtr' must end in .pvtr"
  ranks 4 1 --cells 16,4
  says '^poisson2d: 3 rows cannot be cut'
  ranks 4 1 --level 3 --reproducible
  says '^poisson2d: 7 rows are 3 fixed chunks, which cannot be shared by 4 subdomains'
  ranks 2 1 --level 4 --rhs 1 --kappa '1+x' --reproducible
  says '^poisson2d: --reproducible: interpolation that follows coefficients'
  command="two kinds of ranks"
  "$mpirun" -n 1 "$program" --level 4 --vtk none : -n 1 "$program" --level 5 --vtk none >.output 2>.errors
  [ $? -eq 1 ] || fail "not exit code 1"
  says "all ranks need the same options: rank 0 has '--level=4', rank 1 has '--level=5'"
  command="krylov on two ranks"
  "$mpirun" -n 2 "$(dirname "$program")/krylov" --help >.output 2>.errors
  [ $? -eq 1 ] || fail "not exit code 1"
  says '^krylov: it runs in one process, and was started as 2'
  no_files
}

# What a host has is compared with what all of its ranks take, before any takes it.
case_ranks_that_do_not_fit_in_memory() {
  local level
  for program in "$program" "$(dirname "$program")/heat2d"; do
    level=$([[ $program == *heat2d ]] && echo 11 || echo 12)
    for kappa in 1 '1+x'; do
      ranks 2 4 --mesh U2 --level 16 --kappa "$kappa" --rhs 1
      says "^$(basename "$program"): mesh U2 with 65535 x 65535 unknowns, 2 ranks on a host, needs [0-9.]+ GiB of memory, [0-9.]+ GiB are av"
    done
    ranks 2 4 --mesh U2 --level 16 --map x+y,y --rhs 1
    says "^$(basename "$program"): mesh U2, 2 ranks on a host, needs [0-9.]+ GiB of memory, [0-9.]+ GiB are available"
    command="a rank with less memory than the other"
    timeout 20 "$mpirun" -n 1 "$program" "${common[@]}" --level $level --rhs 1 --vtk none : \
      -n 1 bash -c 'ulimit -v 800000; exec "$@"' bash "$program" "${common[@]}" --level $level --rhs 1 --vtk none >.output 2>.errors
    [ $? -eq 4 ] || fail "not exit code 4"
    says "^$(basename "$program"): rank 1: mesh U1 with $(((1 << level) - 1)) x $(((1 << level) - 1)) unknowns, 2 ranks on a host, needs "
  done
  no_files
}

# --- boxes ---------------------------------------------------------------------------------------------------------------

boxes() { program=$(dirname "$program")/poisson3d; }

# box_as_on_one N AXIS ARGS...: lines, and cuts, across AXIS.
box_as_on_one() {
  local count=$1 axis=$2
  shift 2
  run 0 "$@" --quiet --vtk one.npy --report one.json
  ranks "$count" 0 "$@" --quiet --vtk several.npy --report report.json
  same_array one.npy several.npy 1e-12
  same_report one.json report.json
  check "r['lines'] == '$axis' and len(r['ranks']) == $count and r['ranks_exchange_by'] == 'mpi'"
  check "sum(k['planes'] for k in r['ranks']) * (r['unknowns'] // sum(k['planes'] for k in r['ranks'])) == r['unknowns']"
  check "all(k['first_plane'] + k['planes'] == l['first_plane'] for k, l in zip(r['ranks'], r['ranks'][1:]))"
}

case_boxes() {
  boxes
  box_as_on_one 2 z --mesh A3 --graded xyz --level 4
  box_as_on_one 3 x --cells 23,9,7 --rhs 'x+y*z' --left neumann:y --front periodic --back periodic --kappa '(1+x)*(2+y)'
  box_as_on_one 4 y --cells 6,31,5 --rhs 'x+y^2*z' --project --left neumann --right neumann --bottom periodic --top periodic --front neumann --back neumann
  box_as_on_one 3 z --cells 5,4,20 --rhs 'x+z' --front periodic --back periodic --top robin:2,x --reaction 3
}

case_files_of_boxes() {
  boxes
  local options=(--cells 9,8,14 --rhs 1 --boundary x*y+z --probe '0,0,0,1,1,1,21:probe.csv' --slice x=0.3)
  run 0 "${options[@]}" --quiet --vtk none --png one.png
  cp probe.csv one.csv
  ranks 2 0 "${options[@]}" --vtk none --png slice.png --history history.csv
  prints '^ranks +2, with 6 to 7 planes of unknowns across z each$' '^memory +up to [0-9]+ MiB a rank expected' '^written +slice.png in'
  [ -s slice.png ] && [ -s history.csv ] || fail "left $(files)"
  python3 -c 'import sys
a, b = ([float(x) for line in open(name).read().split()[1:] for x in line.split(",")] for name in ("one.csv", "probe.csv"))
sys.exit(0 if len(a) == len(b) and all(abs(x - y) < 1e-12 for x, y in zip(a, b)) else 1)' || fail "other probes"
  ranks 2 0 --cells 4,3,3 --rhs x --convergence-table 1..3
  prints '^ +3 +16399 .* 2\.06 '
  ranks 2 0 --level 3 --several-from 1000 --vtk none --report report.json
  prints '^ranks +solved on one of 2 ranks: 343 unknowns are too few for several$'
  check "r['solved_on_one'].startswith('solved on one of 2 ranks') and 'ranks' not in r"
  needs_vtk
  run 0 --level 3 --quiet --vtk one.vtr
  ranks 2 0 --level 3 --quiet --vtk several.vtr
  "$compare_grids" several.vtr one.vtr 1e-12 || fail "another solution"
}

case_subdomains_of_boxes() {
  boxes
  needs_vtk
  local options=(--cells 9,40,7 --rhs 1 --kz 1+z --top neumann --left periodic --right periodic)
  run 0 "${options[@]}" --quiet --vtk one.vtr
  ranks 3 0 "${options[@]}" --vtk several.pvtr --png faces.png
  prints '^written +several.pvtr in'
  "$compare_grids" several.pvtr one.vtr 1e-11 || fail "the subdomains are not the whole"
  [ -s several_2.vtr ] && [ ! -e several_3.vtr ] && [ -s faces.png ] || fail "left $(files)"
  ranks 2 0 --level 3 --quiet --several-from 1000 --vtk alone.pvtr
  run 0 --level 3 --quiet --vtk one.vtr
  "$compare_grids" alone.pvtr one.vtr 0 || fail "the subdomain is not the whole"
  rm -rf ./*.vtr ./*.pvtr faces.png
  mkdir out_1.vtr
  ranks 2 5 --level 3 --quiet --vtk out.pvtr
  says "cannot write 'out_1.vtr'"
  [ ! -e out_0.vtr ] && [ ! -e out.pvtr ] || fail "left $(files)"
  rmdir out_1.vtr
  ranks 2 1 --level 3 --vtk out.pvtr --png out_1.vtr
  ranks 2 1 --level 3 --vtk out.txt
  says 'in .pvtr, for a file of every rank'
}

case_times_of_boxes_and_patches() {
  program=$(dirname "$program")/stratum_bench
  ranks 2 0 --what boxes --boxes 8x9x20 --quick --json report.json
  check "len(r['boxes']) == 3 and all(b['status'] == 'converged' and b['solves'] == 1 and b['seconds'] > 0 for b in r['boxes'])"
  check "r['ranks'] == 2 and r['ranks_exchange_by'] == 'mpi' and r['kernels'] == []"
  ranks 2 1 --what lines
  says '^stratum_bench: several ranks measure --what boxes or patches, and nothing else'
  ranks 2 0 --what patches --patches cylinder:16 --quick --json report.json
  check "[(p['status'], p['patches']) for p in r['patches']] == [('converged', 14)] and r['ranks'] == 2"
  ranks 2 1 --what boxes --peers SMG
  says '^stratum_bench: --peers: several ranks have none'
}

case_boxes_that_are_refused() {
  boxes
  ranks 9 1 --cells 4 --vtk none
  says '^poisson3d: 9 ranks need as many planes of unknowns in some direction'
  ranks 2 1 --cells 16 --rhs 'z > 0.75 ? sqrt(-1) : 1' --report report.json
  says '^poisson3d: rank 1: the right-hand side is -?nan at \('
  ranks 2 1 --cells 8 --rhs 1 --kappa 'z > 0.75 ? 1+x*y : 1'
  says 'kappa is not a product of functions of x, y and z'
  ranks 2 4 --cells 8000,8000,8000 --rhs 1 --vtk none
  says '^poisson3d: mesh .* with 7999 x 7999 x 7999 unknowns, 2 ranks on a host, needs [0-9.]+ GiB of memory, [0-9.]+ GiB are available'
  no_files
}

# --- steps in time -------------------------------------------------------------------------------------------------------

heat() { program=$(dirname "$program")/heat2d; }

# Two restart files must be of the same steps, with u the same to this part of its largest number.
same_state() {
  python3 - "$@" <<'END' || fail "$1 and $2 differ"
import struct, sys
def read(name):
    data = open(name, "rb").read()
    at = data.index(b"\ndata\n")
    header = dict(line.split(" ", 1) for line in data[:at].decode().split("\n")[1:])
    n = int(header["unknowns"])
    return header, struct.unpack_from("<%dd" % n, data, at + 6 + 8 * 8)
(a, u), (b, v) = read(sys.argv[1]), read(sys.argv[2])
for key in a:
    if key not in ("updates", "cycles", "rejected") and a[key] != b[key]:
        sys.exit(f"{key}: {a[key]} {b[key]}")
largest, difference = max(map(abs, u)), max(abs(x - y) for x, y in zip(u, v))
print("difference", difference / largest, a["steps"], "steps,", a["cycles"], b["cycles"], "cycles")
sys.exit(0 if len(u) == len(v) and largest > 0 and difference <= float(sys.argv[3]) * largest else 1)
END
}

# in_time N ARGS...: the same steps, and after them u.
in_time() {
  local count=$1
  shift
  run 0 "$@" --precision double --quiet --save one.state --report one.json
  ranks "$count" 0 "$@" --precision double --quiet --save several.state --report report.json
  same_state one.state several.state 1e-12
  check "len(r['ranks']) == $count and all(k['peak_memory_bytes'] > 0 < k['expected_memory_bytes'] for k in r['ranks'])"
  check "abs(r['heat'] - json.load(open('one.json'))['heat']) <= 1e-12 * abs(r['heat'])"
  rm -f one.* several.* report.json
}

case_heat_with_every_method() {
  heat
  in_time 2 --level 5
  in_time 2 --mesh A3 --level 5 --method euler --dt 0.03 --rhs 1 --smoother line_y --cycle f
  in_time 2 --cells 13,19 --method crank-nicolson --dt 0.02 --initial x*y --solver cg --smoother colour_gs
}

case_heat_with_data_that_change() { # heavy: on threads in tests/multigrid/heat_subdomains_test.cpp
  heat
  in_time 2 --cells 19,23 --end 0.3 --tol 1e-3 --exact 'x+y+t' --kappa '1+x+t' --capacity '2+x*t' --reaction t --rhs '2+x*t-1+t*(x+y+t)' \
    --right 'neumann:1+x+t' --top 'robin:1+t,1+x+t+(1+t)*(x+y+t)'
  in_time 4 --cells 12,16 --kappa '2+t,0.3,1+y' --initial 'x<1/2' --left neumann --boundary 'sin(20*t)' --tol 1e-3
  in_time 4 --level 4 --kappa 'y<0.1?0.01:1' --rhs 'exp(-t)' --left robin:5,0 --method euler --dt 0.02
}

case_heat_on_deformed_meshes() { # heavy: on threads in tests/multigrid/heat_subdomains_test.cpp
  needs_vtk
  heat
  in_time 2 --map "$annulus" --cells 19,23 --rhs 'x+t' --kappa '1+x+t' --left neumann:t --top robin:2,1 --tol 1e-3
  local all=(--map "$annulus" --level 4 --rhs 1 --kappa 1+x --output-every 0.05 --precision double --quiet) n
  run 0 "${all[@]}" --vtk one.pvd
  ranks 2 0 "${all[@]}" --vtk film.pvd --probe 1.1,0.3,0.9,1.2,5:probe.csv
  for n in 0 1 2; do
    "$compare_grids" film_000$n.pvts one_000$n.vts 1e-11 || fail "the pieces of picture $n are not the whole"
  done
  sed 's/one_\(....\).vts/film_\1.pvts/' one.pvd | cmp -s - film.pvd || fail "film.pvd names other files or times"
  # Two ranks began it, one goes on.
  ranks 2 0 "${all[@]}" --end 0.05 --vtk film.pvd --save half.state
  run 0 "${all[@]}" --vtk film.pvd --restart half.state
  [ "$(grep -o 'film_.*vts' film.pvd | paste -sd ' ')" = "film_0000.pvts film_0001.vts film_0002.vts" ] || fail "$(cat film.pvd)"
}

case_heat_around_the_ranks() { # heavy: on threads in tests/multigrid/heat_subdomains_test.cpp
  heat
  in_time 2 --cells 20,37 --bottom periodic --top periodic --rhs 'sin(2*pi*(x+y))*cos(t)+1' --tol 1e-3
  in_time 4 --mesh A3 --level 5 --method euler --dt 0.03 --rhs 1 --smoother line_y --cycle f
  in_time 4 --cells 15,18 --bottom periodic --top periodic --left periodic --right periodic --initial '1+sin(2*pi*y)' --kappa '1+x*t' --tol 1e-3
}

# heat_goes_on FROM TO...: from t = 0.1 on FROM ranks to t = 0.3 on TO of them, as without the break.
heat_goes_on() {
  local all=(--cells 13,19 --tol 1e-2 --kappa '1+x*t' --boundary 'sin(5*t)*x' --restart-every 0.1 --precision double --quiet)
  [ -e whole.state ] || run 0 "${all[@]}" --end 0.3 --save whole.state
  while [ $# -gt 0 ]; do
    [ -e "half_$1.state" ] || ranks "$1" 0 "${all[@]}" --end 0.1 --save "half_$1.state"
    ranks "$2" 0 "${all[@]}" --end 0.3 --restart "half_$1.state" --save end.state
    same_state whole.state end.state 1e-11
    shift 2
  done
}

case_heat_goes_on_on_four_ranks() { # heavy: more ranks than cores wait for each other
  heat
  heat_goes_on 1 4 4 1 4 2
}

case_heat_goes_on_on_other_ranks() {
  heat
  local all=(--cells 13,19 --tol 1e-2 --kappa '1+x*t' --boundary 'sin(5*t)*x' --restart-every 0.1 --precision double --quiet)
  heat_goes_on 1 2 2 1 2 2
  ranks 2 0 "${all[@]}" --end 0.3 --save again.state
  cmp -s again.state end.state || fail "not the bits of a run without the break"
  ranks 2 5 "${all[@]}" --end 0.3 --restart nothing.state --save end.state
  says "^heat2d: cannot read 'nothing.state'"
  ranks 2 1 --cells 13,18 --end 0.3 --restart half_2.state
  says "^heat2d: the restart file 'half_2.state' is of another mesh"
  ranks 2 5 "${all[@]}" --end 0.3 --save nowhere/end.state
  says "^heat2d: cannot write 'nowhere/end.state'"
}

case_heat_films() {
  needs_vtk
  heat
  local all=(--mesh A2 --level 5 --kappa 1+x --exact 'sin(x*y)*exp(t)' --rhs 1 --output-every 0.05 --precision double --quiet) n
  run 0 "${all[@]}" --end 0.12 --vtk one.pvd
  ranks 2 0 "${all[@]}" --end 0.12 --vtk film.pvd --png film.png
  [ -s film.png ] && [ -s film_0003_1.vtr ] || fail "left $(files)"
  for n in 0 1 2 3; do
    "$compare_grids" film_000$n.pvtr one_000$n.vtr 1e-11 || fail "the pieces of picture $n are not the whole"
  done
  sed 's/one_\(....\).vtr/film_\1.pvtr/' one.pvd | cmp -s - film.pvd || fail "film.pvd names other files or times"
  rm film*
  # One rank began it, two go on.
  run 0 "${all[@]}" --end 0.05 --vtk film.pvd --save half.state
  ranks 2 0 "${all[@]}" --end 0.12 --vtk film.pvd --restart half.state
  [ "$(grep -o 'film_.*vtr' film.pvd | paste -sd ' ')" = "film_0000.vtr film_0001.pvtr film_0002.pvtr film_0003.pvtr" ] || fail "$(cat film.pvd)"
  rm film* one* half*
  mkdir film_0000_1.vtr
  ranks 2 5 "${all[@]}" --vtk film.pvd
  says "cannot write 'film_0000_1.vtr': it is a directory"
  has_files film_0000_1.vtr
}

case_heat_is_told_by_the_first_rank() {
  heat
  run 0 --level 5 --rhs 1 --output-every 0.05
  sed -E 's/[0-9.e+-]+ s set-up.*//; s/; cpu.*//' .output >one
  ranks 2 0 --level 5 --rhs 1 --output-every 0.05
  prints '^ranks +2, with 15 to 16 rows each; '
  prints '^memory +up to [0-9]+ MiB a rank expected$'
  sed -E '/^(ranks|memory) /d; s/[0-9.e+-]+ s set-up.*//; s/; cpu.*//; s/[0-9]\.[0-9]+(e[-+][0-9]+)?|[0-9]+ updates/#/g' .output >several
  sed -Ei 's/[0-9]\.[0-9]+(e[-+][0-9]+)?|[0-9]+ updates/#/g' one
  diff -b one several >differ || fail "prints other lines: $(cat differ)"
  [ ! -s .errors ] || fail "writes to stderr"
}

case_heat_that_is_refused_or_fails() {
  heat
  local begin=$SECONDS
  # The upper half alone is not finite, after some steps: rank 1's.
  ranks 2 1 --level 5 --rhs 'y > 0.75 && t > 0.05 ? sqrt(-1) : 1' --report report.json
  says '^heat2d: rank 1: at t = 0\.05[0-9]*: the right-hand side is -?nan at \('
  [ $((SECONDS - begin)) -lt 10 ] || fail "took $((SECONDS - begin)) s"
  ranks 4 1 --cells 16,4
  says '^heat2d: 3 rows cannot be cut'
  ranks 2 1 --level 4 --capacity '0.05-t'
  says '^heat2d: at t = 0\.05[0-9]*: the capacity must be positive'
  ranks 2 2 --level 4 --max-steps 3 --quiet
  says '^heat2d: max iterations: 3 steps have led to t = '
  command="two kinds of ranks"
  "$mpirun" -n 1 "$program" --level 4 --end 1 : -n 1 "$program" --level 4 --end 2 >.output 2>.errors
  [ $? -eq 1 ] || fail "not exit code 1"
  says "all ranks need the same options: rank 0 has '--end=1', rank 1 has '--end=2'"
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

# One core for the threads of all ranks: taskset binds where mpirun does not.
case_ranks_that_are_bound_say_so() {
  local first
  first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
  command="taskset -c $first mpirun -n 2 poisson2d --threads 2"
  timeout 60 taskset -c "$first" "$mpirun" --bind-to none -n 2 "$program" --backend cpu --threads 2 --level 4 --vtk none \
    >"$work/.output" 2>"$work/.errors" || fail "exit code $?"
  says '^poisson2d: warning: mpirun has bound each rank to 1 core, and it has use for 2: .*--bind-to none'
  [ "$(grep -c bound "$work/.errors")" -eq 1 ] || fail "not once"
  ranks 3 0 --level 4 --vtk none
  ! grep -q bound "$work/.errors" || fail "warns of one thread a rank"
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

# Ranks take whole patches; lines run on into others, with thin cells at the corner.
case_patches() {
  cat >l_shape.patches <<'END'
cells 32
vertices
  a -1 -1
  b  0 -1
  c -1  0
  d  0  0
  e  1  0
  f -1  1
  g  0  1
  h  1  1
patches
  a b d c
  c d g f
  d e h g
edges
  c d  grade=geometric:h=1e-4,last
  d e  grade=geometric:h=1e-4,first
boundaries
  b d e  corner
  * wall
END
  local options=(--patches l_shape.patches --rhs 'x-y' --boundary wall=neumann:x --exact 'x*y' --level 2 --probe=-0.5,-0.5,0.5,0.5,9:probe.csv)
  run 0 "${options[@]}" --quiet --vtk none --report one.json
  mv probe.csv one.csv
  local count
  for count in 2 3; do
    ranks "$count" 0 "${options[@]}" --vtk none --report report.json
    prints "^ranks +$count, with 1"
    check "len(r['ranks']) == $count and sum(k['patches'] for k in r['ranks']) == 3 and r['distributed_levels'] >= 1"
    check "all(r[k] == json.load(open('one.json'))[k] for k in ('status', 'iterations', 'hierarchy', 'cells'))"
    check "all(abs(r[k] / json.load(open('one.json'))[k] - 1) < 1e-5 for k in ('relative_l2_error', 'minimum', 'maximum', 'largest_aspect_ratio', 'smallest_width'))"
    check "all(abs(a - b) < 1e-6 for a, b in zip(r['fluxes'] + [r['load_integral']], json.load(open('one.json'))['fluxes'] + [json.load(open('one.json'))['load_integral']]))"
    check "abs(sum(r['fluxes']) - r['load_integral']) < 1e-6 and max(map(abs, r['fluxes'])) > 0.1"
    python3 -c 'import sys
a, b = ([float(x) for line in open(name).read().split()[1:] for x in line.split(",")] for name in ("one.csv", "probe.csv"))
sys.exit(0 if len(a) == len(b) and all(abs(x - y) < 1e-6 for x, y in zip(a, b)) else 1)' || fail "other probes"
  done
  ranks 4 1 "${options[@]}" --vtk none
  says "3 patches cannot be shared out among 4 ranks.* at most 3 ranks"
}

case_a_thousand_solves_end() { # heavy: exchanges of many solves, one after the other
  local solves=() k
  for ((k = 0; k < 500; ++k)); do solves+=(--rhs "1+$k*x"); done
  ranks 2 0 --mesh A3 --level 5 --cycle fmg --rtol 1e-8 "${solves[@]}" --quiet --vtk none --report report.json
  check "len(r['right_hand_sides']) == 500 and all(s['status'] == 'converged' for s in r['right_hand_sides'])"
  ranks 2 0 --mesh A5 --level 5 --distributed-smoothing exact "${solves[@]}" --quiet --vtk none --report report.json
  check "len(r['right_hand_sides']) == 500 and all(s['status'] == 'converged' for s in r['right_hand_sides'])"
}

endless=(--level 10 --smoother jacobi --mesh A2 --sweeps 1 --damping 0.1 --solver gmres --restart 3 --rtol 1e-300 --max-iterations 1000000)

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
