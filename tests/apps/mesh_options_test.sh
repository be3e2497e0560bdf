#!/usr/bin/env bash
# mesh_options_test.sh PROGRAM CASE: runs one case of the mesh options of poisson2d.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
common+=(--vtk none)

solve() { run 0 --report report.json "$@" && check "r['status'] == 'converged' and r['relative_residual'] <= 1e-8"; }

# --- what works ----------------------------------------------------------------------------------------------------------

case_cells_of_any_size() {
  local cells
  for cells in 2,2 2,64 64,2 2,9 1000,2 3,5 4,6 48,20 97,101; do
    solve --cells $cells
    check "r['cells'] == [${cells/,/, }] and r['hierarchy'][-1] == r['cells'] and r['levels'] == len(r['hierarchy'])"
    check "r['unknowns'] == (r['cells'][0] - 1) * (r['cells'][1] - 1) and r['mesh'] == 'custom'"
  done
}

case_cells_in_other_words() {
  solve --cells 24
  check "r['cells'] == [24, 24]"
  solve --cells 20x30
  check "r['cells'] == [20, 30]"
}

case_the_hierarchy_is_reported() {
  solve --cells 48,20
  prints '^levels +6, x 48 to 2 cells, y 20 to 2 cells; the last has one unknown'
  check "r['hierarchy'] == [[2, 2], [3, 2], [6, 3], [12, 5], [24, 10], [48, 20]]"
  check "r['coarse_solver'] == 'one unknown'"
  solve --cells 97,101
  prints '^levels +7, x 97 to 2 cells, y 101 to 2 cells; the last has one unknown'
  solve --mesh A3 --level 5
  prints '^levels +5, x 32 to 2 cells, y 32 to 2 cells; the last has one unknown'
}

case_every_grading() {
  for grading in uniform geometric:1.1,last geometric:1.1,both geometric:h=1e-8,first tanh:3,both tanh:8,last cosine \
    cosine,first shishkin:0.01,first shishkin:1e-6,both; do
    solve --cells 40,36 --grade-x $grading
    check "r['grade_x'] == '$grading' and r['grade_y'] == 'uniform' and r['domain'] == [1, 1]"
    solve --cells 33,48 --grade-y $grading --domain 2,0.5
    prints "y $grading: 33 x 48 cells"
    check "abs(r['domain'][0] - 2) < 1e-15 and abs(r['domain'][1] - 0.5) < 1e-15"
  done
  solve --cells 40,36 --grade-x geometric:h=1e-8,first
  check "abs(r['smallest_width'] / 1e-8 - 1) < 1e-9"
}

case_lines_from_files() {
  printf '0 0.1 0.3 # left\n0.6, 1\n' >x.txt
  printf '1e-12\n1e-6\n0.5\n0.25\n0.25\n0.5\n' >y.txt
  solve --grade-x file:x.txt --grade-y widths:y.txt
  check "r['cells'] == [4, 6] and r['smallest_width'] == 1e-12 and abs(r['domain'][1] - 1.500001000001) < 1e-14"
  solve --grade-x file:x.txt --grade-y widths:y.txt --cells 4,6 --domain 1,
  solve --grade-x file:x.txt --grade-y tanh:2,both --cells ,12 --domain ,3
  check "r['cells'] == [4, 12] and r['domain'] == [1, 3]"
  # A uniform mesh from a file is the uniform mesh.
  python3 -c 'print(*[i / 16 for i in range(17)])' >u.txt
  solve --grade-x file:u.txt --grade-y file:u.txt
  cp report.json file.json
  solve --level 4
  check "r['relative_l2_error'] == json.load(open('file.json'))['relative_l2_error']"
}

case_origins() {
  refused --origin 1e30,0 -- "--origin: beside 1e+30 a side of length 1 vanishes in rounding"
  solve --origin 2,-1 --level 5
  prints '^mesh +U1 on \[2, 3\] x \[-1, 0\]'
  check "r['origin'] == [2, -1] and r['domain'] == [1, 1]"
  cp report.json moved.json
  solve --level 5
  check "r['history'] == json.load(open('moved.json'))['history'] and r['origin'] == [0, 0]"
  check "r['relative_l2_error'] == json.load(open('moved.json'))['relative_l2_error']"
  # u = sin(x) exp(y), where it lies.
  local harmonic=(--rhs 0 --exact 'sin(x)*exp(y)' --level 5)
  solve --mesh A2 --origin -0.5,1e1 "${harmonic[@]}"
  check "r['relative_l2_error'] < 1e-3"
  solve --mesh A2 --origin ,3 --rhs 'xl+yl-x-(y-3)' --level 4
  check "r['initial_residual'] < 1e-12"
  # Files of coordinates have their own.
  printf '%s ' 2 2.25 2.5 3 3.5 4 >x.txt
  solve --grade-x file:x.txt --cells ,8 "${harmonic[@]}"
  check "r['origin'] == [2, 0] and r['domain'] == [2, 1] and r['relative_l2_error'] < 1e-3"
  solve --grade-x file:x.txt --cells ,8 --origin 2,5 "${harmonic[@]}"
  check "r['origin'] == [2, 5]"
  refused --grade-x file:x.txt --cells ,8 --origin 1,0 -- --origin 'begins at 2'
  for value in '' 1 a,0 0,nan 1,2,3 inf,0; do refused --origin="$value" -- --origin; done
}

