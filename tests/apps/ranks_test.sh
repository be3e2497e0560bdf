#!/usr/bin/env bash
# ranks_test.sh PROGRAM CASE: poisson2d on several ranks of MPI, a thread each, against the same on one.
# shellcheck source=ranks_support.sh
source "$(dirname "${BASH_SOURCE[0]}")/ranks_support.sh"

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
  same_probes one.csv probe.csv 1e-9
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
    same_probes one.csv several.csv 1e-9
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
  of heat2d ranks 2 0 --level 4 --several-from 1000 --vtk film.pvd
  [ -s film_0001.vtr ] && grep -q 'film_0001.vtr' film.pvd || fail "left $(files)"
}

case_convergence_table() {
  ranks 2 0 --rhs 1 --convergence-table 3..5
  prints '^ +5 .* 2\.0'
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

# What a host has is compared with what all of its ranks take, before any takes it. Level 20 takes 16 TiB and more.
case_ranks_that_do_not_fit_in_memory() {
  local level
  for program in "$program" "$(dirname "$program")/heat2d"; do
    level=$([[ $program == *heat2d ]] && echo 12 || echo 13)
    for kappa in 1 '1+x'; do
      ranks 2 4 --mesh U2 --level 20 --kappa "$kappa" --rhs 1
      says "^$(basename "$program"): mesh U2 with 1048575 x 1048575 unknowns, 2 ranks on a host, needs [0-9.]+ GiB of memory, [0-9.]+ GiB are av"
    done
    ranks 2 4 --mesh U2 --level 20 --map x+y,y --rhs 1
    says "^$(basename "$program"): mesh U2, 2 ranks on a host, needs [0-9.]+ GiB of memory, [0-9.]+ GiB are available"
    command="a rank with less memory than the other"
    timeout 20 "$mpirun" -n 1 "$program" "${common[@]}" --level $level --rhs 1 --vtk none : \
      -n 1 bash -c 'ulimit -v 800000; exec "$@"' bash "$program" "${common[@]}" --level $level --rhs 1 --vtk none >.output 2>.errors
    [ $? -eq 4 ] || fail "not exit code 4"
    says "^$(basename "$program"): rank 1: mesh U1 with $(((1 << level) - 1)) x $(((1 << level) - 1)) unknowns, 2 ranks on a host, needs "
  done
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
  timeout 200 taskset -c "$first" "$mpirun" --bind-to none -n 2 "$program" --backend cpu --threads 2 --level 4 --vtk none \
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
