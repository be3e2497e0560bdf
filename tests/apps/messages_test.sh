#!/usr/bin/env bash
# messages_test.sh POISSON2D CASE: what programs claim and advise, in poisson2d and in the programs beside it: each message has
# the right reason, and none stands where nothing is wrong.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)
walls=(--left neumann --right neumann --bottom neumann --top neumann)

case_tolerances_ask_for_something() {
  for name in poisson2d krylov bubbly2d team20 staggered heat2d; do
    for x in 1 2 1e300; do
      of $name refused --rtol $x -- "--rtol: '$x' is not a number in (0, 1)"
    done
  done
  run 0 --level 3 --rtol 0.99 --vtk none --quiet
}

case_options_by_the_names_of_others() {
  for name in poisson2d krylov bubbly2d; do
    of $name refused --tol 1e-6 -- "unknown option '--tol'; did you mean --rtol?"
  done
  refused --maxiter 5 -- 'did you mean --max-iterations?'
  refused --toq 1 -- 'did you mean --top?'
  of heat2d run 0 --cells 4 --tol 1e-3 --quiet
}

case_values_say_what_to_write() {
  refused --bottom convection:1,2 -- "--bottom: unknown condition 'convection'" 'known are dirichlet, neumann, robin, periodic' 'robin:H,H*T'
  of heat2d refused --left heter -- "--left: unknown condition 'heter'" 'robin:ALPHA,G'
  refused --cells 8 --rhs 1 --grade-y shishkin:2,last -- '--grade-y: shishkin:2,last' 'must lie in (0, 0.5]'
  refused --cells 8 --rhs 1 --grade-x shishkin:0.3,both -- '--grade-x: shishkin:0.3,both' 'must lie in (0, 0.25]'
  refused --rhs 1 --kappa 1+x --operator tensor -- '--operator: it cannot be combined with --kappa'
  refused --convergence-table 0-3 -- "--convergence-table: '0-3' is not a range of levels" '0..3'
}

case_layers_are_where_the_solution_bends() {
  # Linear, and piecewise linear with the kinks that K makes: exact on any mesh.
  run 0 --cells 2 --rhs 0 --boundary x --vtk none
  says_nothing
  run 0 --cells 4 --rhs 0 --left dirichlet:0 --right dirichlet:1 --bottom neumann --top neumann --kappa 'x>0.25 && x<0.5 ? 0.01 : 1' --vtk none
  says_nothing
  run 0 --cells 4,20 --rhs 0 --bottom dirichlet:0 --top dirichlet:1 --left neumann --right neumann --kappa '1,0,y<0.05 ? 1e-4 : 1' --vtk none
  says_nothing
  run 0 --cells 10 --grade-x geometric:2,first --rhs 0 --left dirichlet:0 --right dirichlet:5 --bottom neumann --top neumann --vtk none
  says_nothing
  run 0 --cells 4 --map 'x+y/4,y' --rhs 0 --boundary 3*x-y --vtk none
  says_nothing
  # A layer of 1e-3, and bubbles of f, on cells that are wider.
  run 0 --cells 20 --rhs 0 --boundary 'exp(-x*1000)' --left dirichlet:1 --right dirichlet:0 --bottom neumann --top neumann --reaction 1e6 --vtk none
  says 'the mesh does not resolve it there'
  run 0 --cells 20 --rhs 1 --reaction '1e6*(x<0.5)' --vtk none
  run 0 --cells 2 --rhs 1 --vtk none
  says 'changes by 100 % of its range'
  run 0 --cells 64 --rhs 1 --vtk none
  says_nothing
}

case_data_between_all_points_are_told() {
  local zero='the right-hand side is zero at all [0-9]+ points where it is taken, as all data are: so u is zero'
  local narrow='abs(x-0.53)<0.001 && abs(y-0.5)<0.001 ? 1e6 : 0' wall='dirichlet:abs(y-0.53)<0.01 ? 100 : 0'
  for mesh in '' '--discretisation fv' '--map x+y/4,y'; do
    # shellcheck disable=SC2086  # none, or an option and its value
    run 0 --cells 16 --rhs "$narrow" --vtk none $mesh
    says "$zero"
  done
  run 0 --cells 16 --rhs "$narrow" --rhs 1 --vtk none
  says "solution 1: $zero"
  run 0 --cells 16 --rhs 0 --left "$wall" --vtk none
  says 'u of the left boundary is zero at all nodes, but 100 at \(0, 0.52'
  run 0 --cells 16 --rhs 0 --vtk none
  says_nothing
  of poisson3d run 0 --cells 8 --rhs "$narrow" --vtk none
  says "$zero"
  of poisson3d run 0 --cells 64 --rhs "${narrow//0.001/1e-6}" --vtk none
  says "$zero"
  of heat2d run 0 --cells 16 --initial "$narrow" --rhs "$narrow" --vtk none
  says "$zero"
  of heat2d run 0 --cells 16 --initial 'abs(x-0.53)<0.01' --vtk none
  says 'at t = 0 u at the start is zero at all nodes, but 1 at'
  of heat3d run 0 --cells 8 --initial 'abs(x-0.5625)<0.03' --vtk none
  says 'at t = 0 u at the start is zero at all nodes, but 1 at'
}

