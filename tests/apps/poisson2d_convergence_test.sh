#!/usr/bin/env bash
# poisson2d_convergence_test.sh POISSON2D CASE: what poisson2d says of solves that do not converge, or only to rounding.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--level 5 --vtk none)

case_max_iterations() {
  run 2 "${small[@]}" --max-iterations 2 --report report.json
  prints '^status +max iterations'
  check "r['status'] == 'max iterations' and r['iterations'] == 2"
}

case_what_goes_on_keeps_target_and_limit() {
  # A cycle in float that stalls is repeated in double; full multigrid is followed by cycles. Both start from x = 0, so that
  # the initial residual is the right-hand side.
  for options in "--level 6 --mesh A2 --solver bicgstab --smoother jacobi --max-iterations 300" "--level 5 --cycle fmg"; do
    for reference_norm in rhs initial; do
      run 0 --vtk none $options --rtol 1e-12 --reference-norm $reference_norm --report report.json
      check "r['residual'] <= 1e-12 * r['initial_residual'] * (1 + 1e-9) and r['residual_reduction'] <= 1.001e-12"
    done
  done
  run 2 --vtk none --level 6 --mesh A3 --solver bicgstab --smoother jacobi --rtol 1e-12 --max-iterations 100 --report report.json
  check "r['iterations'] <= 100"
  run 2 --vtk none --level 5 --cycle fmg --rtol 1e-8 --max-iterations 1 --report report.json
  check "r['iterations'] == 1"
}

case_jacobi_diverges_on_a2() {
  run 3 --mesh A2 --smoother jacobi --report report.json
  prints '^status +diverged'
  check "r['status'] == 'diverged'"
  # There is no solution to look at.
  has_files report.json
}

case_rounding() {
  run 2 --level 5 --vtk none --rtol 1e-16 --report report.json
  prints '^status +round-off limit: .*rounding keeps the residual at'
  check "r['status'] == 'round-off limit' and r['residual_reduction'] < 1e-12 and r['exit_code'] == 2"
  # Nobody has asked for the default tolerance; here rounding comes before it.
  run 0 --cells 4,65536 --precision double --vtk none --report report.json
  check "r['status'] == 'round-off limit' and r['exit_code'] == 0"
}

# The residual of the start hides below the rounding of thin rows; the solution is 1 + x + 0.0737 in the middle all the same.
case_starts_that_look_solved() {
  for solver in multigrid cg; do
    run 0 --mesh A5 --level 8 --rhs 1 --boundary 1+x --solver "$solver" --vtk none --probe 0.5,0.5,0.75,0.5,2:line.csv
    prints 'status +round-off limit'
    awk -F, 'NR == 2 { exit !($4 > 1.5735 && $4 < 1.5739) }' line.csv || fail "the middle has $(sed -n 2p line.csv)"
  done
  # Rows come nearer to rounding from cycle to cycle, while the norm, of a few rows that are there, hovers.
  for precision in mixed double; do
    run 0 --mesh A5 --level 8 --rhs 1 --boundary 1+x --precision "$precision" --vtk none
    prints 'status +round-off limit: rounding keeps the residual at'
  done
  run 0 --mesh A5 --level 8 --rhs 0 --boundary 1+x --vtk none
  prints 'status +converged'
  prints 'iterations +0'
}

# The norm is at rounding from the first cycles on. What is estimated is the error all the same: beside a direct solution in
# long double it was 5.4e-6 (adi), 8.8e-5 (line_x) and 1.3e-5 (cg around colour_gs), and told for 1e-6 and less.
case_estimates_at_rounding() {
  local options
  for options in '' '--precision double' '--sweeps 8' '--smoother auto' '--smoother line_x' '--smoother colour_gs' '--solver cg' \
    '--solver gmres' '--precision residual-replacement' '--solver cg --smoother colour_gs' '--solver cg --smoother line_x'; do
    # shellcheck disable=SC2086
    run 0 --mesh A5 --level 8 --rhs 1 --boundary 1+x $options --vtk none --report report.json \
      --probe 0.98605728149414062,0.01322174072265625,0.0076904296875,0.0108184814453125,2:line.csv
    prints 'status +round-off limit: '
    grep -q 'warning: the fluxes and the reaction add up to .* some of the equations are not solved well' "$work/.errors" ||
      fail 'the balance is not told'
    check "r['estimated_error'] < 1e-6"
    tail -n 2 line.csv | awk -F, -v OFMT=%.9g 'NR == 1 { e = $4 - 1.98653310207921 } NR == 2 { f = $4 - 1.00792603300967 }
      END { exit !(e * e < 4e-12 && f * f < 4e-12) }' || fail "$options: $(tail -n 2 line.csv)"
  done
  # By a smoother that diverges in thin cells.
  run 3 --mesh A5 --level 8 --rhs 1 --boundary 1+x --smoother jacobi --vtk none
}

# What flows in and out, what reacts and f may add up to nothing: no sign of equations that are not solved well.
case_fluxes_that_cancel() {
  local options natural='--right neumann --bottom neumann --top neumann'
  for options in "--rhs 0 --left dirichlet:y-1/2 $natural --kappa 1+x*x*y" "--rhs x-1/2 --left dirichlet $natural --kappa 1+x*x" \
    "--rhs x-1/2 --left dirichlet:1 $natural --kappa 1+x*x" "--rhs x-1/2 --left neumann $natural --reaction 1" \
    "--rhs x-1/2 --left neumann $natural --reaction 1+x*y"; do
    for discretisation in elements fv; do
      # shellcheck disable=SC2086
      run 0 --level 5 $options --discretisation $discretisation --vtk none
      prints '^status +converged'
      says_nothing
    done
  done
  run 0 --level 5 --rhs 0 --exact '(x-1/2)*(y-1/2)' --map 'x+0.1*x*(1-x)*y,y+0.1*y*(1-y)*x' --rtol 1e-4 --vtk none
  says_nothing
}

