#!/usr/bin/env bash
# team20_test.sh PROGRAM CASE: the command line of team20.
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--spacing 7.7 --growth 1.45)
tetrahedra=(--element tetrahedra --spacing 12 --growth 2.4)

# --- what works ----------------------------------------------------------------------------------------------------------

case_counts_and_fields_on_hexahedra() {
  run 0 "${small[@]}" --report report.json
  prints '^unknowns +10151 of 13351 edges; the gradients of 3150 inner nodes'
  prints '^note .*permeability of 200'
  check "abs(r['iterations'] - 1646) <= 8 and r['source_check'] < 1e-17"
  check "abs(r['force'] + 5.520) < 1e-3 and abs(r['energy'] - 0.06394) < 1e-5 and abs(r['inductance'] - 2e-6 * r['energy']) < 1e-12"
  check "abs(r['bz_p1'] - 0.2533) < 1e-4 and abs(r['bz_p2'] - 0.1154) < 1e-4"
  check "abs(r['bz_pole'] - 0.5040) < 1e-4 and abs(r['bz_yoke'] + 0.0939) < 1e-4 and r['measured']['force'] == 8.1"
  run 0 "${small[@]}" --preconditioner jacobi --report report.json
  check "abs(r['energy'] - 0.06394) < 1e-5 and r['iterations'] < 400"
  has_files report.json
}

# Outer iterations: METHOD INNER-MAX PRECISION COUNT.
variable() {
  run 0 "${small[@]}" --method "$1" --inner-max "$2" --precision "$3" --report report.json
  check "abs(r['iterations'] - $4) <= 1 and r['relative_residual'] <= 1e-8 and r['inner_iterations'] <= $2 * r['iterations']"
}

case_variable_preconditioning_takes_the_outer_iterations_that_it_should() {
  variable vpcg 600 double 4
  variable vpcg 600 mixed 4
  variable vpgcr 300 double 6
  variable vpgcr 300 mixed 7
  variable vpgcr 200 mixed 10
  variable vpgmres 350 double 5
  variable vpgmres 350 mixed 6
  variable vpgmres 400 double 4
}

case_tetrahedra() {
  run 0 "${tetrahedra[@]}" --preconditioner jacobi --report report.json
  check "r['unknowns'] == 8397 and r['elements'] == 6 * r['boxes'][0] * r['boxes'][1] * r['boxes'][2]"
  check "r['source_check'] < 1e-17 and abs(r['force'] + 5.36) < 1e-2"
}

case_preconditioners() {
  for preconditioner in jacobi ic "block-ic --block-size 500" multigrid; do
    # shellcheck disable=SC2086
    run 0 "${small[@]}" --preconditioner $preconditioner --report report.json
    check "r['status'] == 'converged' and abs(r['energy'] - 0.06394) < 1e-5"
    # shellcheck disable=SC2086
    run 0 "${small[@]}" --method vpgcr --precision mixed --inner-tolerance 0.1 --preconditioner $preconditioner
  done
}

case_multigrid_takes_few_iterations() {
  for precision in double mixed; do
    for permeability in 200 100000; do
      run 0 "${small[@]}" --preconditioner multigrid --permeability $permeability --precision $precision --report report.json
      check "r['iterations'] <= 20"
    done
  done
}

case_the_curve_gives_what_was_measured() {
  run 0 --spacing 4.6 --curve --ampere-turns 3000 --preconditioner multigrid --precision mixed --report report.json
  check "r['iterations'] <= 8 and r['inner_iterations'] <= 60 and r['relative_residual'] <= 1e-8"
  check "all(abs(abs(r[k]) / m - 1) < (0.2 if k == 'force' else 0.05) for k, m in r['measured'].items() if k != 'bz_p2')"
  check "r['remark'] == '' and 1.7 < r['largest_b_in_steel'] < 2.3 and r['newton_steps'][-1] == 1"
  run 0 "${small[@]}" --curve --nonlinear anderson --preconditioner multigrid --report report.json
  check "r['iterations'] <= 25 and abs(r['force'] + 8.674) < 1e-2"
}

case_beyond_the_curve_it_says_so() {
  run 0 "${small[@]}" --curve --ampere-turns 50000 --preconditioner multigrid --report report.json
  prints '^note +.B. in the steel goes up to .* beyond'
  check "r['largest_b_in_steel'] > 2.3 and '2.16' in r['remark'] and 'measured' not in r"
}

case_gaps_with_more_cells() {
  run 0 "${small[@]}" --gap-cells 3 --preconditioner jacobi --report report.json
  check "r['boxes'] == [19, 10, 28] and r['status'] == 'converged'"
}

case_files() {
  run 0 "${small[@]}" --method vpgcr --quiet --history outer.csv --inner-history inner.csv --report report.json
  [ ! -s .output ] || fail "prints although quiet"
  [ "$(wc -l <outer.csv)" -eq 8 ] || fail "outer history"
  head -n 1 inner.csv | grep -qx 'solve,iteration,relative_residual' || fail "inner history"
  [ "$(tail -n 1 inner.csv | cut -d, -f1)" -eq 6 ] || fail "six inner solves"
  has_files inner.csv outer.csv report.json
  has_vtk || return 0
  run 0 "${small[@]}" --vtk field.vtu
  for array in '|B|' material B H J; do
    grep -aqF "Name=\"$array\"" field.vtu || fail "no array $array"
  done
  has_files field.vtu inner.csv outer.csv report.json
  has_pictures || return 0
  run 0 "${small[@]}" --quiet --png field.png
  head -c 4 field.png | grep -aq PNG || fail "no picture"
}

case_a_limit_is_no_success() {
  run 2 "${small[@]}" --max-iterations 5 --report report.json
  check "r['status'] == 'max iterations' and r['exit_code'] == 2 and r['force'] is None"
  ! grep -q '^force' .output || fail 'prints a force all the same'
}

# --- what is refused ------------------------------------------------------------------------------------------------------

case_bad_input() {
  refused --permeability 0 -- --permeability "'0'" "above 0"
  refused --permeability -200 -- --permeability "above 0"
  refused --ampere-turns 0 -- --ampere-turns "above 0"
  refused --spacing 0.01 -- --spacing "0.3"
  refused --growth 0.9 -- --growth "[1, 10]"
  refused --gap-cells 0 -- --gap-cells "1 .. 100"
  refused --element prism -- --element hexahedra tetrahedra
  refused --method wcg -- --method wcg gmres
  refused --method cg --inner cr -- --method "an inner solve varies"
  refused --curve --permeability 200 -- --permeability "--curve"
  refused --nonlinear newton -- --nonlinear "without --curve"
  refused --curve --damping 0.5 -- --damping anderson
  refused --inner-max 10 -- --inner-max "no inner solve"
  refused --precision mixed -- --precision "neither"
  refused --block-size 4 -- --block-size block-ic
  refused --code 5 --report no/report.json -- no/report.json
  refused --history same.csv --report same.csv -- same.csv
  if has_vtk; then refused --code 5 --vtk no/field.vtu -- no/field.vtu; fi
}

run_case "$2"
