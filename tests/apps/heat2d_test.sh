#!/usr/bin/env bash
# heat2d_test.sh PROGRAM CASE: runs one case of the command line of heat2d, on a small mesh where the result does not matter.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

walls=(--left neumann --right neumann --bottom neumann --top neumann)
small=(--cells 12,10)

# --- what works ----------------------------------------------------------------------------------------------------------

case_default_run_knows_its_error() {
  run 0 --level 5
  prints '^status +converged'
  prints '^steps +[0-9]+, [0-9]+ rejected'
  prints '^error +[0-9.]+e-0[34]'
  prints '^ +0\.1 '
  [ ! -s .errors ] || fail "writes to stderr without a terminal"
  no_files
}

case_every_method_and_its_order() {
  local method
  for method in euler crank-nicolson tr-bdf2; do
    for steps in 10 20; do
      run 0 "${small[@]}" --method $method --dt "$(python3 -c "print(1 / $steps)")" --end 1 \
        --exact '(x+2*y)*sin(4*t)' --rhs '4*(x+2*y)*cos(4*t)' --quiet --report $steps.json
    done
    has_its_order $method
  done
}

# du/dt is 1e8 beside the boundaries at first. What solving for it left there was a load of half a percent elsewhere.
case_first_slope_beside_stiff_sides() {
  run 0 --cells 8 --left robin:6.4e7,-9e7 --right robin:1.2e5,6e4 --bottom neumann --top neumann --rhs 1 --initial x \
    --method crank-nicolson --dt 0.08 --end 0.08 --probe 0,0.5,1,0.5,9:line.csv --quiet
  python3 - <<'END' || fail "the values along x: $(tail -n 9 line.csv)"
from fractions import Fraction as F  # exact arithmetic of linear elements along x
n, h, half = 8, F(1, 8), F(4, 100)
A, M, f = ([[F(0)] * (n + 1) for _ in range(n + 1)] for _ in range(3))
f = [F(0)] * (n + 1)
for e in range(n):
    for p in (0, 1):
        f[e + p] += h / 2
        for q in (0, 1):
            A[e + p][e + q] += (1 if p == q else -1) / h
            M[e + p][e + q] += h * (2 if p == q else 1) / 6
for k, alpha, value in ((0, 64000000, -90000000), (n, 120000, 60000)):
    A[k][k] += alpha
    f[k] += value
u = [k * h for k in range(n + 1)]
a = [[M[p][q] + half * A[p][q] for q in range(n + 1)] for p in range(n + 1)]
b = [sum((M[p][q] - half * A[p][q]) * u[q] for q in range(n + 1)) + 2 * half * f[p] for p in range(n + 1)]
for k in range(n + 1):
    for r in range(k + 1, n + 1):
        w = a[r][k] / a[k][k]
        a[r] = [x - w * y for x, y in zip(a[r], a[k])]
        b[r] -= w * b[k]
for k in reversed(range(n + 1)):
    u[k] = (b[k] - sum(a[k][q] * u[q] for q in range(k + 1, n + 1))) / a[k][k]
got = [float(line.split(",")[-1]) for line in open("line.csv").read().split("\n")[-10:-1]]
worst, size = max(abs(g - float(v)) for g, v in zip(got, u)), float(max(u) - min(u))
print("error", worst / size)
raise SystemExit(not worst < 3e-6 * size)
END
}

case_coefficients_that_change() {
  run 0 "${small[@]}" --end 0.5 --tol 1e-5 --exact 'x+y+t' --kappa '1+x+t' --capacity '2+x*t' --reaction 't' \
    --rhs '2+x*t-1+t*(x+y+t)' --right 'neumann:1+x+t' --top 'robin:1+t,1+x+t+(1+t)*(x+y+t)' --quiet --report report.json
  check "r['relative_l2_error'] < 1e-4 and r['operator'] == 'symmetric' and r['updates'] >= r['steps']"
  run 0 "${small[@]}" --kappa 0.1 --capacity 3 --initial x --quiet --report report.json
  check "r['operator'] == 'tensor'"
  run 0 "${small[@]}" --kappa 'x<1/2 ? 0.1 : 10' --initial x --quiet --report report.json
  check "r['operator'] == 'cell' and r['solver'] == 'cg'"
}

