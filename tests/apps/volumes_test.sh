#!/usr/bin/env bash
# volumes_test.sh POISSON2D CASE: --discretisation fv, against answers by hand and of another assembly.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)

solve() { run 0 --discretisation fv --report report.json "$@"; }

# Layers in series: exact on any mesh whose faces are the interfaces, and so is the flux.
case_layers_in_series_are_exact() {
  needs_numpy
  solve --cells 7,3 --domain 7,1 --rhs 0 --kappa 'x<3?1:x<4?0.01:10' --left dirichlet:0 --right dirichlet:1 --bottom neumann --top neumann \
    --vtk u.npy --probe 0,0.5,7,0.5,15:line.csv
  check "abs(r['fluxes'][0] - 1 / 103.3) < 1e-9 and abs(r['fluxes'][1] + 1 / 103.3) < 1e-9"
  check "r['discretisation'] == 'fv' and r['cells'] == [7, 3] and r['unknowns'] == 21 and r['hierarchy'][-1] == [7, 3]"
  "$python" - <<'PY' || fail "the values of cells are others"
import csv, numpy as np
u = np.load("u.npy")
resistance = np.array([1, 1, 1, 100, .1, .1, .1])
exact = (np.cumsum(resistance) - resistance / 2) / 103.3
assert u.shape == (3, 7) and abs(u - exact).max() < 1e-9, abs(u - exact).max()
line = [row["u"] for row in csv.DictReader(open("line.csv"))]
assert abs(float(line[0])) < 1e-12 and abs(float(line[-1]) - 1) < 1e-12 and abs(float(line[7]) - exact[3]) < 1e-9
PY
}

# Order 2, and the same of several right-hand sides.
case_of_second_order() {
  run 0 --discretisation fv --convergence-table 1..3 --grade-x tanh:2,last --cells 8 --rhs '-exp(x)*y^2-2*exp(x)' --exact 'exp(x)*y^2' \
    --report report.json --vtk none
  check "all(3.8 < a['relative_l2_error'] / b['relative_l2_error'] < 4.2 for a, b in zip(r['convergence_table'], r['convergence_table'][1:]))"
  run 0 --discretisation fv --convergence-table 3..6 --rhs 1 --report report.json --vtk none
  check "1.9 < r['convergence_table'][-1]['order'] < 2.1"
  solve --level 5 --rhs 1 --rhs 2 --vtk none
  check "len(r['right_hand_sides']) == 2 and abs(r['right_hand_sides'][1]['maximum'] / r['right_hand_sides'][0]['maximum'] - 2) < 1e-7"
}

case_singular_problems() {
  local walls=(--left neumann --right neumann --bottom neumann)
  solve --level 5 "${walls[@]}" --rhs 1 --top neumann:-1 --vtk none
  check "abs(r['minimum'] + 1 / 3) < 1e-2 and abs(r['fluxes'][3] - 1) < 1e-9"
  solve --level 3 "${walls[@]}" --rhs 0 --top neumann --exact 293 --vtk none
  check "max(r['relative_l2_error'], r['relative_largest_error'], r['relative_energy_error']) < 1e-9"
  refused --discretisation fv --level 4 "${walls[@]}" --rhs 1 --top neumann -- "incompatible data" "--project"
  solve --level 4 "${walls[@]}" --rhs 1+x --top neumann --project --vtk none
  # Loads that cancel leave a sum of rounding: no reason to warn of a balance.
  solve --cells 64,64 "${walls[@]}" --rhs x-1/2 --top neumann --vtk none
  says_nothing
}

