#!/usr/bin/env bash
# patches_test.sh PROGRAM CASE: runs one case of poisson2d --patches.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

case_an_error_that_falls_by_four() {
  disc
  run 0 --patches disc.patches --rhs 1 --exact '(1-x^2-y^2)/4' --convergence-table 1..3 --report report.json --vtk none
  check "r['status'] == 'converged' and r['patches'] == 5 and r['inner_edges'] == 8 and r['iterations'] <= 9"
  check "all(abs(a['relative_l2_error'] / b['relative_l2_error'] - 4) < 0.15
    for a, b in zip(r['convergence_table'], r['convergence_table'][1:]))"
  run 0 --patches disc.patches --rhs 1 --exact '(1-x^2-y^2)/4' --level 3 --cycle fmg --report report.json --vtk none
  check "r['relative_l2_error'] < 1.2 * 7e-4 and r['iterations'] == 1"
}

case_conditions_by_name() {
  l_shape 16
  # u = x + 2 y: on the lid n.grad u = 2, in the corner u is given, elsewhere n.grad u + u has what it has.
  run 0 --patches l_shape.patches --rhs 0 --exact 'x+2*y' --boundary lid=neumann:2 --boundary corner=dirichlet \
    --boundary 'wall=robin:1,x+2*y+(x<=-1 ? -1 : x>=1 ? 1 : -2)' --vtk none --report report.json
  check "r['relative_l2_error'] < 1e-8 and [b['name'] for b in r['boundaries']] == ['corner', 'lid', 'wall']"
  prints 'problem   corner dirichlet:x\+2\*y, lid neumann:2, wall robin:1,' '^flux +outward: corner .*, lid -4, wall .*'
  check "abs(sum(r['fluxes']) + r['reaction_integral'] - r['load_integral']) < 1e-7 and abs(r['fluxes'][1] + 4) < 1e-9"
  # What flows in and out cancels through a boundary of one name: no sign of a bad solution.
  grep -v 'corner$\|lid$' l_shape.patches >one_name.patches
  run 0 --patches one_name.patches --rhs 0 --exact 'x+2*y' --vtk none
  prints '^flux +outward: wall '
  says_nothing
  # Nor are an f and a reaction that cancel.
  printf '%s\n' 'cells 16' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' 'e 2 0' 'f 2 1' patches 'a b c d' 'b e f c' \
    boundaries 'd a left' '* wall' >two.patches
  local options
  for options in '--boundary left=dirichlet' '--boundary left=dirichlet:1 --kappa 1+x*x' \
    '--boundary left=neumann --reaction 1' '--boundary left=neumann --reaction 1+x*y'; do
    # shellcheck disable=SC2086
    run 0 --patches two.patches --rhs x-1 --boundary wall=neumann $options --vtk none
    says_nothing
  done
  # One value for all others; K by cells, and c.
  run 0 --patches l_shape.patches --rhs '2+x' --kappa 3 --reaction 1 --boundary '2+x' --boundary lid=dirichlet:2+x --vtk none \
    --exact '2+x' --report report.json
  check "r['relative_l2_error'] < 1e-8 and abs(r['minimum'] - 1) < 1e-8 and abs(r['maximum'] - 3) < 1e-8"
  refused --patches l_shape.patches --rhs 0 --boundary top=neumann -- "the mesh has no boundary 'top'; it has corner, lid, wall"
  refused --patches l_shape.patches --rhs 0 --boundary lid=neumann --boundary lid=neumann:1 -- "two conditions for 'lid'"
  refused --patches l_shape.patches --rhs 0 --boundary lid=periodic -- 'boundaries of patches cannot be periodic'
  refused --patches l_shape.patches --rhs 0 --boundary 1 --boundary 2 -- "'1' and '2' are both the value of all boundaries"
  refused --patches l_shape.patches --rhs 1 --boundary lid=neumann --boundary wall=neumann --boundary corner=neumann -- --project
}

