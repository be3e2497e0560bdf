#!/usr/bin/env bash
# ranks_programs_test.sh PROGRAM CASE: the programs beside poisson2d, and its meshes of patches, on several ranks of MPI, a thread
# each, against the same on one.
# shellcheck source=ranks_support.sh
source "$(dirname "${BASH_SOURCE[0]}")/ranks_support.sh"

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
  box_as_on_one 2 z --cells 9,8,12 --rhs 'x+z' --kappa '1+x*y+z'
  check "r['solver'] == 'fd-cg'"
}

case_multigrid_of_boxes() {
  boxes
  local options=(--cells 14,12,31 --rhs x+z --grade-z geometric:1.3,first --kappa 'x+y > 1 && z > 0.3 ? 100 : 1' --top neumann --left periodic --right periodic)
  run 0 "${options[@]}" --quiet --vtk one.npy --report one.json
  ranks 3 0 "${options[@]}" --vtk several.npy --report report.json
  prints '^ranks +3, with 10 planes of unknowns across z each; 1 level is distributed, the others replicated on every rank$'
  same_array one.npy several.npy 1e-9
  same_report one.json report.json
  check "r['solver'] == 'multigrid' and [k['first_plane'] for k in r['ranks']] == [1, 11, 21] and r['distributed_levels'] == 1 and r['ranks_exchange_by'] == 'mpi'"
  ranks 2 0 "${options[@]}" --precision mixed --quiet --vtk several.npy
  same_array one.npy several.npy 1e-7
  needs_vtk
  run 0 "${options[@]}" --quiet --vtk one.vtr
  ranks 2 0 "${options[@]}" --quiet --vtk several.pvtr
  "$compare_grids" several.pvtr one.vtr 1e-9 || fail "the subdomains are not the whole"
}

case_bodies_of_boxes() {
  needs_numpy
  boxes
  local options=(--cells 14,13,24 --rhs 1 --top neumann --body 'ball(0.3,0.3,0.5,0.2):value:2' --body 'box(0.6,0.1,-1,0.8,0.6,0.7):no-flux')
  run 0 "${options[@]}" --quiet --vtk one.npy --report one.json
  ranks 2 0 "${options[@]}" --vtk several.npy --report report.json
  prints '^ranks +2, with 11 to 12 planes' '^body 1 +ball'
  "$python" - <<'END' || fail "two ranks give something else than one"
import json, numpy as np
one, several = np.load('one.npy'), np.load('several.npy')
assert (np.isnan(one) == np.isnan(several)).all() and np.nanmax(abs(one - several)) < 1e-9 and np.isnan(one).any()
a, b = json.load(open('one.json')), json.load(open('report.json'))
assert a['iterations'] == b['iterations'] and abs(a['bodies'][0]['flux'] - b['bodies'][0]['flux']) < 1e-7
assert abs(a['bodies'][1]['mean'] - b['bodies'][1]['mean']) < 1e-9
END
  needs_vtk
  run 0 "${options[@]}" --quiet --vtk one.vtr
  ranks 3 0 "${options[@]}" --quiet --vtk several.pvtr
  grep -q 'Name="body"' several.pvtr || fail "the subdomains do not say which cells are bodies"
}

