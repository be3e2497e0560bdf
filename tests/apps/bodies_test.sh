#!/usr/bin/env bash
# bodies_test.sh POISSON2D CASE: bodies inside the domain, --body SHAPE:KIND.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)
walls=(--top neumann --bottom neumann)

case_conductors_give_off_what_boundaries_take() {
  run 0 --level 6 --rhs 1 --rtol 1e-11 --body 'disc(0.5,0.5,0.2):value:1+x' --body 'x > 0.8 && y < 0.3:no-flux' --vtk none --report report.json
  prints '^body 1      disc\(0\.5,0\.5,0\.2\):value:1\+x: [0-9]+ cells, area 0\.1[0-9]*, flux out of it '
  prints '^body 2      x > 0\.8 && y < 0\.3:no-flux: .* on its surface'
  check "r['bodies'][0]['kind'] == 'value' and r['bodies'][1]['kind'] == 'no-flux' and r['iterations'] <= 10"
  says_nothing
  check "abs(sum(r['fluxes']) - r['load_integral'] - r['bodies'][0]['flux']) < 1e-9 and abs(r['bodies'][1]['flux']) < 1e-9"
}

case_a_boundary_keeps_its_value() {
  run 0 --level 4 --rhs 0 --left dirichlet:2 --body 'x < 0.25 && y > 0.5:value:2' --vtk none
  says 'warning: a body and a boundary differ by 2 at \(0\.0625, 1\); there u has the value of the boundary'
}

case_shapes_by_all_names() {
  local plates='0 < x && x < 0.25'
  for shape in "$plates" 'rectangle(0,0,1/4,1)' 'polygon(0,0; 1/4,0; 1/4,1; 0,1)' 'x < 0.5 ? 0.25 - x : -1' file:mask.csv; do
    printf '1,0,0,0\n1,0,0,0\n1,0,0,0\n1,0,0,0\n' > mask.csv
    run 0 --cells 4,4 --level 2 --rhs 0 --right dirichlet:1 --left neumann "${walls[@]}" --body "$shape:value:0" --quiet --vtk none \
      --report report.json
    check "abs(r['bodies'][0]['flux'] + 4 / 3) < 1e-7 and r['bodies'][0]['area'] == 0.25"
  done
}

case_materials_and_contact_resistances() {
  run 0 --cells 8,2 --rhs 0 --left dirichlet:1 "${walls[@]}" --body 'rectangle(1/4,0,1/2,1):k:4,0,1' --body 'rectangle(1/4,0,1/2,1):contact:0.3' \
    --quiet --vtk none --report report.json
  check "abs(r['fluxes'][1] - 1 / (3 / 4 + 1 / 16 + 0.6)) < 1e-7"
}

case_errors_beside_exact_solutions() {
  run 0 --cells 16 --rhs 0 "${walls[@]}" --body 'x > 0.5:k:2' --exact 'x < 0.5 ? x*4/3 : 1-(1-x)*2/3' --quiet --vtk none --report report.json
  check "r['relative_l2_error'] < 1e-9 and r['relative_largest_error'] < 1e-9"
  run 0 --cells 16 --rhs 0 "${walls[@]}" --body 'y > 0.5:no-flux' --exact x --quiet --vtk none --report report.json
  check "r['relative_l2_error'] < 1e-9"
}

# A wall of low K along a diagonal holds 3e-8 back by finite volumes; with elements 0.887 flows through its corners.
case_cells_of_low_k_that_touch_in_a_corner_leak() {
  local wall=(--cells 16 --rhs 0 --left dirichlet:0 --right dirichlet:1 --bottom neumann --top neumann --vtk none --report report.json)
  for given in --body='abs(x-y)<.5/16:k:1e-9' --body='abs(x-y)<.5/16:contact:1e9' --kappa='abs(x-y)<.5/16 ? 1e-9 : 1'; do
    run 0 "${wall[@]}" "$given"
    says 'warning: cells that conduct well touch each other in corners alone at 15 nodes, the first of them \(0\.0625, 0\.0625\)'
    check "abs(r['fluxes'][0] - 0.886799) < 1e-5"
    run 0 "${wall[@]}" "$given" --discretisation fv --rtol 1e-12
    says_nothing
    check "abs(r['fluxes'][0]) < 1e-7"
  done
  run 0 "${wall[@]}" --body '-0.001 < x-y && x-y < 0.09:k:1e-9' --rtol 1e-12
  says_nothing
  check "abs(r['fluxes'][0]) < 1e-6"
  # One crossing where nothing is to flow from square to square: finite volumes differ by 1e-4.
  run 0 --rhs 1 --kappa '(x<0.46)==(y<0.54) ? 1 : 1e4' --level 7 --vtk none --report report.json
  says_nothing
  check "abs(r['maximum'] - 0.018) < 0.0002"
}