case_levels_halve_every_cell() {
  solve --cells 3,5 --level 4
  check "r['cells'] == [48, 80] and r['level'] == 4"
  run 0 --cells 6,8 --grade-x tanh:2,both --grade-y geometric:1.3,last --convergence-table 0..3 --report report.json
  prints '^ +3 +2961 .* (4\.0|3\.9)'
  check "len(r['convergence_table']) == 4 and r['cells'] == [48, 64]"
}

case_a_configuration_keeps_the_mesh() {
  run 0 --cells 40,36 --grade-x tanh:3,both --grade-y shishkin:0.01,first --print-config
  cp .output run.cfg
  solve --config run.cfg
  check "r['cells'] == [40, 36] and r['grade_x'] == 'tanh:3,both' and r['grade_y'] == 'shishkin:0.01,first'"
}

case_help_says_why_widths() {
  run 0 --help
  for words in '--cells' '--grade-x' '--grade-y' 'geometric:R,SIDE' 'shishkin:T,SIDE' 'widths:PATH' 'lost'; do prints "$words"; done
}

# --- bad input -----------------------------------------------------------------------------------------------------------

case_bad_cells() {
  for value in '' a a,b 4x 0,4 4,0 -1,4 4,2.5 4,5,6 99999999,4 ,; do refused --cells="$value" -- cells; done
  refused --cells 64, -- grade-y 'how many cells'
  refused --cells 4,4 --level 25 -- level
  refused --cells 4000000,4 --level 5 -- 4000000
}

case_bad_gradings() {
  for value in '' tanh tanh:3 geometric:0.5,last geometric:1.2,left cosine:3 spline:2,first tanh:x,both shishkin:0.7,first \
    geometric:h=0.5,last file: widths:; do
    refused --cells 8,8 --grade-x="$value" -- grade-x
    refused --cells 8,8 --grade-y="$value" -- grade-y
  done
  refused --grade-x tanh:3,both -- grade-x cells
  refused --cells 4000,4 --grade-x geometric:2,last -- grade-x width
  refused --cells 8,8 --grade-x spline -- spline geometric tanh cosine shishkin file widths first last both
}

case_bad_files() {
  refuse_file() {
    printf "$2" >line.txt
    refused --cells ,4 --grade-x "$1:line.txt" -- line.txt "${@:3}"
  }
  refuse_file file '' 'no coordinates'
  refuse_file file '0\n1\n0.5\n' 'line 3' 0.5
  refuse_file file '0 1 nan\n' nan
  refuse_file file '2 1\n' 'line 1' 'beyond'
  refuse_file widths '# none\n' 'no intervals'
  refuse_file widths '1\n0\n' 'line 2' "'0'"
  refuse_file widths '1\n-3\n' 'line 2' -3
  refuse_file widths '1\ntwo\n' 'line 2' two
  for path in missing.txt .; do
    run 5 --cells ,4 --grade-x file:$path
    grep -qE "'$path': (No such file|Is a)" .errors || fail "the message does not say what $path is"
  done
}

case_files_that_fail_while_they_are_read() {
  refused --code 5 --cells ,8 --grade-x widths:/proc/self/mem -- /proc/self/mem
  refused --cells ,8 --grade-x file:/dev/zero -- /dev/zero 'line 1'
  printf '\xef\xbb\xbf0 0.5 1\n' >bom.txt
  refused --code 5 --cells ,8 --grade-x file:bom.txt -- bom.txt byte-order
}

case_no_output_is_an_input() {
  echo 0.5 0.25 0.25 >x.txt
  ln -s x.txt link.txt
  refused --cells ,8 --grade-x widths:x.txt --report link.txt -- link.txt 'read by --grade-x'
  refused --cells ,8 --grade-x widths:link.txt --history x.txt -- x.txt 'read by --grade-x'
  [ "$(cat x.txt)" = '0.5 0.25 0.25' ] || fail "the widths have changed"
}

case_sides_are_found_exactly() {
  # The last of ten tenths lies at 1.
  for cells in 3 10 49 97 100; do
    run 0 --cells $cells,$cells --rhs 0 --boundary 'x==a ? 1 : 0' --report report.json
    check "r['initial_residual'] > 0.1"
    run 0 --cells $cells,$cells --domain 0.1,0.7 --grade-y cosine --rhs 0 --boundary 'y==b ? 1 : 0' --report report.json
    check "r['initial_residual'] > 0.01"
  done
}

case_contradictions() {
  echo '1 1 1' >w.txt
  refused --mesh A3 --cells 4,4 -- A3
  refused --mesh A3 --grade-x cosine --cells 4,4 -- A3
  refused --nu 0.5 --cells 4,4 -- nu cells
  refused --thin last,first --cells 4,4 -- thin
  refused --cells 4,4 --grade-x widths:w.txt -- 3 4
  refused --cells ,4 --domain 2,1 --grade-x widths:w.txt -- 3 2
}

case_widths_beyond_float_name_the_way_out() {
  refused --cells 64,8 --grade-x geometric:h=1e-60,last -- double
  run 0 --cells 64,8 --grade-x geometric:h=1e-12,last --precision double
}

run_case "$2"
