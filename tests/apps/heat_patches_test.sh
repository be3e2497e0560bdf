#!/usr/bin/env bash
# heat_patches_test.sh PROGRAM CASE: runs one case of heat2d --patches; PROGRAM is poisson2d, beside it.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
program=$(dirname "$program")/heat2d

# u = exp(-t) (1 - r^2), by steps whose error is below that of the mesh.
case_an_error_that_falls_by_four() {
  disc
  local level
  for level in 0 1; do
    run 0 --patches disc.patches --level $level --exact 'exp(-t)*(1-x^2-y^2)' --rhs 'exp(-t)*(3+x^2+y^2)' --dt 0.01 --report $level.json
  done
  prints '^mesh +disc.patches: 5 patches, 8 inner edges, 1280 cells' '^problem +wall dirichlet:exp\(-t\)\*\(1-x\^2-y\^2\), rhs ' \
    '^time +tr-bdf2, steps of 0.01' '^flux +outward: wall 11\.' '^balance +11\..* of heat a unit of time, integral of f 9\.'
  python3 -c '
import json
coarse, fine = (json.load(open(f"{level}.json")) for level in (0, 1))
assert abs(coarse["relative_l2_error"] / fine["relative_l2_error"] - 4) < 0.3
assert abs(fine["fluxes"][0] + fine["heat_rate"] - fine["load_integral"]) < 1e-4' || fail "the order, or the balance"
}

# After a long time u is the solution of poisson2d; K of the file and of the command line, c, and a Robin boundary among it.
case_the_steady_state_is_that_of_poisson2d() {
  l_shape 8
  sed -i 's/c d g f/c d g f  K=5/' l_shape.patches
  local options=(--patches l_shape.patches --rhs 1+x --kappa 1+y*y --reaction 2+x --boundary 'lid=robin:3,y' --boundary wall=neumann
    --boundary corner=dirichlet:x --probe=-0.5,-0.5,0.5,0.5,9:line.csv --quiet)
  of poisson2d run 0 "${options[@]}" --vtk none --report report.json
  mv line.csv steady.csv
  mv report.json steady.json
  run 0 "${options[@]}" --initial 4 --capacity 3 --dt 50 --end 1000 --report report.json
  python3 - <<'END' || fail "another end state"
import csv, json
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))][-9:] for f in ("steady.csv", "line.csv"))
assert max(map(abs, u)) > 0.1 and all(abs(a - b) < 1e-6 for a, b in zip(u, v)), (u, v)
a, b = json.load(open("steady.json")), json.load(open("report.json"))
assert all(abs(p - q) < 1e-5 for p, q in zip(a["fluxes"], b["fluxes"])) and abs(b["heat_rate"]) < 1e-5
assert abs(a["reaction_integral"] - b["reaction_integral"]) < 1e-5
END
}

# With both masses; what walls keep stays.
case_walls_keep_the_heat() {
  l_shape 8
  local mass
  for mass in consistent lumped; do
    run 0 --patches l_shape.patches --boundary lid=neumann --boundary wall=neumann --boundary corner=neumann --initial 'x<0' \
      --capacity '1+4*(y>0)' --kappa '1+9*(y>0)' --mass $mass --dt 0.2 --end 1 --report report.json
    check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12 and r['mass'] == '$mass' and r['fluxes'] == [0, 0, 0]"
  done
}

case_files() {
  needs_vtk
  l_shape 8
  local options=(--patches l_shape.patches --initial 1 --boundary 'corner=dirichlet:sin(5*t)' --quiet)
  run 0 "${options[@]}" --end 0.2 --output-every 0.1 --vtk film.pvd --png u.png --probe=-0.5,0.5,0.5,0.5,3:line.csv
  has_files film.pvd film_0000 film_0000.vtm film_0000/0.vts film_0000/1.vts film_0000/2.vts film_0001 film_0001.vtm film_0001/0.vts \
    film_0001/1.vts film_0001/2.vts film_0002 film_0002.vtm film_0002/0.vts film_0002/1.vts film_0002/2.vts l_shape.patches line.csv u.png
  grep -q '<DataSet timestep="0.10000000000000001" part="0" file="film_0001.vtm"/>' film.pvd || fail "film.pvd"
  grep -q 'Name="u"' film_0002/1.vts && grep -q 'Name="kappa"' film_0002/1.vts || fail "no u, or no K"
  [ "$(wc -l <line.csv)" -eq 10 ] && [ "$(head -n 1 line.csv)" = t,x,y,s,u ] || fail "no three points at three times"
  rm -r film* u.png line.csv
  # In two parts: the same bits, and the same film.
  run 0 "${options[@]}" --end 0.2 --restart-every 0.1 --save whole.state
  run 0 "${options[@]}" --end 0.1 --save half.state --vtk film.pvd
  run 0 "${options[@]}" --end 0.2 --restart half.state --save end.state --output-every 0.1 --vtk film.pvd
  ! grep -q 'goes on' "$work/.errors" || fail "says something about what it goes on from"
  cmp whole.state end.state || fail "another state"
  [ "$(grep -c timestep film.pvd)" -eq 3 ] || fail "film.pvd: $(cat film.pvd)"
  run 0 "${options[@]}" --rhs 1 --end 0.2 --restart half.state
  says 'it was saved with other values of --rhs; this run goes on from its u'
  refused "${options[@]}" --level 1 --end 0.2 --restart half.state -- 'is of another mesh, 192 cells; this one has 768'
  refused "${options[@]}" --end 0.2 --restart half.state --save half.state -- "'half.state' is read by --restart"
  refused "${options[@]}" --vtk film.vtm -- "'film.vtm' must end in .pvd"
  refused "${options[@]}" --probe 0,0,1,-1,3:out.csv -- '(0.5, -0.5), point 2 of 3, is outside the domain'
}

