#!/usr/bin/env bash
# numbers_test.sh POISSON2D CASE: options that take a real number take an expression of numbers, too.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)

case_expressions_are_numbers() {
  run 0 --domain '4*pi,2^2' --origin '-2*pi,1/2' --level 3 --rhs 1 --reaction 'pi^2/2' --rtol 1/10^9 --vtk none --report report.json
  check "r['domain'] == [4 * math.pi, 4] and r['origin'] == [-2 * math.pi, 0.5] and r['rtol'] == 1e-9"
  # A number, and no function of x and y, which would change the solver.
  check "r['solver'] == 'multigrid'"
  run 0 --level 3 --rhs 1 --probe '0,0,1/2,pi/4,3:p.csv' --vtk none --quiet
  [ "$(sed -n 4p p.csv | cut -d, -f1,2)" = 0.5,0.78539816339744828 ] || fail "the probe ends elsewhere"
  of heat2d run 0 --level 3 --end 25/60 --dt 1/200 --quiet --report report.json
  check "r['end'] == 25 / 60"
  of krylov run 0 --unknowns 9,9 --epsilon 1/3 --quiet
}

case_what_is_no_number_is_refused() {
  refused --domain '4*p,1' -- "--domain: '4*p' is not a finite number above 0, nor an expression of numbers, pi and e"
  refused --domain '1-2,1' -- "--domain: '1-2' is -1, not a finite number above 0"
  refused --domain 'x,1' -- "--domain: 'x' is not"
  refused --rtol 2 -- "--rtol: '2' is not a number in (0, 1)"
  refused --rtol 2/2 -- "--rtol: '2/2' is 1, not a number in (0, 1)"
  refused --rtol nan -- "--rtol: 'nan' is not a number in (0, 1)"
  refused --origin 1/0,0 -- "--origin: '1/0' is inf, not a finite number"
  refused --rhs 1 --reaction 1-2 -- "--reaction: '1-2' is -1, not a finite number from 0 on"
  of heat2d refused --dt '' -- "--dt: '' is not a finite number above 0"
  of heat2d refused --dt '1;2' -- --dt
}

run_case "$2"
