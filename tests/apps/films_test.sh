#!/usr/bin/env bash
# films_test.sh POISSON2D CASE: films a million times as long as thick, insulated at their faces. What flows along them is 1e-12 of the
# entries of a matrix.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)
faces=(--top neumann --bottom neumann)
ends=(--left dirichlet:293 --right dirichlet:294)
thin=(--domain '1,1e-6' "${faces[@]}" --vtk none --report report.json)
film=("${thin[@]}" "${ends[@]}")
slab=(--body 'rectangle(0,0.25e-6,1,0.75e-6):no-flux')        # all along: half of the film is left
solid=(--body 'rectangle(0.25,0.25e-6,0.75,0.75e-6):no-flux') # in the middle: a resistance of 1.5
fv=(--discretisation fv)

# fluxes LEFT RIGHT, of what one unit of u over a film without a solid gives.
fluxes() { check "abs(r['fluxes'][0] / 1e-6 - ($1)) < 1e-5 and abs(r['fluxes'][1] / 1e-6 - ($2)) < 1e-5"; }

case_elements_beside_solids() {
  run 0 --level 4 --rhs 1 "${film[@]}" "${slab[@]}"
  says_nothing
  check "r['precision'] == 'double'"
  fluxes 0.75 -0.25
  run 0 --level 5 --rhs 0 "${film[@]}" "${solid[@]}"
  fluxes 2/3 -2/3
  run 0 --level 5 --rhs 1 "${film[@]}" "${solid[@]}"
  fluxes 2/3+3/8 -2/3+3/8
}

case_elements_beside_held_bodies() {
  run 0 --level 4 --rhs 1 "${film[@]}" --body 'rectangle(0.5,0,1,1e-6):value:293.5' --quiet
  check "abs(r['fluxes'][0] / 1e-6 - 1.25) < 1e-5"
}

# A face of cells beside the solid is half of a film, too: 9 of 16 widths.
case_finite_volumes() {
  run 0 --level 4 --rhs 1 "${film[@]}" "${fv[@]}"
  says_nothing
  fluxes 1.5 -0.5
  run 0 --level 4 --rhs 0 "${film[@]}" "${fv[@]}" "${solid[@]}"
  fluxes 16/25 -16/25
}

# Cycles in double are said to be that.
case_headings_of_steps() {
  for what in "${slab[*]}" "${fv[*]} ${slab[*]}"; do
    # shellcheck disable=SC2086
    of heat2d run 0 --cells 16 --initial 293+x*x --dt 0.1 --end 0.1 "${thin[@]}" "${ends[@]}" $what
    prints '^solver .*; double precision, symmetric operator'
    check "r['precision'] == 'double'"
  done
  of heat2d run 0 --cells 16 --initial 293+x*x --dt 0.1 --end 0.1 --vtk none --report report.json
  prints '^solver .*; mixed precision'
  check "r['precision'] == 'mixed'"
}

# At rest u is linear.
case_steps_in_time() {
  at_rest() { of heat2d run 0 --cells 16 --initial 293+x*x --tol 1e-5 --end 50 "${thin[@]}" "$@"; }
  for what in "${slab[*]}" "--mass lumped" "--mass lumped ${slab[*]}" "${fv[*]}" "${fv[*]} ${slab[*]}"; do
    # shellcheck disable=SC2086
    at_rest $what "${ends[@]}" --probe 0.125,0,0.875,0,13:line.csv
    says_nothing
    python3 -c "
import csv
last = list(csv.DictReader(open('line.csv')))[-13:]
assert all(abs(float(p['u']) - 293 - float(p['x'])) < 2e-3 for p in last), last" || fail "$what: not at rest"
  done
  check "abs(r['fluxes'][0] / 5e-7 - 1) < 5e-3 and abs(r['fluxes'][1] / 5e-7 + 1) < 5e-3"
  # Without ends it is the mean, and heat is kept.
  for what in "${solid[*]}" "--mass lumped" "${fv[*]}"; do
    # shellcheck disable=SC2086
    at_rest $what --left neumann --right neumann --probe 0.125,0,0.875,0,2:line.csv
    check "abs(r['heat'] / r['heat_at_first'] - 1) < 1e-12"
    python3 -c "
import csv
first, last = [float(p['u']) for p in csv.DictReader(open('line.csv'))][-2:]
assert abs(first - last) < 2e-3, (first, last)" || fail "$what: not at rest"
  done
}

# A step of 50 leaves a hundredth of a sine at most. That u is 293 and zeros stand in the solid is no reason to leave more, and
# what solves leave is no reason to reject steps: as many are taken as of a square without a solid.
case_steps_beside_solids_are_solved() {
  step() { of heat2d run 0 --cells 16 --end 50 "${thin[@]}" "${ends[@]}" --probe 0.46875,0.125e-6,0.53125,0.125e-6,2:line.csv "$@"; }
  for what in "${slab[*]}" "${fv[*]} ${slab[*]}"; do
    # shellcheck disable=SC2086
    step $what --initial '293+x+0.001*sin(pi*x)' --tol 1e-5
    python3 -c "
import csv
last = list(csv.DictReader(open('line.csv')))[-2:]
assert all(abs(float(p['u']) - 293 - float(p['x'])) < 3e-5 for p in last), last" || fail "$what: not solved"
    # shellcheck disable=SC2086
    step $what --initial '293+x*x' --tol 1e-7
    check "r['steps'] < 90 and r['rejected'] < 30"
  done
}

# Whether an alpha varies along its boundary at the start, or later, u is the same: cells, which are differences, cannot hold it.
case_robin_coefficients_that_vary_later() {
  local at
  for at in t 't+1e-9'; do
    of heat2d run 0 --cells 16 --initial 293+x*x --method euler --dt 0.1 --end 0.5 --rtol 1e-10 --domain 1,1e-4 --top neumann "${ends[@]}" \
      --bottom "robin:1e-4*(1+x*($at)),0" --body 'rectangle(0,0.25e-4,1,0.75e-4):no-flux' --vtk none --report report.json
    check "abs(r['heat'] / 0.012696223 - 1) < 1e-6"
  done
}

# The coarsest level is singular to rounding, the problem is not.
case_thinner_than_double_resolves() {
  for height in 1e-9 1e-12; do
    run 0 --level 5 --rhs 1 --domain 1,$height "${ends[@]}" "${faces[@]}" --vtk none --report report.json
    says_nothing
    check "abs(r['fluxes'][0] / $height - 1.5) < 1e-5 and abs(r['fluxes'][1] / $height + 0.5) < 1e-5"
    check "r['coarse_solver'] == 'cg_adi'"
  done
}

# What stays in bands says how much it loses; what a cycle of bands is for is not thinner at will.
case_warnings() {
  run 2 --level 4 --rhs 0 --map '0.8*x-0.6e-6*y,0.6*x+0.8e-6*y' "${ends[@]}" "${faces[@]}" --vtk none
  says 'round-off of the matrix may change u by about 0\.0002'
  run 0 --level 4 --rhs 0 --map '0.8*x-0.6*y,0.6*x+0.8*y' "${ends[@]}" "${faces[@]}" --vtk none
  says_nothing
  "$program" "${common[@]}" --level 6 --rhs 1 --domain 1,1e-8 "${ends[@]}" "${faces[@]}" "${fv[@]}" --vtk none >.output 2>.errors
  says 'the error of the iteration may be larger than is estimated'
}

run_case "$2"