case_blown_up_passes_are_no_solutions() {
  for options in '--mesh A4 --level 9 --damping 1.9 --precision double' '--mesh A5 --level 7 --sweeps 400' \
    '--mesh A4 --level 7 --sweeps 400 --rtol 1e-8'; do
    # shellcheck disable=SC2086
    run 3 --cycle fmg --smoother jacobi $options --vtk none --report report.json
    prints '^status +diverged'
    check "r['status'] == 'diverged' and r['exit_code'] == 3"
  done
}

case_single_precision_fails_honestly() {
  run 2 --level 8 --precision single --vtk none --report report.json
  check "r['status'] != 'converged'"
  check "r['relative_l2_error'] > 2 * 1.7344897e-5 or r['residual_reduction'] > 1e-8"
  # The reason speaks of the residual that is reported, not of numbers scaled for float.
  run 2 --level 5 --precision single --rtol 1e-4 --max-iterations 1 --vtk none --report report.json
  check "abs(float(r['reason'].split()[6].rstrip(',')) / r['residual'] - 1) < 1e-4"
  run 0 --level 5 --precision single --rtol 1e-4 --vtk none --report report.json
  check "abs(float(r['reason'].split()[1]) / r['residual'] - 1) < 1e-4"
}

case_two_floats_solve_without_double() {
  # The error is that of double; the residual is not, and nobody has asked for it.
  run 0 --mesh A3 --level 8 --precision double-single --vtk none --report report.json
  prints '^status +round-off limit'
  check "r['status'] == 'round-off limit' and r['exit_code'] == 0 and r['precision'] == 'double-single' and r['solver'] == 'cg'"
  check "abs(r['relative_l2_error'] / 4.9079e-5 - 1) < 0.01"
  run 2 --level 6 --precision double-single --rtol 1e-8 --vtk none --report report.json
  check "r['status'] == 'round-off limit' and 'double-single' in r['reason']"
  run 0 --level 6 --precision double-single --rtol 1e-5 --kappa 'x < 0.5 ? 1 : 1e4' --vtk none --report report.json
  check "r['status'] == 'converged' and r['residual_reduction'] <= 1e-5"
}

case_conjugate_gradients_in_float() {
  # The iterations of double, and its residual.
  local k='(x < 0.46) == (y < 0.54) ? 1 : 1e4'
  run 0 --level 7 --rhs 1 --kappa "$k" --vtk none --report double.json
  run 0 --level 7 --rhs 1 --kappa "$k" --precision residual-replacement --vtk none --report report.json
  check "r['status'] == 'converged' and r['precision'] == 'residual-replacement' and r['solver'] == 'cg'"
  check "r['residual_reduction'] <= 1e-8 and r['iterations'] <= json.load(open('double.json'))['iterations'] + 1"
  # The operator in float has lost the constant: 39, 98 and 36 iterations before the first update was judged.
  local alpha
  for alpha in 1e-3 1e-4 1e-5; do
    run 0 --level 8 --sweeps 2 --precision residual-replacement --left robin:$alpha,$alpha --right robin:$alpha,$alpha \
      --bottom robin:$alpha,$alpha --top robin:$alpha,$alpha --vtk none --report report.json
    prints 'double-precision fallback, since conjugate gradients in float ended as stagnated after [23] iterations'
    check "r['iterations'] <= 11 and r['estimated_error'] < 1e-9"
  done
  run 0 --mesh A3 --level 6 --precision residual-replacement --cycle fmg --vtk none --report report.json
  check "abs(r['relative_l2_error'] / 7.8507e-4 - 1) < 1e-3 and r['status'] == 'converged'"
  refused "${small[@]}" --precision residual-replacement --solver gmres -- cg gmres
  refused "${small[@]}" --precision residual-replacement --cycle k -- constant k-cycle
}

# Copper, 0.001 high, on glass: in float 1e8 times what cools it is rounded. A fin with the same resistances has 296.
case_thin_layers_of_high_k() {
  local options cells most plate=(--domain 10,1.001 --rhs 0 --kappa 'y < 1 ? 1 : 400' --left neumann --right neumann
    --top 'neumann:abs(x-5) < 1 ? 100 : 0' --bottom robin:0.1,0 --grade-y shishkin:1e-3,last --vtk none)
  for cells in 60,32 60,64 50,64 100,64; do
    most=15
    [ $cells = 60,32 ] && most=17 # 11 or 16: rounding decides how many iterations go by before it is seen
    run 0 "${plate[@]}" --cells $cells --report report.json
    prints 'double-precision fallback'
    check "r['iterations'] <= $most and abs(r['maximum'] / 309.47 - 1) < 1e-3 and r['estimated_error'] < 1e-6"
  done
  for options in '--solver gmres' '--solver fcg' '--precision residual-replacement' '--precision double'; do
    # shellcheck disable=SC2086
    run 0 "${plate[@]}" --cells 50,64 $options --report report.json
    check "r['iterations'] <= 15 and abs(r['maximum'] / 309.47 - 1) < 1e-3"
  done
  # What has not converged is not helped by another tolerance.
  run 2 "${plate[@]}" --cells 50,64 --max-iterations 2
  grep -q 'warning: the solve did not converge (max iterations), and the balance is off by' .errors || fail 'no warning'
  if grep -q 'smaller --rtol' .errors; then fail 'advises a smaller --rtol'; fi
}

run_case "$2"
