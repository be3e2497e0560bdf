#!/usr/bin/env bash
# heat3d_test.sh PROGRAM CASE: runs one case of the command line of heat3d, on small boxes. Times, films and restart files are
# those of heat2d, whose test has more of them.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
common+=(--threads 1)

small=(--cells 8,6,5)

# In films rounding keeps corrections from getting digits that u does not need. That is no breakdown, and u is that of a thick box,
# whose error beside this function, which is no solution, is the same.
case_films_are_solved() {
  local box=(--cells 8 --exact '1+x+2*y+t' --rhs 1 --kappa 'x<.5 ? 1 : 1000' --left neumann --right neumann --bottom neumann --top neumann
    --front neumann --back neumann --report report.json)
  run 0 "${box[@]}" --domain 1,1,1e-7 --solver multigrid --dt 0.01 --end 0.03
  check "abs(r['relative_l2_error'] - 0.19208481) < 1e-7"
  run 0 "${box[@]}" --domain 1,1,1e-7 --solver fd-cg --end 0.002
  check "abs(r['relative_l2_error'] - 0.170030) < 2e-6"
}

case_default_run_knows_its_error() {
  run 0 --level 3
  prints '^mesh .*: 8 x 8 x 8 cells, 7 x 7 x 7 unknowns'
  prints '^solver +fast diagonalization'
  prints '^status +converged'
  prints '^error +[0-9.]+e-0[123]'
  no_files
}

case_every_method_and_its_order() {
  local method
  for method in euler crank-nicolson tr-bdf2; do
    for steps in 10 20; do
      run 0 "${small[@]}" --method $method --dt 1/$steps --end 1 --exact '(x+2*y-z)*sin(4*t)' \
        --rhs '4*(x+2*y-z)*cos(4*t)' --back 'robin:2,-sin(4*t)+2*(x+2*y-z)*sin(4*t)' --quiet --report $steps.json
    done
    has_its_order $method
  done
}

# Nothing depends on z between walls: the lines of values are those of heat2d.
case_is_heat2d_between_walls_across_z() {
  local same=(--method crank-nicolson --dt 0.01 --rtol 1e-13 --initial 'x*y' --rhs 'x*t' --left 'dirichlet:y*sin(9*t)' --top neumann
    --kappa 'x+y>1 ? 50 : 1' --capacity 1.5 --quiet --output-every 0.05)
  of heat2d run 0 --cells 9,8 --grade-y tanh:2,both "${same[@]}" --precision double --probe 0,0.3,1,0.9,7:plane.csv
  run 0 --cells 9,8,5 --grade-y tanh:2,both --grade-z tanh:2,first --front neumann --back neumann "${same[@]}" \
    --probe 0,0.3,0.2,1,0.9,0.7,7:box.csv
  python3 - <<'END' || fail "not the values of heat2d"
import csv
plane, box = ([float(row["u"]) for row in csv.DictReader(open(f))] for f in ("plane.csv", "box.csv"))
assert len(plane) == len(box) == 21, (len(plane), len(box))
assert max(abs(a - b) for a, b in zip(plane, box)) < 1e-10
END
}

case_solvers() {
  run 0 "${small[@]}" --kappa 'x+y>1 ? 400 : 1' --initial 1 --report report.json
  prints '^solver +conjugate gradients around V-cycles'
  check "r['solver'] == 'multigrid' and r['most_cycles'] < 12 and r['updates'] > 0"
  # The user gave no reaction: a time step makes one.
  run 0 "${small[@]}" --kappa '1+x' --initial 1
  prints '^ +the mass matrix of a time step beside a --kappa that varies is not separable'
  run 0 "${small[@]}" --kappa '1+x*y+z' --initial 1 --quiet --report report.json
  check "r['solver'] == 'fd-cg'"
  run 0 "${small[@]}" --kx 2 --ky '1+y' --initial 1 --reaction 3 --quiet --report report.json
  check "r['solver'] == 'direct'"
  run 0 "${small[@]}" --initial 1 --solver multigrid --precision mixed --quiet --report report.json
  check "r['solver'] == 'multigrid' and r['precision'] == 'mixed'"
  run 0 "${small[@]}" --kappa 'exp(x*y)' --front periodic --back periodic --left neumann --right neumann --top neumann --bottom neumann \
    --initial 'x<0.3' --end 2 --quiet --report report.json
  check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12"
}