# As one grid has them, with values that change; a run with them goes on from a file.
case_bodies() {
  square
  local bodies=(--body 'rectangle(0.25,0.25,0.5,0.625):value:sin(9*t)' --body 'rectangle(0.625,0.25,0.75,0.75):no-flux' --body 'y>0.8:k:5')
  local times=(--initial x --dt 0.01 --quiet)
  run 0 --cells 16 --left neumann:y "${bodies[@]}" "${times[@]}" --end 0.1 --probe 0,0.9,1,1,9:one.csv --report one.json
  run 0 --patches square.patches --boundary left=neumann:y "${bodies[@]}" "${times[@]}" --end 0.1 --probe 0,0.9,1,1,9:several.csv --report report.json \
    --save half.state
  python3 - <<'END' || fail "something else than one grid"
import csv, json
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))] for f in ("one.csv", "several.csv"))
assert len(u) == 18 and max(u[9:]) > 0.05 and all(abs(a - b) < 1e-6 for a, b in zip(u, v)), (u, v)
one, several = json.load(open("one.json")), json.load(open("report.json"))
assert [b["cells"] for b in several["bodies"]] == [24, 16, 48]
assert abs(sum(several["fluxes"]) + several["heat_rate"] - several["load_integral"]) < 1e-6
END
  run 0 --patches square.patches --boundary left=neumann:y "${bodies[@]}" "${times[@]}" --end 0.2 --restart half.state
  says_nothing
  refused --patches square.patches --initial 1 --body 'x>t:no-flux' -- "the shape 'x>t' depends on the time"
  refused --patches square.patches --initial 1 --body 'x>0.5:k:1+t' -- 'depends on the time; on patches K of bodies stays as it is'
  refused --patches square.patches --initial 1 --kappa 1+t --body 'x>0.5:k:2' -- 'depends on the time; on patches K does not where bodies change it'
}

# u = (1 + t)(x + 2y), linear in space and time: exact whatever K, c, the capacity and alpha are, if all are those of its time.
case_coefficients_that_change_with_time() {
  square
  local method
  for method in euler crank-nicolson tr-bdf2; do
    run 0 --patches square.patches --exact '(1+t)*(x+2*y)' --kappa 1+t --reaction t --capacity 2+t \
      --rhs '(2+t)*(x+2*y) + t*(1+t)*(x+2*y)' --boundary 'left=robin:3+t,-(1+t)^2+(3+t)*(1+t)*(x+2*y)' --boundary '(1+t)*(x+2*y)' \
      --method $method --dt 0.1 --end 0.5 --rtol 1e-10 --report report.json
    check "r['relative_l2_error'] < 1e-8"
  done
}

case_options_that_mean_nothing_there() {
  l_shape 8
  local option
  for option in '--smoother adi' '--mesh A3' '--left neumann' '--map x,y' '--domain 2,1' '--inner cycles:2'; do
    # shellcheck disable=SC2086 # a name and a value
    refused --patches l_shape.patches --initial 1 $option -- "${option% *}: it does not apply to a mesh of patches"
  done
  refused --patches l_shape.patches -- 'give --initial, --rhs, --exact or --boundary as well'
  refused --patches l_shape.patches --initial 1 --solver multigrid -- 'conjugate gradients'
  refused --patches l_shape.patches --initial 1 --cycle w -- '--cycle: on patches in time v, not w'
  refused --patches l_shape.patches --initial xl -- 'Unexpected token'
  refused --patches l_shape.patches --initial 1 --boundary top=neumann -- "the mesh has no boundary 'top'; it has corner, lid, wall"
  refused --patches l_shape.patches --initial 1 --capacity 0 -- '--capacity' 'above 0'
  refused --patches l_shape.patches --initial 1 --capacity x -- 'the capacity is -'
  refused --boundary 1 --boundary 2 -- 'is for --patches'
  run 0 --patches l_shape.patches --initial 1 --boundary lid=neumann:t --print-config
  cp .output again.cfg
  run 0 --config again.cfg
  prints 'lid neumann:t'
}

run_case "$2"