case_warnings_of_rectangles() {
  printf '%s\n' 'cells 16' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' patches 'a b c d' boundaries 'd a left' 'b c right' '* wall' >one.patches
  printf '%s\n' 'cells 16' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' 'e 2 0' 'f 2 1' patches 'a b c d' 'b e f c' \
    boundaries 'd a left' 'e f right' '* wall' >two.patches
  local mesh ends=(--boundary left=dirichlet:1 --boundary right=dirichlet:0)
  for mesh in one two; do
    run 0 --patches $mesh.patches --rhs 0 "${ends[@]}" --boundary wall=neumann --vtk none
    says_nothing
    # Kinks of K are no layers.
    run 0 --patches $mesh.patches --rhs 0 "${ends[@]}" --boundary wall=neumann --kappa 'x>0.125 && x<0.1875 ? 0.001 : 1' --vtk none
    says_nothing
    run 0 --patches $mesh.patches --rhs 0 "${ends[@]}" --boundary wall=neumann --reaction 1e6 --vtk none
    says 'the solution changes by 100 % of its range between the neighbouring nodes \(0.0625, .*\) and \(0, .*\): the mesh does not resolve it there'
    run 0 --patches $mesh.patches --rhs 0 "${ends[@]}" --boundary wall=dirichlet:3 --vtk none
    says "the boundaries 'right' and 'wall' differ by 3 at their corner \\([12], 0\\); it has the value of 'right'"
    run 0 --patches $mesh.patches --rhs 'abs(x-0.53)<0.001 && abs(y-0.5)<0.001 ? 1e6 : 0' --vtk none
    says 'the right-hand side is zero at all (4096|8192) points where it is taken, as all data are: so u is zero'
    run 0 --patches $mesh.patches --rhs 0 --boundary 'left=dirichlet:abs(y-0.53)<0.01 ? 100 : 0' --vtk none
    says "u of boundary 'left' is zero at all nodes, but 100 at \\(0, 0.52"
    run 0 --patches $mesh.patches --rhs 0 --boundary 'left=neumann:abs(y-0.53)<0.003 ? 100 : 0' --vtk none
    says "g of boundary 'left' is zero at all 64 points where it is taken, but 100 at \\(0, 0.5"
    of heat2d run 0 --patches $mesh.patches "${ends[@]}" --boundary 'wall=dirichlet:3*t' --start 1 --end 1.01 --vtk none
    says "at t = 1 the boundaries 'right' and 'wall' differ by 3 at their corner"
  done
}

case_a_reaction_that_jumps_in_cells() {
  # Means of c and of f, as on a rectangle, which has the same errors. Values at centres gave 1.5e-1, 1.8e-1 and 3.8e-2.
  printf '%s\n' 'cells 4' vertices 'a 0 0' 'b 0.5 0' 'c 0.5 0.5' 'd 0 0.5' 'e 1 0' 'f 1 0.5' 'g 0 1' 'h 0.5 1' 'i 1 1' \
    patches 'a b c d' 'b e f c' 'd c h g' 'c f i h' boundaries '* wall' >four.patches
  local u='sin(pi*x)*sin(pi*y)' c='1000*(x<0.33)'
  run 0 --patches four.patches --rhs "(2*pi^2+$c)*$u" --exact "$u" --reaction "$c" --convergence-table 1..3 --report report.json --vtk none
  check "all(abs(level['relative_l2_error'] / error - 1) < 1e-5 for level, error in
    zip(r['convergence_table'], [1.2900560e-02, 4.3065515e-03, 6.6590113e-04]))"
  run 0 --patches four.patches --level 3 --rhs "(2*pi^2+$c)*$u" --exact "$u" --reaction "$c" --report report.json --vtk none
  check "abs(sum(r['fluxes']) + r['reaction_integral'] - r['load_integral']) < 1e-6"
  says_nothing
}

case_files() {
  needs_vtk
  l_shape 16
  run 0 --patches l_shape.patches --rhs 1 --kappa 2 --probe=-0.5,0.5,0.5,0.5,3:line.csv --png picture.png --quiet --report report.json
  has_files l_shape.patches line.csv picture.png poisson2d_l_shape_L0 poisson2d_l_shape_L0.vtm poisson2d_l_shape_L0/0.vts \
    poisson2d_l_shape_L0/1.vts poisson2d_l_shape_L0/2.vts report.json
  [ "$(wc -l <line.csv)" -eq 4 ] || fail "no three points"
  # The nodes that were written make the same mesh, and the same solution.
  run 0 --patches poisson2d_l_shape_L0.vtm --rhs 1 --kappa 2 --probe=-0.5,0.5,0.5,0.5,3:again.csv --quiet --vtk again.vtm
  python3 -c '
import csv
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))] for f in ("line.csv", "again.csv"))
assert all(abs(a - b) < 1e-7 for a, b in zip(u, v)), (u, v)' || fail "another solution"
  grep -q patch poisson2d_l_shape_L0/1.vts || fail "no cell field 'patch'"
  refused --patches l_shape.patches --rhs 1 --probe 0,0,1,-1,3:out.csv -- '(0.5, -0.5), point 2 of 3, is outside the domain'
  refused --patches l_shape.patches --rhs 1 --vtk out.vtr -- "'out.vtr' must end in .vtm"
}