# At Dirichlet nodes u has the value of the boundary, whatever the initial value is there.
case_initial_values_at_unknowns() {
  run 0 "${small[@]}" --initial 1/x
  run 0 "${small[@]}" --initial '1/x+1/(1-y)+1/z' --right neumann --bottom neumann --back neumann
  refused --initial 1/x --left neumann "${small[@]}" -- 'at t = 0: the initial value is inf at (0, '
}

case_films_and_values() {
  needs_vtk
  run 0 "${small[@]}" --exact '1+x+2*y+3*z+t' --rhs 1 --dt 0.05 --output-every 0.05 --end 0.12 --vtk film.pvd \
    --probe z=0.5,3,2:plane.csv --png u.png --slice x=0.5
  has_files film.pvd film_0000.vtr film_0001.vtr film_0002.vtr film_0003.vtr plane.csv u.png
  [ "$(grep -c DataSet film.pvd)" -eq 4 ] || fail "film.pvd has not four pictures"
  # ParaView gets the exact solution as it is, infinite at some nodes.
  run 0 "${small[@]}" --exact 1/x --boundary 1 --rhs 1 --vtk infinite.pvd
  python3 - <<'END' || fail "plane.csv"
import csv
rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(open("plane.csv"))]
assert [round(r["t"], 9) for r in rows[::6]] == [0, 0.05, 0.1, 0.12]
assert all(abs(r["u"] - (1 + r["x"] + 2 * r["y"] + 3 * r["z"] + r["t"])) < 1e-7 for r in rows)
END
  refused --vtk film.vtr -- "'film.vtr' must end in .pvd"
}

case_restarts_are_the_uninterrupted_run() {
  local steps kappa
  for steps in '--tol 1e-2' '--dt 0.013 --method crank-nicolson'; do
    for kappa in 1 'x+y*z>0.7 ? 20 : 1'; do
      # shellcheck disable=SC2206
      local all=("${small[@]}" $steps --kappa "$kappa" --boundary 'sin(5*t)*x' --restart-every 0.1 --quiet)
      run 0 "${all[@]}" --end 0.2 --save whole.state
      run 0 "${all[@]}" --end 0.1 --save half.state
      run 0 "${all[@]}" --end 0.2 --restart half.state --save end.state
      cmp -s whole.state end.state || fail "not the same bits"
    done
  done
  refused "${small[@]}" --kappa 7 --end 0.2 --restart half.state -- "goes on with fixed steps of crank-nicolson"
  refused --cells 8,6,4 --method crank-nicolson --dt 0.013 --end 1 --restart half.state -- \
    "is of another mesh, 8 x 6 x 5 cells; this one has 8 x 6 x 4"
  of heat2d run 0 --cells 8,6 --save plane.state --quiet
  refused --code 5 "${small[@]}" --end 1 --restart plane.state -- "it does not begin with 'stratum heat3d restart 2'"
}

case_what_is_wrong() {
  run 0 "${small[@]}" --left dirichlet:1+t --start 2 --end 2.1 --initial 1
  grep -q "warning: at t = 2 the left and the bottom face differ by 3 at (0, 0, 0)" .errors || fail "does not warn of edges"
  refused --kappa '1+t' -- "--kappa: expression '1+t'" "known names: x, y, z, a, b, d, xl"
  refused --left 'robin:1+t,0' -- "--left: ALPHA '1+t' depends on the time"
  refused --capacity 0 -- "--capacity: '0'"
  refused --capacity 'x' -- "--capacity: 'x'"
  refused --solver adi -- "--solver: unknown name 'adi'; known are auto, direct, planes, fd-cg, multigrid"
  refused --solver direct --kappa 'x+y>1 ? 9 : 1' -- "The direct method in three dimensions needs a separable problem"
  refused --left periodic -- "a periodic direction needs both faces periodic"
  refused --method euler -- "--dt: euler takes steps of one length"
  refused --rhs '1/(t-0.05)' --dt 0.05 "${small[@]}" -- "at t = 0.05: the right-hand side is"
  refused --initial 'ln(x-1/2)' "${small[@]}" -- "at t = 0:"
  refused --probe 0,0,0,2,0,0,3:u.csv -- "is outside the box"
  run 2 --cells 16 --kappa 'x+y>1 ? 1e4 : 1' --initial 1 --dt 0.1 --max-iterations 1 --rtol 1e-12
  prints '^status +max iterations: a step of '
}