# The solids close two quadrants, one of which has f: nothing flows out of the other one.
case_solids_that_touch_in_a_corner_leak() {
  local two=(--cells 16 --rhs 'x<1/2 && y>1/2' --top neumann --left neumann --right dirichlet:0 --bottom neumann --vtk none --project
    --body 'rectangle(0,0,1/2,1/2):no-flux' --body 'rectangle(1/2,1/2,1,1):no-flux' --report report.json)
  run 0 "${two[@]}"
  says 'warning: solids without flux touch each other in corners alone at 1 node, \(0\.5, 0\.5\): there u leaks'
  [ "$(grep -c 'touch each other' "$work/.errors")" = 1 ] || fail "it is said several times"
  check "r['fluxes'][1] > 0.2"
  run 0 "${two[@]}" --discretisation fv
  says_nothing
  check "abs(r['fluxes'][1]) < 1e-9"
  run 0 "${two[@]}" --body 'rectangle(7/16,7/16,1/2,9/16):no-flux'
  says_nothing
  check "abs(r['fluxes'][1]) < 1e-9"
}

case_rooms_are_checked_one_by_one() {
  local room=(--level 4 --left neumann "${walls[@]}" --body 'rectangle(0.5,0,0.625,1):no-flux' --vtk none)
  run 0 --rhs 'x < 0.5 ? y - 0.5 : 1' "${room[@]}" --quiet
  refused --rhs 1 "${room[@]}" -- 'nothing holds u in the room of 128 cells around (0.03125, 0.03125)' '--project'
  run 0 --rhs 1 "${room[@]}" --project --quiet --report report.json
  check "abs(sum(r['fluxes']) - r['load_integral']) < 1e-8 and abs(r['load_integral'] - 0.375) < 1e-12"
}