# They are those of one grid with the same cells: tests/patches/bodies_test.cpp.
case_bodies() {
  square
  local bodies=(--body 'rectangle(0.25,0.25,0.5,0.625):value:1+x' --body 'polygon(0.625,0.25; 0.75,0.25; 0.75,0.75; 0.625,0.75):no-flux'
    --body 'y>0.8:k:5')
  run 0 --cells 16 --rhs 1 --left neumann:y "${bodies[@]}" --vtk none --probe 0,0.9,1,1,9:one.csv --report one.json
  run 0 --patches square.patches --rhs 1 --boundary left=neumann:y "${bodies[@]}" --vtk none --probe 0,0.9,1,1,9:several.csv --report report.json
  prints '^mesh +square.patches: [0-9]+ patches' '^ +216 quadrilaterals in ' '^body 1 +rectangle\(0.25,0.25,0.5,0.625\):value:1\+x: 24 cells' \
    '^body 3 +y>0.8:k:5: 48 cells' '^flux +outward: left -0.5, wall .*, body 1 -'
  check "[b['name'] for b in r['boundaries']] == ['left', 'wall', 'body 1', 'body 2'] and [b['cells'] for b in r['bodies']] == [24, 16, 48]"
  python3 - <<'END' || fail "something else than one grid"
import csv, json
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))] for f in ("one.csv", "several.csv"))
assert max(u) > 0.1 and all(abs(a - b) < 1e-6 for a, b in zip(u, v)), (u, v)
one, several = json.load(open("one.json")), json.load(open("report.json"))
assert abs(one["bodies"][0]["flux"] + several["fluxes"][2]) < 1e-5 and several["fluxes"][3] == 0, (one["bodies"], several["fluxes"])
END
  refused --patches square.patches --rhs 1 --body 'disc(0.5,0.5,0.3):contact:1' -- 'its surface crosses the cell at' 'put edges of patches on the surface'
  run 0 --patches square.patches --rhs 1 --level 4 --body 'disc(0.5,0.5,0.3):no-flux' --vtk none
  prints '^mesh +square.patches: 4508 patches' '^iterations +([5-9]|1[0-2])$'
  refused --patches square.patches --rhs 1 --body 'disc(0.5,0.5,0.3):no-flux' --probe 0,0,1,1,3:line.csv --vtk none -- '(0.5, 0.5), point 2 of 3'
}