# What a ball gives is what heat gains; a plate makes rooms that keep theirs.
case_bodies() {
  local walls=(--left neumann --right neumann --bottom neumann --top neumann --front neumann --back neumann)
  run 0 --cells 8 "${walls[@]}" --initial 0 --method euler --dt 0.02 --end 0.02 --body 'ball(0.5,0.5,0.5,0.25):value:1+t' --report report.json \
    --save run.state --rtol 1e-10
  prints '^body 1 +ball\(0\.5,0\.5,0\.5,0\.25\):value:1\+t: 32 cells, volume 0\.0625, flux out of it [0-9.]+, mean 1\.02$'
  check "abs((r['heat'] - r['heat_at_first']) / 0.02 - r['bodies'][0]['flux']) < 1e-6 and r['precision'] == 'double'"
  run 0 --cells 8 "${walls[@]}" --initial 0 --method euler --dt 0.02 --end 0.04 --body 'ball(0.5,0.5,0.5,0.25):value:1+t' --rtol 1e-10 \
    --restart run.state
  says_nothing
  run 0 --cells 8 "${walls[@]}" --initial 'x<0.4' --end 0.1 --tol 1e-2 --body 'box(0.5,0,0,0.625,1,1):no-flux' --report report.json
  check "abs(r['heat'] - r['heat_at_first']) < 1e-13 and r['solver'] == 'multigrid' and 'fluxes' not in r"
  run 0 "${small[@]}" --body 'x<0.3:value:1' --left dirichlet:0 --rhs 1 --method euler --dt 0.1 --end 0.1
  says 'warning: at t = 0 a body and a face differ by 1 at '
  run 0 --cells 8 "${walls[@]}" --body 'box(0.25,0.25,0,0.5,0.5,1):no-flux' --body 'box(0.5,0.5,0,0.75,0.75,1):no-flux' --initial x --end 0.1 --dt 0.1
  says 'warning: solids without flux touch each other in edges or corners alone at 9 nodes, the first of them \(0\.5, 0\.5, 0\): '
  refused "${small[@]}" --rhs 1 --body 'x<t:no-flux' -- "--body: the shape 'x<t' depends on the time"
  refused "${small[@]}" --rhs 1 --body 'ball(0.5,0.5,0.5,0.3):k:t' -- "--body: K 't' depends on the time"
  refused "${small[@]}" --rhs 1 --reaction 1 --body 'ball(0.5,0.5,0.5,0.3):no-flux' -- "cannot be combined with a reaction c"
  refused "${small[@]}" --rhs 1 --exact x --body 'ball(0.5,0.5,0.5,0.3):no-flux' -- "leave the exact solution out"
  has_vtk || return 0
  run 0 --cells 8 --initial 0 --method euler --dt 0.02 --end 0.02 --body 'ball(0.5,0.5,0.5,0.25):value:1+t' --vtk film.pvd
  grep -q 'Name="body"' film_0001.vtr || fail "no numbers of bodies"
}

# Direct solves are in double, whatever was asked for.
case_reports_the_precision_that_ran() {
  run 0 "${small[@]}" --rhs 1 --precision mixed --report report.json
  check "r['precision'] == 'double'"
  run 0 "${small[@]}" --rhs 1 --precision mixed --solver multigrid --kappa 'x>0.5 ? 100 : 1' --report report.json
  check "r['precision'] == 'mixed'"
}

run_case "$2"