# What prints nothing else still warns; what u shows, where a report has it looked at.
case_warnings_come_with_quiet_too() {
  local narrow='abs(x-0.53)<0.001 && abs(y-0.5)<0.001 ? 1e6 : 0' zero='warning: .*the right-hand side is zero at all [0-9]+ points'
  printf '%s\n' 'cells 16' vertices 'a 0 0' 'b 1 0' 'c 1 1' 'd 0 1' patches 'a b c d' boundaries '* wall' >square.patches
  for options in 'poisson2d --cells 16' 'poisson2d --cells 16 --discretisation fv' 'poisson2d --patches square.patches' 'poisson3d --cells 8' \
    'heat2d --cells 16 --initial 0' 'heat2d --cells 16 --initial 0 --discretisation fv' 'heat2d --patches square.patches --initial 0' 'heat3d --cells 8 --initial 0'; do
    # shellcheck disable=SC2086  # a program and its options
    of ${options%% *} run 0 ${options#* } --rhs "$narrow" --vtk none --quiet
    says "$zero"
    [ ! -s "$work/.output" ] || fail "$options --quiet prints: $(cat "$work/.output")"
  done
  for name in poisson2d poisson3d; do
    of $name run 0 --cells 2 --rhs 1 --vtk none --quiet --report report.json
    says 'warning: the solution changes by 100 % of its range'
  done
}

case_singular_systems_are_called_so() {
  python3 - <<'END'
n = 16
h = [1.3 ** i for i in range(n)]
e = {}
def link(p, q, t):
    for i, j, v in ((p, q, -t), (q, p, -t), (p, p, t), (q, q, t)): e[i, j] = e.get((i, j), 0) + v
for j in range(n):
    for i in range(n):
        if i + 1 < n: link(j * n + i, j * n + i + 1, 2 * h[j] / (h[i] + h[i + 1]))
        if j + 1 < n: link(j * n + i, j * n + i + n, 2 * h[i] / (h[j] + h[j + 1]))
def write(name, numbers):
    open(name, "w").write("%%%%MatrixMarket matrix array real general\n%d 1\n" % len(numbers) + "".join("%.17g\n" % v for v in numbers))
open("n.mtx", "w").write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (n * n, n * n, len(e)) +
                         "".join("%d %d %.17g\n" % (i + 1, j + 1, v) for (i, j), v in sorted(e.items())))
write("b.mtx", [1] * n * n)
write("balanced.mtx", [1, -1] * (n * n // 2))
END
  of krylov run 1 --matrix n.mtx --rhs b.mtx --quiet
  says 'the matrix is singular and the system has no solution: .* and the right-hand side there sums to 256'
  ! grep -q indefinite .errors || fail "a singular matrix is called indefinite"
  of krylov run 0 --matrix n.mtx --rhs balanced.mtx --quiet
  says_nothing
}

case_steps_that_were_solved_after_all() {
  of heat2d run 0 --cells 100 --grade-x geometric:h=1e-14,both --grade-y geometric:h=1e-14,both "${walls[@]}" \
    --initial 'cos(pi*x)*cos(pi*y)' --end 0.02
  ! grep -q 'converged: a step' .output || fail "converged, because a step was not solved"
}

case_times_with_their_digits() {
  of heat2d run 0 --cells 4 --start 1000000 --end 1000000.25 --dt 0.125 --output-every 0.125 --method euler --initial 1 --boundary 1
  prints '^ *1000000\.125 '
  prints '^ *1000000\.25 '
  prints 'from t = 1000000 to 1000000\.25'
}

case_too_many_blocks() {
  run 1 --level 3 --rhs 1 --kappa '1+x' --deflate blocks:1000 --vtk none
  says '^poisson2d: deflation by 1000 x 1000 blocks: the grid has only 7 x 7 unknowns, for up to 7 x 7 blocks'
}

case_the_reference_norm_that_is_used() {
  run 0 --level 3 --rhs 1 --boundary 5 --print-config
  prints '^# reference-norm=$'
  run 0 --level 3 --rhs 1 --boundary 5 --reference-norm rhs --print-config
  prints '^reference-norm=rhs$'
  run 0 --level 3 --rhs 1 --boundary 5 --vtk none --quiet --report report.json
  check "r['reference_norm'] == 'initial'"
}

run_case "$2"