case_coefficients_of_every_kind() {
  local kappa
  for kappa in '1+x' '10,3,1' '10,3*x,1+y' '1,0,2' '2+t,min(t,1),3'; do
    run 0 "${small[@]}" "${walls[@]}" --kappa "$kappa" --initial 'x+y' --end 9 --tol 1e-3 --quiet --report report.json
    check "abs(r['heat'] - 1) < 1e-12 and r['most_cycles'] <= 8"
  done
  run 0 --mesh A5 --level 6 --initial 'x<1/2' --end 10 --quiet --report report.json
  check "abs(r['heat']) < 1e-4 and r['forced'] < 10"
  run 0 "${small[@]}" --rhs 't>0.5' --end 1 --report report.json
  check "0 < r['forced'] < 20"
  prints 'in spite of their error'
}

case_walls_keep_the_heat() {
  run 0 "${small[@]}" "${walls[@]}" --initial 'x<1/3' --kappa '1+100*(y<1/2)' --end 3 --report report.json
  check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12"
  run 0 "${small[@]}" "${walls[@]}" --rhs 'x*t' --end 2 --quiet --report report.json
  check "abs(r['heat'] - 1) < 1e-4"
}

case_coefficients_from_files() {
  printf '1 2\n3 4\n' >k.csv
  run 0 --cells 8,8 --kappa file:k.csv --capacity file:k.csv --initial 1 --boundary 1 --quiet --report report.json
  check "abs(r['heat_at_first'] - 2.5) < 1e-12"
  refused --cells 8,8 --kappa file:k.csv --save k.csv --initial 1 -- "'k.csv' is read by --kappa"
}

case_lines_at_the_times_asked_for() {
  run 0 "${small[@]}" --initial x --end 1 --output-every 0.3 --dt 0.07 --report report.json
  check "[round(m['t'], 12) for m in r['outputs']] == [0, 0.3, 0.6, 0.9, 1]"
  run 0 "${small[@]}" --start -1 --end -0.5 --output-every 0.25 --quiet --report report.json
  check "[m['t'] for m in r['outputs']] == [-1, -0.75, -0.5]"
}

case_a_film_for_paraview() {
  needs_vtk
  run 0 "${small[@]}" --output-every 0.05 --end 0.12 --vtk film.pvd
  has_files film.pvd film_0000.vtr film_0001.vtr film_0002.vtr film_0003.vtr
  python3 - <<'END' || fail "film.pvd"
import sys, xml.etree.ElementTree as xml
sets = xml.parse("film.pvd").getroot().find("Collection").findall("DataSet")
times = [float(s.get("timestep")) for s in sets]
sys.exit(times != [0, 0.05, 0.1, 0.12] or [s.get("file") for s in sets] != ["film_%04d.vtr" % k for k in range(4)])
END
  refused --vtk film.vtr -- "'film.vtr' must end in .pvd"
  rm film*
  run 0 "${small[@]}" --end 0.12 --png u.png
  head -c 4 u.png | grep -q PNG || fail "no picture"
  has_files u.png
  refused --png u.gif -- "'u.gif' must end in .png"
}