# Resistances along lines of the mesh, tensors, and lists of cells for shapes.
case_bodies_that_change_k_or_have_masks() {
  square
  local bodies=(--body 'rectangle(-1,0.25,2,0.625):contact:0.5' --body 'rectangle(-1,0.25,2,0.625):k:10' --body 'disc(0.5,0.8,0.15):k:3,1,2')
  run 0 --cells 16 --rhs 1 --left neumann:y "${bodies[@]}" --vtk none --probe 0,0.9,1,0.1,9:one.csv
  run 0 --patches square.patches --rhs 1 --boundary left=neumann:y "${bodies[@]}" --vtk none --probe 0,0.9,1,0.1,9:several.csv --report report.json
  check "[b['kind'] for b in r['bodies']] == ['contact', 'k', 'k'] and [b['name'] for b in r['boundaries']] == ['left', 'wall']"
  python3 - <<'END' || fail "something else than one grid"
import csv
u, v = ([float(r["u"]) for r in csv.DictReader(open(f))] for f in ("one.csv", "several.csv"))
assert max(u) > 0.1 and all(abs(a - b) < 1e-6 for a, b in zip(u, v)), (u, v)
END
  # The first of the patches is left out; the mask is of the mesh of the file.
  python3 -c "
import itertools
cells = [int(c) for c in '$(sed -n 's/^cells //p' square.patches)'.split()]
print(','.join(['1'] * cells[0] ** 2 + ['0'] * 3 * cells[0] ** 2))" >mask.csv
  run 0 --patches square.patches --rhs 1 --level 1 --body file:mask.csv:no-flux --vtk none --report report.json
  check "r['bodies'][0]['cells'] * 4 == r['cells'] + r['bodies'][0]['cells']"
  printf '1,0,1\n' >short.csv
  refused --patches square.patches --rhs 1 --body file:short.csv:no-flux -- 'its mask has 3 numbers; one for each cell'
  printf '1,0\n1,0\n' >table.csv
  refused --patches square.patches --rhs 1 --body file:table.csv:no-flux -- 'a mask is one list of a number for each cell'
  refused --patches square.patches --rhs 1 --body file:mask.csv:contact:1 -- 'the surface of a shape, which a mask does not tell'
  refused --patches square.patches --rhs 1 --body 'disc(0.5,0.5,0.3):value:file:mask.csv' -- 'with --patches it is an expression, not a file'
}

# Two squares that do not touch: the left one has nothing that says how large u is.
case_parts_that_do_not_meet() {
  printf '%s\n' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' 'e 2 0' 'f 3 0' 'g 3 1' 'h 2 1' patches 'a b c d' 'e f g h' boundaries 'e f g h e right' \
    '* left' >parts.patches
  refused --patches parts.patches --rhs 1 --boundary left=neumann -- 'the mesh has 2 parts that do not meet, and no boundary of the one at (0, 0)'
  run 0 --patches parts.patches --rhs 1 --boundary left=robin:1,0 --vtk none
  run 0 --patches parts.patches --rhs 1 --boundary left=neumann --reaction 1 --vtk none
}

case_one_patch_as_a_rectangle() {
  printf '%s\n' 'cells 32' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' patches 'c d a b' edges 'a b grade=geometric:h=1e-6,first' \
    boundaries 'd a left' '* wall' >one.patches
  local cycle
  for cycle in 'v' 'fmg --rtol 1e-9'; do
    # shellcheck disable=SC2086
    run 0 --patches one.patches --rhs 1 --boundary left=neumann:y --cycle $cycle --vtk none --history patch.csv --report report.json
    prints '^levels .*, 1 unknowns; the patch is solved as a rectangle$' '^flux +outward: left -0.5, wall '
    check "r['solved_as'] == 'a rectangle' and abs(sum(r['fluxes']) - 1) < 1e-6"
    # shellcheck disable=SC2086
    run 0 --cells 32 --grade-x geometric:h=1e-6,first --rhs 1 --left neumann:y --solver cg --cycle $cycle --vtk none \
      --history rectangle.csv
    cmp patch.csv rectangle.csv || fail "the histories differ"
  done
}

case_options_that_mean_nothing_there() {
  l_shape 16
  for option in '--smoother adi' '--mesh A3' '--left neumann' '--map x,y' '--domain 2,1' '--operator symmetric' '--deflate auto'; do
    # shellcheck disable=SC2086 # a name and a value
    refused --patches l_shape.patches --rhs 1 $option -- "${option% *}: it does not apply to a mesh of patches"
  done
  refused --patches l_shape.patches -- 'give --rhs as well'
  refused --patches l_shape.patches --rhs 1 --rhs 2 -- 'one right-hand side, not 2'
  refused --patches l_shape.patches --rhs 1 --solver gmres -- 'conjugate gradients'
  refused --patches l_shape.patches --rhs 1 --cycle w -- 'v or fmg'
  refused --patches l_shape.patches --rhs xl -- "Unexpected token"
  refused --patches l_shape.patches --rhs 1 --convergence-table 0..1 -- 'it needs the exact solution'
  refused --boundary 1 --boundary 2 -- 'is for --patches'
  refused --code 5 --patches nothing.patches --rhs 1 -- "cannot read 'nothing.patches'"
  run 0 --patches l_shape.patches --rhs 1 --boundary lid=neumann:1 --boundary wall=dirichlet:0 --print-config
  cp .output again.cfg
  run 0 --config again.cfg --vtk none
  prints 'lid neumann:1'
}

case_meshes_that_are_refused() {
  l_shape 16
  while IFS='|' read -r change words; do
    sed "$change" l_shape.patches >wrong.patches
    refused --patches wrong.patches --rhs 1 -- "--patches: 'wrong.patches'" "$words"
    rm wrong.patches
  done <<'END'
s/a b d c/a b d/|line 12: a patch has four vertices; triangles cannot be patches
s/a b d c/a d b c/|of patch 0 is turned over, folded or has no area
s/d e  grade/f g  grade/|line 17: edge f g has another grading than
s/d e  grade=.*/f g  cells=17\n  a b  cells=18/|line 18: edge a b has 18 cells, but
s/\* wall//|boundary edges have no name
s/c d  grade/b d  arc=0,-0.5 grade/|an arc of half a turn
s/c d  grade/c d  curve=t,x grade/|expression 'x'
s/geometric:h=1e-4,last/geometric:h=1,last/|must be positive and at most
END
}

run_case "$2"