case_writes_data_on_cells() {
  needs_vtk
  solve --level 3 --vtk u.vtr
  if has_pictures; then solve --level 3 --vtk none --png u.png; fi
  python3 - <<'PY' || fail "u.vtr has other fields"
import re
head = open("u.vtr", "rb").read(6000).decode("latin1")
cells = head[head.index("<CellData"):head.index("</CellData>")]
assert re.findall('Name="(\\w+)"', cells) == ["solution", "rhs", "exact", "error", "aspect_ratio"], cells
assert "NumberOfTuples" not in head[:head.index("<CellData")] or 'Name="solution"' not in head[:head.index("<CellData")]
PY
  # So is K, which is the same where it is read again.
  solve --level 3 --rhs 1 --kappa 1+x --vtk k.vtr
  cp report.json first.json
  solve --level 3 --rhs 1 --kappa file:k.vtr:kappa --vtk none
  check "r['maximum'] == json.load(open('first.json'))['maximum']"
  # What was written is read again as K, one number for each cell.
  run 0 --discretisation fv --level 3 --rhs 1 --kappa file:u.vtr:solution --vtk none
}

case_bodies() {
  needs_numpy
  local body=(--level 4 --rhs 1 --vtk none --body)
  # A wall with resistances on both of its surfaces; conductors; a solid, which has no u.
  solve --cells 8,2 --rhs 0 --left dirichlet:1 --top neumann --bottom neumann --body 'rectangle(1/4,0,1/2,1):k:4' \
    --body 'rectangle(1/4,0,1/2,1):contact:0.3' --vtk none
  check "abs(r['fluxes'][1] - 1 / (3 / 4 + 1 / 16 + 0.6)) < 1e-7"
  solve --level 6 --rhs 1 --rtol 1e-11 --body 'disc(0.5,0.5,0.2):value:1+x' --body 'x > 0.8 && y < 0.3:no-flux' --vtk u.npy
  prints '^body 2      x > 0\.8 && y < 0\.3:no-flux: .* flux out of it 0, .* on its surface'
  check "abs(sum(r['fluxes']) - r['load_integral'] - r['bodies'][0]['flux']) < 1e-9 and r['iterations'] <= 10"
  says_nothing
  "$python" - << 'END' || fail "other cells have no value"
import numpy as np
u = np.load("u.npy")
x = (np.arange(64) + 0.5) / 64
assert (np.isnan(u) == ((x > 0.8)[None, :] & (x < 0.3)[:, None])).all() and u[32, 32] == 1 + x[32]
END
  solve --rhs 0 --left dirichlet:2 --level 4 --body 'x < 0.25 && y > 0.5:value:3' --vtk none
  says 'warning: a body and a boundary differ by 3 at .*: what flows between them is not counted'
  solve --convergence-table 4..6 --rhs 1 --body 'x > 0.5 && y > 0.5 && x < 0.625:no-flux' --vtk none
  check "r['convergence_table'][-1]['order'] > 0.9"
  refused --discretisation fv "${body[@]}" 'x<0.5:value:1' --body 'x<0.7:value:2' -- 'meet with different values'
  refused --discretisation fv "${body[@]}" '1:no-flux' -- 'no unknown is left'
  refused --discretisation fv "${body[@]}" 'x<0.5:no-flux' --precision single -- 'take mixed or double precision, not single'
  refused --discretisation fv --level 4 --rhs 1 --left neumann --top neumann --bottom neumann --body 'rectangle(0.5,0,0.625,1):no-flux' \
    -- 'nothing holds u in the room of 128 cells around (0.03125, 0.03125)' '--project'
}

case_what_it_does_not_offer() {
  refused --discretisation volumes -- "unknown name 'volumes'" "elements, fv"
  for options in "--cycle fmg" "--operator tensor" "--map x,y --rhs 1" "--coordinates polar --rhs 1" "--interpolation split" "--precision double-single"; do
    # shellcheck disable=SC2086
    refused --discretisation fv --level 4 $options -- "--discretisation fv: "
  done
  refused --discretisation fv --level 4 --kappa 1,0.1,1 --rhs 1 -- "a diagonal K"
  run 0 --discretisation fv --level 4 --kappa 1,0,2 --rhs 1 --vtk none
  refused --discretisation fv --mesh A5 --right neumann --rhs 1 -- "loses about" "Take elements"
}

run_case "$2"