case_deformed_meshes() {
  local ring='(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' level
  for level in 4 5; do
    run 0 --map "$ring" --level $level --exact 'sin(x+y)*exp(-2*t)' --tol 1e-6 --quiet --report $level.json
  done
  python3 -c '
import json, sys
coarse, fine = (json.load(open(f"{level}.json")) for level in (4, 5))
ratio = coarse["relative_l2_error"] / fine["relative_l2_error"]
sys.exit(abs(ratio - 4) > 0.3 or fine["operator"] != "symmetric" or fine["map"] != sys.argv[1])' "$ring" || fail "the order"
  run 0 --map "$ring" "${walls[@]}" --level 4 --kappa '2+x+t,0.1*x*y,1+t' --capacity '1+y' --initial 'x>1' --report report.json
  prints '^mesh .*, mapped by \(1\+x\).*: 16 x 16 cells'
  check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12"
  run 0 --map "$ring" --level 4 --initial 'x' --save half.state --quiet
  run 0 --map "$ring" --level 4 --initial 'x' --restart half.state --end 0.2 --quiet
  refused --map 'x+y,y' --level 4 --initial 'x' --restart half.state --end 0.2 -- "or other widths, nodes"
  refused --map "$ring" -- "--map: give --initial, --rhs or boundaries as well"
  refused --map "$ring" --initial xl -- "known names: x, y, t, pi" "has no a, b, xl, xr, yl, yr"
  refused --map 'x,-y' --initial x -- "cell (0, 0) of the mesh is turned over"
  refused --map "$ring" --initial x --capacity 'x-1/2' --level 4 -- "the capacity must be positive; in cell"
  refused --map "$ring" --initial 'ln(x-1)' --level 4 -- "the initial value is"
  has_vtk || return 0
  rm ./*.json half.state
  run 0 --map "$ring" --level 4 --initial x --output-every 0.05 --vtk film.pvd --png u.png --quiet
  has_files film.pvd film_0000.vts film_0001.vts film_0002.vts u.png
  run 0 --mesh-file film_0000.vts --level 1 --initial x
  prints '^mesh +from film_0000.vts: 32 x 32 cells'
}

case_values_along_a_line_at_every_time() {
  run 0 "${small[@]}" --exact '1+2*x+3*y+t' --rhs 1 --dt 0.05 --output-every 0.1 --end 0.2 --probe 0,1,0.5,0,4:line.csv --quiet
  has_files line.csv
  python3 - <<'END' || fail "line.csv"
import csv, sys
rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(open("line.csv"))]
sys.exit([round(r["t"], 9) for r in rows] != [0] * 4 + [0.1] * 4 + [0.2] * 4
         or any(abs(r["u"] - (1 + 2 * r["x"] + 3 * r["y"] + r["t"])) > 1e-7 for r in rows))
END
  run 0 --map 'x+y/2,y' --level 4 --exact '1+2*x+3*y+t' --rhs 1 --probe 0.5,1,1,0,3:- --quiet
  [ "$(wc -l <.output)" -eq 7 ] || fail "not a line of names and three at two times"
  refused "${small[@]}" --initial x --probe 0,0,2,0,3:line.csv -- "--probe: (2, 0), point 3 of 3, is outside the domain"
  refused --map 'x+y/2,y' --initial x --probe 0,0,2,0,3:line.csv -- "is outside the domain"
}

case_restarts_are_the_uninterrupted_run() {
  local steps
  for steps in '--tol 1e-3' '--dt 0.013 --method crank-nicolson' '--dt 0.013 --method euler'; do
    # shellcheck disable=SC2086
    for kappa in 1 '1+x*t'; do
      local all=("${small[@]}" $steps --kappa "$kappa" --boundary 'sin(5*t)*x' --restart-every 0.1 --quiet)
      run 0 "${all[@]}" --end 0.4 --save whole.state --report whole.json
      run 0 "${all[@]}" --end 0.2 --save half.state
      run 0 "${all[@]}" --end 0.4 --restart half.state --save end.state --report end.json
      cmp -s whole.state end.state || fail "not the same bits"
      python3 -c '
import json, sys
a, b = json.load(open("whole.json")), json.load(open("end.json"))
sys.exit(any(a[k] != b[k] for k in ("heat", "steps", "cycles", "rejected", "t")))' || fail "not the same report"
    done
  done
}

case_films_go_on_after_a_restart() {
  needs_vtk
  local all=("${small[@]}" --output-every 0.05 --quiet)
  run 0 "${all[@]}" --end 0.1 --vtk film.pvd --save half.state
  run 0 "${all[@]}" --end 0.2 --vtk film.pvd --restart half.state
  [ "$(grep -c DataSet film.pvd)" -eq 5 ] || fail "film.pvd has not five pictures"
}

case_configurations() {
  run 0 "${small[@]}" --initial 'x*y' --end 0.3 --tol 1e-3 --print-config
  cp .output run.cfg
  run 0 --config run.cfg --quiet --report report.json
  check "r['end'] == 0.3 and r['tol'] == 1e-3 and r['initial'] == 'x*y'"
}

# --- what does not -------------------------------------------------------------------------------------------------------

case_times_and_steps() {
  refused --dt 0 -- "--dt: '0' is not a finite number above 0"
  refused --dt -1e-3 -- --dt
  refused --dt 1e-3x -- --dt
  refused --end 0 -- "--end: '0' does not come after the start, 0"
  refused --start 2 --end 1 -- "--end: '1' does not come after the start, 2"
  refused --end soon -- "--end: 'soon'"
  refused --tol 0 -- "--tol: '0' is not a number in (0, 1)"
  refused --tol 1 -- --tol
  refused --method euler --tol 1e-3 -- "--tol: only tr-bdf2 estimates errors, euler"
  refused --method euler -- "--dt: euler takes steps of one length; how long are they?"
  refused --method rk4 --dt 1 -- "--method: unknown name 'rk4'; known are euler, crank-nicolson, tr-bdf2"
  refused --dt 1e-15 -- "at most 10000000 are taken"
  refused --output-every 0 -- --output-every
  refused --output-every 1e-9 -- "more than 100000"
  refused --restart-every 0.1 -- "--restart-every: to what file?"
  refused --precision single -- "unknown name 'single'; known are mixed, double"
  refused --cycle fmg -- "unknown name 'fmg'"
  refused --solver gmres -- "unknown name 'gmres'"
}

case_expressions() {
  refused --initial 'x+' -- "--initial: expression 'x+'"
  refused --rhs 'sin(tt)' -- "--rhs: expression 'sin(tt)'" "known names: x, y, t, a, b"
  refused --capacity 0 --initial x -- "at t = 0: the capacity must be positive"
  refused --capacity '0.05-t' --cells 4,4 --initial x -- "at t = 0.05" "the capacity must be positive" "in cell (0, 0)"
  refused --kappa '0.05-t' --cells 4,4 --initial x -- "K must be positive definite"
  refused --rhs '1/(t-0.05)' --dt 0.05 --cells 4,4 -- "at t = 0.05: the right-hand side is"
  refused --initial 'ln(x-1/2)' -- "the initial value is"
  refused --left neumann:g -- "--left: expression 'g'"
  refused --left periodic -- periodic
  refused --code 5 --capacity file:nothing.npy -- nothing.npy
}

case_restart_files() {
  run 0 "${small[@]}" --end 0.1 --save run.state --quiet
  refused "${small[@]}" --end 0.1 --restart run.state -- "--end: '0.1' does not come after the restart file's t = 0.1"
  refused --cells 12,11 --end 1 --restart run.state -- "is of another mesh, 12 x 10 cells; this one has 12 x 11"
  refused "${small[@]}" --grade-x tanh:1,both --end 1 --restart run.state -- "or other widths"
  refused "${small[@]}" --left neumann --end 1 --restart run.state -- "kinds of boundaries"
  refused "${small[@]}" --method euler --dt 0.1 --end 1 --restart run.state -- "goes on with adaptive steps of tr-bdf2"
  refused "${small[@]}" --start 0.05 --end 1 --restart run.state -- "--start: '0.05' is not the start of the restart file, 0"
  refused "${small[@]}" --end 1 --restart run.state --save run.state -- "'run.state' is read by --restart"
  refused --code 5 "${small[@]}" --end 1 --restart no.state -- "cannot read 'no.state'"
  refused --code 5 "${small[@]}" --end 1 --restart /dev/zero -- "is no restart file"
  for bytes in 0 10 400 3000; do
    head -c $bytes run.state >cut.state
    refused --code 5 "${small[@]}" --end 1 --restart cut.state -- cut.state
  done
  head -c -1 run.state >cut.state
  refused --code 5 "${small[@]}" --end 1 --restart cut.state -- "is cut short or damaged"
  python3 -c '
data = bytearray(open("run.state", "rb").read())
data[len(data) // 2] ^= 1
open("cut.state", "wb").write(data)'
  refused --code 5 "${small[@]}" --end 1 --restart cut.state -- "is cut short or damaged"
  refused --code 5 "${small[@]}" --save no/such/folder.state -- "cannot write"
  refused --save - -- "--save: it is read again"
}

case_what_is_not_solved_is_said() {
  run 2 --mesh A5 --level 6 --initial 'x<1/2' --method euler --dt 0.1 --max-iterations 1 --report report.json
  prints '^status +max iterations: a step of 0.1 at t = 0 was not solved'
  check "r['exit_code'] == 2 and r['steps'] == 0"
  run 2 "${small[@]}" --max-steps 3 --quiet
  grep -q '3 steps have led to t = ' .errors || fail "does not say how far it came"
}

case_interrupted() {
  set -m
  local pid
  "$program" "${common[@]}" --level 8 --dt 1e-5 --end 1 --restart-every 1e-4 --save run.state --report report.json \
    >"$work/.output" 2>"$work/.errors" &
  pid=$!
  for _ in $(seq 200); do
    [ -s run.state ] && break
    sleep 0.05
  done
  kill -s INT $pid
  wait $pid
  [ $? -eq 130 ] || fail "does not end with 130"
  has_files run.state
  run 0 --level 8 --dt 1e-5 --end 3e-3 --restart run.state --max-steps 100000 --quiet
}

# du/dt of a jump times a long step: no digits of the heat would be left, which nothing damps between insulated walls.
case_steps_that_are_too_long_for_insulated_walls() {
  local jump=(--level 4 "${walls[@]}" --initial 'x<0.3?1:0' --vtk none --report report.json)
  for method in crank-nicolson tr-bdf2; do
    run 3 "${jump[@]}" --method "$method" --dt 1e9 --end 1e10
    says "du/dt is so large there that round-off"
    run 0 "${jump[@]}" --method "$method" --dt 100 --end 1000
    check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-8"
  done
  run 0 "${jump[@]}" --method euler --dt 1e9 --end 1e10
  check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12"
  # From u = 0 there is nothing to lose.
  run 0 --level 4 "${walls[@]}" --rhs 1 --method crank-nicolson --dt 1e9 --end 1e10 --vtk none --report report.json
  check "abs(r['heat'] / 1e10 - 1) < 1e-6"
}

# Short steps beside a wall that is suddenly hot: u < 0 with the consistent mass, and not with a lumped one.
case_lumped_mass_does_not_undershoot() {
  local sudden=(--left dirichlet:1 --right neumann --bottom neumann --top neumann --cells 32,4 --domain 1,0.125 --method euler --dt 1e-5
    --rtol 1e-11 --report report.json --probe 0,0.0625,1,0.0625,33:line.csv)
  range_of_u() {
    python3 -c "import csv; u = [float(row['u']) for row in csv.DictReader(open('line.csv'))]; assert $1, (min(u), max(u))" || fail "not $1"
  }
  run 0 "${sudden[@]}" --end 5e-5
  range_of_u "min(u) < -0.01"
  check "r['mass'] == 'consistent'"
  run 0 "${sudden[@]}" --end 5e-5 --mass lumped --save run.state
  range_of_u "-1e-9 < min(u) and max(u) < 1 + 1e-9"
  check "r['mass'] == 'lumped'"
  run 0 "${sudden[@]}" --restart run.state --end 6e-5
  grep -q "saved with other values of --mass" "$work/.errors" || fail "no warning"
  refused --mass diagonal -- "--mass: unknown name 'diagonal'" "consistent, lumped"
}

# Between plates a sine decays; a wall that closes a room keeps its heat.
case_bodies() {
  run 0 --level 5 --initial 'x>1/4 && x<3/4 ? sin(2*pi*(x-1/4)) : 0' --left neumann --right neumann "${walls[@]:4}" --tol 1e-6 --end 0.02 \
    --body 'x<1/4:value:0' --body 'x>3/4:value:0' --report report.json --probe 0,0.5,1,0.5,3:line.csv
  python3 -c "
import csv, math
u = [float(row['u']) for row in csv.DictReader(open('line.csv'))]
assert u[3] == 0 == u[5] and abs(u[4] / math.exp(-4 * math.pi**2 * 0.02) - 1) < 0.01, u" || fail "another decay"
  run 0 --level 5 --initial 'x<1/2' "${walls[@]}" --end 1 --body 'rectangle(1/2,0,5/8,1):no-flux' --report report.json --save run.state
  check "abs(r['heat'] - r['heat_at_first']) < 1e-12"
  run 0 --level 5 "${walls[@]}" --end 1.5 --body 'rectangle(1/2,0,5/8,1):no-flux' --initial 'x<1/2' --restart run.state
  says_nothing
  refused --level 5 "${walls[@]}" --end 2 --body 'rectangle(1/2,0,5/8,1):value:1' --initial 'x<1/2' --restart run.state -- "that boundaries and bodies hold"
  run 0 --level 5 "${walls[@]}" --end 1.5 --body 'rectangle(1/2,1/2,5/8,1):no-flux' --initial 'x<1/2' --restart run.state
  grep -q "saved with other values of --body" "$work/.errors" || fail "no warning"
  run 0 --level 4 --body 'x<0.3:value:1' --left dirichlet:0 --right neumann "${walls[@]:4}" --method euler --dt 0.1 --end 0.1
  says 'warning: at t = 0 a body and a boundary differ by 1 at \(0, 0\); there u has the value of the boundary'
  run 0 --level 3 --initial x --body 'rectangle(0.25,0.25,0.5,0.5):no-flux' --body 'rectangle(0.5,0.5,0.75,0.75):no-flux' --end 0.1 --dt 0.1
  says 'warning: solids without flux touch each other in corners alone at 1 node, \(0\.5, 0\.5\): there u leaks'
  run 0 --level 4 --initial x --left dirichlet:0 --right dirichlet:1 "${walls[@]:4}" --body 'abs(x-y)<1/32:k:1e-6' --end 1 --dt 0.1
  says 'warning: at t = 1 cells that conduct well touch each other in corners alone at 15 nodes'
  run 0 --discretisation fv --level 4 --body 'x<0.3:value:1' --left dirichlet:0 --right neumann "${walls[@]:4}" --method euler --dt 0.1 --end 0.1
  says 'warning: at t = 0 a body and a boundary differ by 1 at \(0, 0.*\); where they touch'
  refused --body 'x<t:value:1' -- "--body: the shape 'x<t' depends on the time"
  refused --level 5 --body '1:value:1' -- "no unknown is left"
  refused --level 5 --body 'disc(0.5,0.5,0.2):wall' -- 'is not SHAPE:KIND'
}

# A wall of layers comes to rest at the flux of its resistances; heat is kept, on cells; a run goes on with the same bits.
case_finite_volumes() {
  local fv=(--discretisation fv --report report.json)
  local layers=(--cells 7,3 --domain 7,1 --kappa 'x<3?1:x<4?0.01:10' --left dirichlet:0 --right dirichlet:1 --bottom neumann --top neumann
    --method euler --dt 1e6 --end 5e6)
  run 0 "${fv[@]}" "${layers[@]}" --probe 0,0.5,7,0.5,15:line.csv
  check "abs(r['fluxes'][0] - 1 / 103.3) < 1e-9 and abs(r['heat_gain']) < 1e-8 and abs(r['balance_difference']) < 1e-8"
  check "r['discretisation'] == 'fv' and r['unknowns'] == 21 and 'mass' not in r"
  prints '^flux +outward at the end: left 0\.0096'
  python3 -c "
import csv
u = [float(row['u']) for row in csv.DictReader(open('line.csv'))][-15:]
assert u[0] == 0 and u[-1] == 1 and abs(u[7] - 53 / 103.3) < 1e-8, u" || fail "other values"
  local keeps=("${fv[@]}" --cells 24,16 --initial 'x<1/2' "${walls[@]}" --kappa 1+x --body 'disc(0.6,0.5,0.2):no-flux' --tol 1e-3)
  run 0 "${keeps[@]}" --end 1 --restart-every 0.5 --save run.state
  check "abs(r['heat'] - r['heat_at_first']) < 1e-14"
  run 0 "${keeps[@]}" --end 2 --restart-every 0.5 --save through.state
  run 0 "${keeps[@]}" --end 2 --restart run.state --restart-every 0.5 --save joined.state
  says_nothing
  cmp through.state joined.state || fail "another state"
  refused "${keeps[@]:4}" --end 2 --restart run.state -- "is of another mesh"
  refused "${fv[@]:0:2}" --map x,y --rhs 1 -- "--discretisation fv: it is for rectangles; leave out --map"
  refused "${fv[@]:0:2}" --mass consistent -- "--mass: finite volumes have a diagonal"
  refused "${fv[@]:0:2}" --rhs 1 --kappa 1,0.5,1 -- "diagonal K"
  refused --discretisation fe -- "--discretisation: unknown name 'fe'"
  has_vtk || return 0
  run 0 "${fv[@]}" "${layers[@]}" --vtk film.pvd --png u.png
  python3 -c "
head = open('film_0001.vtr', 'rb').read(3000).decode('latin1')
assert head.index('<CellData') < head.index('\"u\"') < head.index('\"kappa\"') < head.index('</CellData>')" || fail "u is not on cells"
}

run_case "$2"