case_files_of_boxes() {
  boxes
  local options=(--cells 9,8,14 --rhs 1 --boundary x*y+z --probe '0,0,0,1,1,1,21:probe.csv' --slice x=0.3)
  run 0 "${options[@]}" --quiet --vtk none --png one.png
  cp probe.csv one.csv
  ranks 2 0 "${options[@]}" --vtk none --png slice.png --history history.csv
  prints '^ranks +2, with 6 to 7 planes of unknowns across z each$' '^memory +up to [0-9]+ MiB a rank expected' '^written +slice.png in'
  [ -s slice.png ] && [ -s history.csv ] || fail "left $(files)"
  same_probes one.csv probe.csv 1e-12
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
  check "len(r['boxes']) == 6 and all(b['status'] == 'converged' and b['seconds'] > 0 for b in r['boxes'])"
  check "all(b['solves'] == 1 for b in r['boxes'][:3]) and all('conjugate gradients' in b['choice'] for b in r['boxes'][3:])"
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
  ranks 2 1 --cells 8 --rhs 1 --kappa 'z > 0.75 ? x-y : 1'
  says 'kappa is -?[0-9.]+ at \('
  ranks 5 1 --cells 8,8,5 --rhs 1 --kappa 'z > 0.75 ? 1+x*y : 1' --vtk none
  says '^poisson3d: multigrid gives every rank planes across z, of which 5 ranks need as many'
  ranks 2 1 --cells 8 --rhs 1 --method planes --vtk none
  says 'planes are for K = 1, .* and one rank on a CPU'
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
    return header, struct.unpack_from("<%dd" % n, data, at + 6 + 9 * 8)
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

# --- steps in time in boxes ----------------------------------------------------------------------------------------------

heat_in_boxes() { program=$(dirname "$program")/heat3d; }

# Planes across the direction of the direct solver's lines, K by cells by multigrid, bodies.
case_heat_in_boxes() {
  heat_in_boxes
  in_time 2 --level 3 --end 0.02
  in_time 3 --cells 23,5,6 --method crank-nicolson --dt 0.02 --initial x*y --front periodic --back periodic --left robin:2,t
  in_time 2 --cells 9,8,16 --method euler --dt 0.02 --kappa 'x+z>1 ? 50 : 1' --boundary 'sin(9*t)' --back neumann:x
  in_time 2 --cells 9,8,16 --rhs 1 --dt 0.02 --left neumann --body 'ball(0.5,0.5,0.5,0.2):value:1+t' --body 'box(0.7,0,0,0.9,1,0.8):no-flux'
  ranks 2 0 --cells 9,8,30 --kappa 'x+z>1 ? 50 : 1' --initial 1 --method euler --dt 0.05 --report report.json
  prints '^ranks +2, with 14 to 15 planes of unknowns across z each; 0 levels are distributed' '^memory +up to [0-9]+ MiB a rank'
  check "[(k['first_plane'], k['planes']) for k in r['ranks']] == [(1, 15), (16, 14)] and r['ranks_exchange_by'] == 'mpi'"
  ranks 2 0 --level 3 --several-from 1000 --report report.json
  prints '^ranks +solved on one of 2 ranks: 343 unknowns are too few for several$'
  ranks 2 1 --cells 8 --initial 1 --solver planes
  says 'planes are for K = 1, .* and one rank on a CPU'
  ranks 2 1 --cells 16 --rhs 'z > 0.75 && t > 0.05 ? sqrt(-1) : 1' --report none.json
  says '^heat3d: rank 1: at t = 0\.05[0-9]*: the right-hand side is -?nan at \('
  [ ! -e none.json ] || fail "left $(files)"
}

# A state goes from any number of ranks to any other; the same number gives the bits of a run without the break.
case_heat_in_boxes_goes_on_on_other_ranks() {
  heat_in_boxes
  local all=(--cells 6,7,11 --tol 1e-2 --kappa 'x+z>1 ? 50 : 1' --boundary 'sin(5*t)*x' --restart-every 0.1 --quiet) count
  run 0 "${all[@]}" --end 0.2 --save whole.state
  run 0 "${all[@]}" --end 0.1 --save half_1.state
  ranks 2 0 "${all[@]}" --end 0.1 --save half_2.state
  run 0 "${all[@]}" --end 0.2 --restart half_2.state --save end.state
  same_state whole.state end.state 1e-11
  for count in 1 2; do
    ranks 2 0 "${all[@]}" --end 0.2 --restart half_$count.state --save end.state
    same_state whole.state end.state 1e-11
  done
  ranks 2 0 "${all[@]}" --end 0.2 --save again.state
  cmp -s again.state end.state || fail "not the bits of a run without the break"
}

case_films_of_heat_in_boxes() {
  needs_vtk
  heat_in_boxes
  local n options
  for options in '--cells 5,20,6 --kx 2 --kz 1+z --exact sin(3*x*y)+z+t' '--cells 7,6,12 --left neumann --body ball(0.5,0.5,0.5,0.3):k:20'; do
    # shellcheck disable=SC2206
    local all=($options --initial x*y+z --rhs 1 --output-every 0.05 --quiet)
    run 0 "${all[@]}" --vtk one.pvd --probe 0,0,0,1,1,1,21:one.csv
    ranks 2 0 "${all[@]}" --vtk film.pvd --probe 0,0,0,1,1,1,21:film.csv --png film.png --slice z=0.5
    for n in 0 1 2; do
      "$compare_grids" film_000$n.pvtr one_000$n.vtr 1e-9 || fail "the pieces of picture $n are not the whole"
    done
    sed 's/one_\(....\).vtr/film_\1.pvtr/' one.pvd | cmp -s - film.pvd || fail "film.pvd names other files or times"
    same_probes one.csv film.csv 1e-9
    [ -s film.png ] || fail "left $(files)"
  done
}

# --- patches -------------------------------------------------------------------------------------------------------------

# Ranks take whole patches; lines run on into others, with thin cells at the corner.
case_patches() {
  l_shape 32
  sed -i '/lid$/d' l_shape.patches
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
    same_probes one.csv probe.csv 1e-6
  done
  ranks 4 1 "${options[@]}" --vtk none
  says "3 patches cannot be shared out among 4 ranks.* at most 3 ranks"
}

# Steps, files and values as on one rank; a state goes from any number of ranks to any other.
case_heat_on_patches() {
  program=$(dirname "$program")/heat2d
  l_shape 16
  local options=(--patches l_shape.patches --initial x --boundary wall=neumann --boundary lid=robin:1,t --boundary 'corner=dirichlet:y*t'
    --kappa 1+x*x --capacity 2+y --dt 0.02)
  run 0 "${options[@]}" --end 0.1 --report one.json --save one.state --probe=-0.5,-0.5,0.5,0.5,9:one.csv
  ranks 2 0 "${options[@]}" --end 0.1 --report report.json --save two.state --probe=-0.5,-0.5,0.5,0.5,9:two.csv
  prints '^ranks +2, with 1 to 2 patches each'
  python3 - <<'END' || fail "two ranks give something else than one"
import csv, json
one, two = json.load(open("one.json")), json.load(open("report.json"))
assert one["steps"] == two["steps"] == 5 and abs(one["heat"] - two["heat"]) < 1e-7, (one["heat"], two["heat"])
assert all(abs(a - b) < 1e-6 for a, b in zip(one["fluxes"], two["fluxes"])), (one["fluxes"], two["fluxes"])
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))] for f in ("one.csv", "two.csv"))
assert len(u) == 18 and all(abs(a - b) < 1e-7 for a, b in zip(u, v)), (u, v)
END
  run 0 "${options[@]}" --end 0.2 --restart two.state --report one.json
  says_nothing
  ranks 2 0 "${options[@]}" --end 0.2 --restart one.state --report report.json
  python3 -c '
import json
one, two = json.load(open("one.json")), json.load(open("report.json"))
assert one["steps"] == two["steps"] == 10 and abs(one["heat"] - two["heat"]) < 1e-6, (one["heat"], two["heat"])' || fail "the states differ"
}

run_case "$2"