case_nodes_of_solids_have_no_value() {
  run 0 --level 4 --rhs 1 --body 'rectangle(0.25,0.25,0.75,0.75):no-flux' --quiet --vtk u.npy
  python3 - << 'END' || fail "not nan inside alone"
import struct, math
data = open("u.npy", "rb").read()
n = struct.unpack("<H", data[8:10])[0] + 10
u = struct.unpack(f"<{17 * 17}d", data[n:])
inside = [4 < k % 17 < 12 and 4 < k // 17 < 12 for k in range(17 * 17)]
assert [math.isnan(v) for v in u] == inside
END
}

case_bodies_that_cannot_be() {
  local body=(--level 4 --rhs 1 --vtk none --body)
  refused "${body[@]}" 'disc(0.5,0.5,0.2)' -- '--body' 'is not SHAPE:KIND'
  refused "${body[@]}" 'disc(0.5,0.5,0.2):wall' -- '--body' 'is not SHAPE:KIND'
  refused "${body[@]}" 'disc(0.5,0.5):value:1' -- 'is not disc(x,y,r)'
  refused "${body[@]}" 'disc(0.5,0.5,x):value:1' -- "'x' is not a number"
  refused "${body[@]}" 'disc(0.5,0.5,0):value:1' -- 'the radius must be positive'
  refused "${body[@]}" 'polygon(0,0; 1,1):no-flux' -- 'three corners or more'
  refused "${body[@]}" 'disc(0.5,0.5,0.2):value' -- 'value needs a value'
  refused "${body[@]}" 'disc(0.5,0.5,0.2):no-flux:1' -- 'no-flux has no value'
  refused "${body[@]}" 'disc(0.5,0.5,0.2):contact:x' -- "'x' is not a number"
  refused "${body[@]}" 'disc(0.5,0.5,0.2):k:1,2' -- 'not three, KXX,KXY,KYY'
  refused "${body[@]}" 'disc(5,5,0.2):value:1' -- 'holds no cell' 'outside of the domain'
  refused "${body[@]}" '1:no-flux' -- 'no unknown is left'
  refused "${body[@]}" 'x<0.5:value:1' --body 'x<0.7:value:2' -- 'meet with different values'
  refused "${body[@]}" 'x<0.5:value:1' --cycle fmg -- 'full multigrid'
  refused "${body[@]}" 'x<0.5:no-flux' --precision single -- 'take mixed or double precision, not single'
  refused --level 4 --body 'x<0.5:value:1' -- '--body' '--rhs'
  printf '1,0,0\n1,0,0\n' > three.csv
  refused "${body[@]}" 'file:three.csv:no-flux' -- "'three.csv' has 3 x 2 numbers" '16 x 16 cells'
}

# ISO 10211, annex A: half of a square column, and concrete on insulation with a rail of aluminium in it. The standard gives
# temperatures to 0.1 degrees and the flow to 0.1 W/m.
case_iso_10211() {
  needs_numpy
  run 0 --domain 1,2 --cells 32,64 --rhs 0 --right neumann --top dirichlet:20 --quiet --vtk column.npy
  "$python" - << 'END' || fail "case A.1 has other temperatures"
import numpy as np
given = [[9.7, 13.4, 14.7, 15.1], [5.3, 8.6, 10.3, 10.8], [3.2, 5.6, 7.0, 7.5], [2.0, 3.6, 4.7, 5.0], [1.3, 2.3, 3.0, 3.2],
         [0.7, 1.4, 1.8, 1.9], [0.3, 0.6, 0.8, 0.9]]
found = np.load("column.npy")[::-8, 8::8][1:8]
assert abs(found - given).max() < 0.1, found
widths = lambda name, numbers: open(name, "w").write("\n".join(repr(v / 1000) for v in numbers))
x = [0.25] * 6 + [0.5] * 24 + [0.25] * 6
rest = [0.25 * 1.15**k for k in range(41)]
widths("x.txt", x + [v * 485 / sum(rest) for v in rest])
widths("y.txt", [0.25] * 6 + [1.0] * 33 + [0.5] + [0.25] * 6 + [0.5] * 22)
END
  for discretisation in elements fv; do
    run 0 --discretisation $discretisation --cells , --grade-x widths:x.txt --grade-y widths:y.txt --rhs 0 --left neumann --right neumann \
      --top robin:1/0.06,0 --bottom robin:1/0.11,20/0.11 --kappa 'y>0.0415 ? 1.15 : 0.029' --body 'rectangle(0,0.0365,0.015,0.0415):k:0.12' \
      --body 'y<0.0015 || x<0.0015 && y<0.0365 || x<0.015 && y<0.0365 && y>0.035:k:230' --quiet --vtk rail_$discretisation.npy --report report.json
    check "abs(r['fluxes'][3] - 9.5) < 0.05 and abs(sum(r['fluxes'])) < 1e-5 and r['iterations'] <= 10"
  done
  "$python" - << 'END' || fail "case A.2 has other temperatures"
import numpy as np
x, y = (np.concatenate([[0], np.cumsum(np.loadtxt(name))]) for name in ("x.txt", "y.txt"))
u = np.load("rail_elements.npy")
for px, py, t in [(0, 47.5, 7.1), (500, 47.5, 0.8), (0, 41.5, 7.9), (15, 41.5, 6.3), (500, 41.5, 0.8), (0, 36.5, 16.4), (15, 36.5, 16.3), (0, 0, 16.8),
                  (500, 1.5, 18.3)]:
    found = u[abs(y - py / 1000).argmin(), abs(x - px / 1000).argmin()]
    assert abs(found - t) < 0.06, (px, py, found, t)
END
}

run_case "$2"
