#!/usr/bin/env bash
# poisson3d_test.sh PROGRAM CASE: runs one case of the command line of poisson3d, on a small mesh where the result does not matter.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

solve() { run 0 --vtk none --report report.json "$@" && check "r['status'] == 'converged' and r['exit_code'] == 0"; }

# order_two OPTIONS...: the error falls by four, and the last one is small.
order_two() {
  solve --convergence-table 0..3 "$@"
  check "all(3.7 < c['relative_l2_error'] / f['relative_l2_error'] < 4.4 for c, f in zip(r['convergence_table'][1:], r['convergence_table'][2:]))"
  check "r['relative_l2_error'] < 2e-3"
}

# --- what is solved ------------------------------------------------------------------------------------------------------

case_default_run_writes_a_file_for_paraview() {
  run 0 --level 4
  prints '^mesh +U1 on \[0, 1\] x \[0, 1\] x \[0, 1\], nu 1 in z: 16 x 16 x 16 cells, 15 x 15 x 15 unknowns'
  prints '^solver +fast diagonalization in . and ., lines along' '^memory +[0-9]+ MiB expected'
  prints '^status +converged' '^iterations +1$' '^error +4\.890253' '^flux +outward: left ' 'unknowns per second'
  prints '^balance +0\.166667, integral of f 0\.166667; they differ by ([0-9.]+e-1[4-9]|0\.0e\+00)$'
  [ "$(grep -cv 'the mesh does not resolve it' .errors)" -eq 0 ] || fail "writes to stderr without a terminal"
  if ! grep -q 'no file for ParaView' .output; then
    prints '^written +poisson3d_U1_L4\.(vtr|npy)'
    [[ $(files) == poisson3d_U1_L4.@(vtr|npy) ]] || fail "left '$(files)'"
  fi
}

# The product problem integrates exactly in each cell: 3 x 3 x 3 Gauss points see these errors on any machine.
case_errors_fall_by_four() {
  solve --convergence-table 2..5
  check "[round(l['relative_l2_error'], 9) for l in r['convergence_table']] == [0.079588820, 0.019634685, 0.004890254, 0.001221381]"
  solve --convergence-table 2..5 --mesh A3 --graded xyz
  check "3.8 < r['convergence_table'][-2]['relative_l2_error'] / r['relative_l2_error'] < 4.2"
  solve --cells 8,6,10 --convergence-table 0..2 --grade-x tanh:2,both --grade-y geometric:1.3,last --grade-z cosine
  check "3.7 < r['convergence_table'][-2]['relative_l2_error'] / r['relative_l2_error'] < 4.3"
}

case_points_of_quadrature() {
  # The load of xl xr yl yr zl zr is exact by two points, not by one.
  solve --cells 6 --rhs '2*(xl*xr*yl*yr+xl*xr*zl*zr+yl*yr*zl*zr)' --exact 'xl*xr*yl*yr*zl*zr'
  local error
  error=$(python3 -c 'import json; print(json.load(open("report.json"))["relative_l2_error"])')
  solve --cells 6
  check "abs(r['relative_l2_error'] / $error - 1) < 1e-10 and r['quadrature'] is None"
  solve --cells 6 --quadrature 2 --rhs '2*(xl*xr*yl*yr+xl*xr*zl*zr+yl*yr*zl*zr)' --exact 'xl*xr*yl*yr*zl*zr'
  check "abs(r['relative_l2_error'] / $error - 1) < 1e-10 and r['quadrature'] == 2"
  solve --cells 6 --quadrature 1 --rhs '2*(xl*xr*yl*yr+xl*xr*zl*zr+yl*yr*zl*zr)' --exact 'xl*xr*yl*yr*zl*zr'
  check "abs(r['relative_l2_error'] / $error - 1) > 1e-3"
  for value in 0 5 x; do refused --cells 4 --vtk none --quadrature $value -- --quadrature; done
}

case_linear_functions_are_exact_on_every_mesh() {
  local mesh graded
  for mesh in U1 U2 U3 A1 A2 A3 A4 A5; do
    for graded in z xy xyz; do
      solve --mesh $mesh --graded $graded --level 4 --rhs 0 --exact '1+2*x-3*y+4*z'
      check "r['relative_l2_error'] < 1e-14 and r['mesh'] == '$mesh' and r['graded'] == '$graded'"
    done
  done
  solve --cells 9,8,7 --grade-x geometric:h=1e-12,first --grade-y geometric:h=1e-12,last --grade-z geometric:h=1e-12,both \
    --rhs 0 --exact '1+2*x-3*y+4*z'
  check "r['relative_l2_error'] < 1e-14 and r['smallest_width'] < 1.1e-12"
  solve --cells 5,7,11 --origin 2,-3,10 --domain 0.5,4,2 --rhs 0 --exact '(x-2)*(y+3)*(z-10)'
  check "r['relative_l2_error'] < 1e-14 and r['origin'] == [2, -3, 10] and r['domain'] == [0.5, 4, 2]"
}

# u = sin(x) exp(y) cos(z), K = diag(1 + x, 1, 2 + z), c = 3.
case_every_kind_of_boundary_with_coefficients() {
  local u='sin(x)*exp(y)*cos(z)' problem
  problem=("--cells=3,4,5" --kx '1+x' --kz '2+z' --exact "$u"
    --rhs '-cos(x)*exp(y)*cos(z) + (1+x)*sin(x)*exp(y)*cos(z) - sin(x)*exp(y)*cos(z) + sin(x)*exp(y)*sin(z) + (2+z)*sin(x)*exp(y)*cos(z) + 3*sin(x)*exp(y)*cos(z)'
    --reaction 3)
  order_two "${problem[@]}"
  order_two "${problem[@]}" --left 'neumann:-exp(y)*cos(z)' --bottom "neumann:-$u" --front "dirichlet:$u" \
    --right "robin:2,(1+x)*cos(x)*exp(y)*cos(z)+2*$u" --top "robin:0.5,1.5*$u" --back "robin:1,-(2+z)*sin(x)*exp(y)*sin(z)+$u"
  prints '^ +3 '
  order_two "${problem[@]}" --grade-x tanh:1.5,both --grade-y geometric:2,last --grade-z geometric:1.5,first --domain 1,0.5,2 \
    --front "neumann:0" --top "neumann:$u" --left "neumann:-exp(y)*cos(z)"
  # The fluxes and the reaction are the load.
  check "abs(sum(r['fluxes']) + r['reaction_integral'] - r['load_integral']) < 1e-11 * abs(r['load_integral'])"
}

case_scalar_coefficients_that_are_products() {
  # -div((1 + x) (2 + y) grad u) = -(2 + y) - (1 + x) of u = x + y.
  solve --cells 6,7,8 --kappa '(1+x)*(2+y)' --rhs '-(2+y)-(1+x)' --exact x+y
  check "r['relative_l2_error'] < 1e-14"
  refused --cells 4 --rhs 1 --vtk none --method direct --kappa '1+x*y' -- separable 'poisson3d: --kappa is not a product'
  refused --cells 4 --rhs 1 --vtk none --method direct --kx '1+x*y' -- separable 'poisson3d: --kx is not a product'
  refused --cells 4 --rhs 1 --vtk none --method direct --kx '1+y' -- separable '--kx and --kz vary by different factors'
  refused --cells 4 --rhs 1 --vtk none --kappa '2' --kz '1+z' -- --kappa --kx
  refused --cells 4 --rhs 1 --vtk none --kappa 'x-0.5' -- 'positive'
  refused --cells 4 --rhs 1 --vtk none --method direct --kappa '1+x' --reaction 1 -- reaction 'a --kappa that varies'
}

# u = x + y + z for K = 1 + x y z; u = sin(x) y for K = exp(x y) and c = 1; a jump across no plane of the axes.
case_coefficients_that_are_no_products() {
  solve --cells 12 --kappa '1+x*y*z' --rhs '-(y*z+x*z+x*y)' --exact x+y+z
  check "r['solver'] == 'fd-cg' and r['relative_l2_error'] < 1e-3 and r['status'] == 'converged'"
  order_two --cells 6 --kappa 'exp(x*y)' --reaction 1 --exact 'sin(x)*y' \
    --rhs '-exp(x*y)*(y*cos(x)*y - sin(x)*y + x*sin(x)) + sin(x)*y' --right 'neumann:exp(y)*cos(1)*y'
  local method
  for method in auto multigrid; do
    solve --cells 24 --kappa 'x+y+z>1.5 ? 1000 : 1' --rhs 1 --method $method
    check "r['solver'] == 'multigrid' and r['status'] == 'converged' and r['iterations'] < 30"
    check "r['levels'][0]['unknowns'] == [23, 23, 23] and r['levels'][-1]['smoother'] == 'inverse'"
    check "abs(sum(r['fluxes']) - r['load_integral']) < 1e-8 and r['lines'] is None"
  done
  prints 'K differs by a factor of 1000|it was asked for'
  solve --cells 24 --grade-y geometric:h=1e-4,first --kx 'x+y>1 ? 10 : 1' --kz '1+x*y' --rhs 1 --precision mixed
  check "r['solver'] == 'multigrid' and r['precision'] == 'mixed' and r['status'] == 'converged'"
  solve --cells 10 --rhs 1 --kappa '2+x' --method multigrid
  check "r['solver'] == 'multigrid' and r['status'] == 'converged'"
  python3 -c "
import struct
cells = [1000 if (i + .5) / 24 + (j + .5) / 24 + (k + .5) / 24 > 1.5 else 1 for k in range(24) for j in range(24) for i in range(24)]
text = \"{'descr': '<f8', 'fortran_order': False, 'shape': (24, 24, 24), }\"
text += ' ' * (63 - (10 + len(text)) % 64) + chr(10)
open('k.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(text)) + text.encode() + struct.pack('<13824d', *cells))"
  solve --cells 24 --kappa 'x+y+z>1.5 ? 1000 : 1' --rhs 1
  cp report.json by_expression.json
  solve --cells 24 --kappa file:k.npy --rhs 1
  check "r['maximum'] == json.load(open('by_expression.json'))['maximum']"
  solve --cells 24 --level 1 --kappa file:k.npy --rhs 1
  check "r['cells'] == [48, 48, 48] and r['solver'] == 'multigrid'"
  refused --cells 12 --vtk none --rhs 1 --kappa file:k.npy -- --kappa 'has shape (24, 24, 24), and the mesh (12, 12, 12) cells'
  refused --cells 12 --vtk none --rhs 1 --kappa file:k.csv -- .npy .vtr
  python3 -c "
import struct
head = \"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3, 2), }\".ljust(117) + chr(10)
numbers = [1.0] * 24
numbers[3 * 6 + 2 * 2 + 1] = float('nan')
open('nan.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<24d', *numbers))"
  refused --cells 2,3,4 --vtk none --rhs 1 --kappa file:nan.npy -- --kappa nan.npy 'cell (1, 2, 3) is nan'
  refused --cells 4 --vtk none --method spectral -- direct multigrid fd-cg auto
  refused --cells 4 --vtk none --rhs 1 --kx '1+y*x' --method fd-cg -- 'scalar K'
}

case_periodic_directions() {
  local u='sin(2*pi*x)*cos(4*pi*z)*y'
  order_two --cells 12,4,24 --left periodic --right periodic --front periodic --back periodic --exact "$u" \
    --rhs "20*pi^2*$u"
  check "r['left'] == 'periodic' and r['unknowns'] == 96 * 31 * 192 and r['cells'] == [96, 32, 192]"
  solve --cells 3,2,2 --left periodic --right periodic --rhs 1
  refused --cells 2,4,4 --left periodic --right periodic --vtk none -- 'at least 3 cells'
  refused --cells 4 --left periodic --vtk none -- left right periodic
  refused --cells 4 --left periodic:1 --right periodic --vtk none -- 'no value'
}

case_fluxes_that_cancel() {
  local options walls='--right neumann --bottom neumann --top neumann --front neumann --back neumann'
  for options in '--rhs 0 --left dirichlet:y-1/2 --kappa 1+x*x*y' '--rhs x-1/2 --left dirichlet --kappa 1+x*x*y' \
    '--rhs x-1/2 --left neumann --reaction 1' '--rhs x-1/2 --left neumann --reaction 1 --kappa 1+x*x*y'; do
    # shellcheck disable=SC2086
    run 0 --level 4 $options $walls --vtk none
    prints '^status +converged'
    says_nothing
  done
}

case_singular_problems() {
  local neumann=(--left neumann --right neumann --bottom neumann --top neumann --front neumann --back neumann)
  order_two --cells 4 "${neumann[@]}" --rhs 'cos(pi*x)+cos(pi*y)+cos(pi*z)' --exact '(cos(pi*x)+cos(pi*y)+cos(pi*z))/pi^2'
  check "r['singular'] and abs(r['minimum'] + r['maximum']) < 1e-12"
  [ ! -s .errors ] || fail "warns"
  solve --cells 6 "${neumann[@]}" --rhs 0 --exact 293
  check "max(r['relative_l2_error'], r['relative_largest_error'], r['relative_energy_error']) < 1e-9"
  refused --cells 6 "${neumann[@]}" --rhs x --vtk none -- singular 'is 0.5' --project
  # A load that sums to zero but for rounding balances, and no body is in it.
  solve --cells 9,9,11 "${neumann[@]}" --rhs 'x-0.5'
  prints '^balance +-?[0-9.e-]+, integral of f -?[0-9.]+(e-[0-9]+)?; they differ by'
  says_nothing
  solve --cells 6 "${neumann[@]}" --rhs x --project
  prints '^load +0\.5 is subtracted from f'
  check "abs(r['subtracted_from_f'] - 0.5) < 1e-14"
  solve --cells 6 --left periodic --right periodic --bottom periodic --top periodic --front periodic --back periodic --rhs 'sin(2*pi*x)'
}

case_sizes_of_every_kind() {
  local cells
  for cells in 2,2,2 2,3,97 31,2,5 13,17,19 64,2,3; do
    solve --cells $cells --rhs 0 --exact 'x-2*y+3*z'
    check "r['cells'] == [${cells//,/, }] and r['relative_l2_error'] < 1e-13"
  done
  solve --cells 1,7,5 --left neumann --rhs 1
  check "r['unknowns'] == 24"
  solve --cells 1,1,9 --left neumann --right neumann --bottom neumann --top neumann --rhs 2 --exact 'z*(1-z)'
  check "r['relative_largest_error'] < 0.05 and abs(r['maximum'] - 20 / 81) < 1e-13"
  refused --cells 1,7,5 --vtk none -- 'no unknowns'
}

case_edges_that_differ_are_said() {
  run 0 --cells 6 --rhs 0 --left dirichlet:1 --vtk none
  says 'left and the bottom face differ by 1 at \(' 'value of the left one'
}

case_lines_from_files() {
  printf '2 2.1 2.5 3' >x.txt
  printf '1e-9 0.5 0.5 1e-6 ' >z.txt
  solve --cells ,4, --grade-x file:x.txt --grade-z widths:z.txt --rhs 0 --exact '(x-2)*y*z'
  check "r['cells'] == [3, 4, 4] and r['origin'] == [2, 0, 0] and r['smallest_width'] == 1e-9 and r['relative_l2_error'] < 1e-14"
  refused --cells 4,4,4 --grade-x file:x.txt --vtk none -- 'has 3 cells' 4
}

# --- what is written -----------------------------------------------------------------------------------------------------

case_vtk_file_holds_the_fields() {
  needs_vtk
  run 0 --mesh A2 --level 3 --vtk out.vtr
  has_files out.vtr
  for field in solution exact error rhs aspect_ratio; do
    grep -aqF "Name=\"$field\"" out.vtr || fail "no field $field in the file"
  done
  grep -aqF 'Extent="0 8 0 8 0 8"' out.vtr || fail "not 8 x 8 x 8 cells"
  grep -aqF 'compressor="vtkLZ4DataCompressor"' out.vtr || fail "the file is not compressed"
  # ParaView gets the exact solution as it is, infinite at some nodes.
  run 0 --cells 4 --exact 1/x --boundary 1 --rhs 1 --vtk infinite.vtr
}

case_arrays_for_numpy() {
  needs_numpy
  run 0 --cells 4,3,2 --rhs 0 --exact 'x+10*y+100*z' --vtk u.npy
  "$python" - <<'END' || fail "not the array"
import numpy as np
u = np.load("u.npy")
assert u.shape == (3, 4, 5) and u.dtype == float
z, y, x = np.meshgrid(np.linspace(0, 1, 3), np.linspace(0, 1, 4), np.linspace(0, 1, 5), indexing="ij")
assert abs(u - (x + 10 * y + 100 * z)).max() < 1e-12
END
  refused --cells 4 --vtk u.npy --vtk-compress best -- .npy
  refused --cells 4 --vtk u.txt -- .vtr .npy
}

case_values_at_points() {
  solve --cells 4,5,6 --rhs 0 --exact '1+x+10*y+100*z' --probe 0,0,1,1,0.5,0,5:line.csv
  [ "$(head -1 line.csv)" = x,y,z,s,u ] || fail "not its names: $(head -1 line.csv)"
  awk -F, 'NR > 1 { if (($5 - 1 - $1 - 10 * $2 - 100 * $3) ^ 2 > 1e-20) exit 1; n++; s = $4 } END { exit !(n == 5 && (s - 1.5) ^ 2 < 1e-20) }' \
    line.csv || fail "not the values on the line"
  solve --cells 4,5,6 --rhs 0 --exact '1+x+10*y+100*z' --probe y=0.3,3,4:plane.csv
  awk -F, 'NR > 1 { if (($4 - 1 - $1 - 10 * $2 - 100 * $3) ^ 2 > 1e-20 || $2 != 0.3) exit 1; n++; sum += $1 + 100 * $3 } END { exit !(n == 12 && (sum - 606) ^ 2 < 1e-18) }' \
    plane.csv || fail "not the values on the plane"
  for value in 0,0,0,1,1,2,5:a.csv z=1.5,3,3:a.csv; do refused --cells 4 --vtk none --probe $value -- 'outside the box'; done
  for value in '' a.csv 0,0,0,1,1,1:a.csv 0,0,0,0,0,0,5:a.csv w=0.5,3,3:a.csv z=,3,3:a.csv z=0.5,1,3:a.csv z=0.5,3,3: \
    z=0.5,2000,2000:a.csv; do
    refused --cells 4 --vtk none --probe="$value" -- --probe
  done
}

case_pictures() {
  run 0 --cells 6 --rhs 1 --exact x --vtk none --png faces.png
  if grep -q 'no VTK that draws' .errors; then skip "this build draws nothing"; fi
  [ ! -s .errors ] || fail "says something"
  run 0 --cells 6 --rhs 1 --vtk none --png slice.png --slice x=0.5
  for file in faces.png slice.png; do head -c 4 $file | grep -q PNG || fail "$file is no picture"; done
  run 0 --cells 6 --vtk none --png faces.png
  says 'one colour, since all faces have the value 0; --slice z=AT shows the inside'
  refused --cells 6 --vtk none --png faces.png --slice z=2 -- --slice 'z = 2 is outside the box, which reaches from 0 to 1'
  refused --cells 6 --vtk none --slice z=0.5 -- --png
  for value in z 0.5 w=1 zz=0.5 z=a; do refused --cells 6 --vtk none --png u.png --slice $value -- --slice; done
  refused --cells 6 --vtk none --png u.jpg -- .png
}

case_reports() {
  solve --cells 4,5,6 --rhs 'z' --front neumann:1 --history history.csv
  check "r['program'] == 'poisson3d' and r['front'] == 'neumann:1' and r['back'] == 'dirichlet' and r['cells'] == [4, 5, 6]"
  check "len(r['fluxes']) == 6 and abs(r['fluxes'][4] + 1) < 1e-12 and abs(sum(r['fluxes']) - r['load_integral']) < 1e-12"
  check "len(r['minimum_at']) == 3 and r['lines'] in 'xyz' and r['expected_memory_bytes'] > 0 and r['relative_l2_error'] is None"
  [ "$(head -1 history.csv)" = iteration,residual,relative_residual ] || fail "not a history"
  "$program" --backend cpu --cells 4 --vtk none --report - >report.json 2>.errors || fail "no report on standard output"
  check "r['relative_l2_error'] < 0.1"
  run 0 --cells 4 --vtk none --quiet
  [ ! -s .output ] || fail "is not quiet"
}

case_tables_without_an_exact_solution() {
  solve --cells 4 --rhs 'exp(x+y+z)' --convergence-table 0..3
  check "1.8 < r['convergence_table'][-1]['order'] < 2.2"
  refused --level 3 --convergence-table 1..2 -- --level
  for value in 3 3.. 3..2 a..b 0..13; do refused --convergence-table $value -- convergence-table; done
}

case_configurations() {
  run 0 --cells 5,6,7 --grade-z tanh:2,first --back neumann --rhs 1 --print-config
  cp .output run.cfg
  solve --config run.cfg
  check "r['cells'] == [5, 6, 7] and r['grade_z'] == 'tanh:2,first' and r['back'] == 'neumann'"
  run 0 --help
  prints '--graded AXES' '--front TYPE' '--kz K' 'front   \|' 'shishkin:T,SIDE'
  run 0 --version
}

# A layer in one cell is not resolved; what is linear is, however large the step, and so are kinks that K makes.
case_warns_of_layers() {
  run 0 --cells 10 --rhs 1 --reaction 1e6 --vtk none
  says 'warning: the solution changes by 100 % of its range between the neighbouring nodes \(.*\): the mesh does not resolve it there'
  for k in 1 'z<0.5?1:1000'; do
    run 0 --cells 4,4,2 --rhs 0 --boundary z --kz "$k" --left neumann --right neumann --bottom neumann --top neumann --vtk none
    says_nothing
  done
}

# --- what is refused -----------------------------------------------------------------------------------------------------

case_bad_options() {
  for value in '' 4,4 a,b,c 0,4,4 4,4,4,4 4x4 ',,' -1; do refused --cells="$value" --vtk none -- cells; done
  for value in '' 1 1,1 1,1,0 1,1,1,1 a,1,1; do refused --domain="$value" --vtk none -- domain; done
  for value in w zz '' x,z; do refused --graded="$value" --vtk none -- --graded; done
  refused --mesh B1 --vtk none -- 'poisson3d: --mesh: unknown mesh' U1 A5
  refused --mesh A3 --cells 4 -- A3
  refused --cells 4 --graded z -- --graded --grade-z
  refused --nu 0.5 --graded z --thin none,none,first -- --thin
  refused --cells 4 --left box -- left dirichlet neumann robin periodic
  refused --cells 4 --left robin:1 -- robin:ALPHA,G
  refused --cells 4 --left robin:-1,0 --rhs 1 --vtk none -- left '-1'
  refused --cells 4 --left robin:1+y,0 --rhs 1 --vtk none -- left varies
  refused --cells 4 --rhs 'x+w' -- --rhs 'known names: x, y, z, a, b, d, xl, xr, yl, yr, zl, zr'
  refused --cells 4 --rhs 1/x --boundary 1/x -- 'finite'
  refused --cells 4 --exact x -- --rhs
  refused --cells 4 --reaction x -- --reaction
  refused --cells 4 --reaction -1 -- --reaction
  refused --cells 4 --rtol 0 -- --rtol
  refused --smoother adi -- --smoother
  refused --level 13 -- --level 12
  refused --cells 100000,100000,1000 -- 1e+12
}

case_thin_ends_by_nu() {
  solve --nu 0.25 --level 4
  check "r['smallest_width'] == 0.125 ** 4 and r['graded'] == 'z'"
  solve --nu 0.25 --level 4 --graded xy --domain 2,1,1
  check "r['smallest_width'] == 0.125 ** 4 and r['graded'] == 'xy'"
  solve --nu 0.25 --level 4 --thin last,none,none --rhs 0 --exact x-y
  check "r['smallest_width'] == 0.125 ** 4 and r['relative_l2_error'] < 1e-14"
}

case_tolerances() {
  run 0 --cells 6 --rtol 1e-12 --vtk none
  run 2 --cells 6 --rtol 1e-30 --vtk none --report report.json
  check "r['status'] == 'round-off limit' and r['exit_code'] == 2"
  run 0 --cells 6 --rhs 0 --vtk none --report report.json
  check "r['status'] == 'converged' and r['maximum'] == 0 and r['iterations'] == 0"
}

case_levels_that_do_not_fit_in_memory() {
  local available
  available=$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 1024))
  [ $((24 << 33)) -gt "$available" ] || skip "level 11 would fit"
  refused --code 4 --level 11 -- 'mesh U1 with 2047 x 2047 x 2047 unknowns needs' 'GiB of memory' 'GiB are available'
  refused --code 4 --level 12 --vtk none --report out.json -- GiB
  if has_vtk; then refused --code 4 --level 12 --vtk out.vtr --report out.json -- GiB '--vtk none'; fi
  refused --code 4 --convergence-table 2..12 -- GiB
  if grep -q '^ *2 ' .output; then fail "solved smaller levels first"; fi
}

case_the_memory_expected_is_the_peak() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  export MALLOC_MMAP_THRESHOLD_=131072
  local options
  for options in "--level 6 --vtk none" "--cells 150,60,90 --vtk out.npy" "--cells 150,60,90 --vtk out.vtr"; do
    # shellcheck disable=SC2086
    "$program" --backend cpu --threads 2 $options --report report.json >.output 2>.errors
    command="poisson3d $options"
    if grep -q 'has no VTK' .errors; then continue; fi
    echo "$command: $(grep -E 'expected_memory|peak_memory' report.json | paste -sd' ')"
    check "0.85 < r['expected_memory_bytes'] / r['peak_memory_bytes'] < 1.25"
  done
}

case_full_disk() {
  needs_vtk
  # What a shell allows a file to have, in KiB, is found out like a full disk.
  (
    ulimit -f 8
    refused --code 5 --level 4 --quiet --rhs 'sin(100*x*y*z)' --vtk out.vtr -- 'cannot write' out.vtr
    run 0 --level 4 --rhs 'sin(100*x*y*z)'
    says 'no file for ParaView: cannot write'
    has_files
    refused --code 5 --level 4 --quiet --rhs 'sin(100*x*y*z)' --vtk out.npy -- 'cannot write' out.npy
    refused --code 5 --level 3 --quiet --vtk none --probe 0,0,0,1,1,1,1000:line.csv -- 'cannot write' line.csv
    exit "$failures"
  ) || failures=$((failures + 1))
  refused --code 5 --level 2 --vtk none --report missing/report.json -- missing/report.json
  refused --level 2 --vtk none --report a.json --history a.json -- a.json
}

# A trilinear function from its numbers at nodes, on the mesh of the file and a finer one; numbers on cells.
case_fields_from_files() {
  python3 - <<'PYTHON'
import struct

def save(name, shape, numbers):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + chr(10)
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(numbers)}d", *numbers))

save("nodes.npy", (4, 7, 5), [1 + i / 4 - 2 * j / 6 * k / 3 for k in range(4) for j in range(7) for i in range(5)])
save("cells.npy", (3, 6, 4), [7.0 if i >= 2 else 1.0 for k in range(3) for j in range(6) for i in range(4)])
save("other.npy", (3, 6, 5), [1.0] * 90)
PYTHON
  local level
  for level in 0 1; do
    solve --cells 4,6,3 --level $level --rhs '1+x-2*y*z' --exact '1+x-2*y*z' --back 'neumann:1+x-2*y'
    cp report.json other.json
    solve --cells 4,6,3 --level $level --rhs file:nodes.npy --exact file:nodes.npy --back 'neumann:1+x-2*y'
    check "abs(r['maximum'] - json.load(open('other.json'))['maximum']) < 1e-9"
    solve --cells 4,6,3 --level $level --rhs 1 --boundary '1+x-2*y*z' --left 'dirichlet:1+x-2*y*z'
    cp report.json other.json
    solve --cells 4,6,3 --level $level --rhs 1 --boundary file:nodes.npy --left dirichlet:file:nodes.npy
    check "abs(r['maximum'] - json.load(open('other.json'))['maximum']) < 1e-9"
  done
  solve --cells 4,6,3 --rhs 'x>1/2 ? 7 : 1'
  cp report.json other.json
  solve --cells 4,6,3 --rhs file:cells.npy
  check "abs(r['maximum'] - json.load(open('other.json'))['maximum']) < 1e-9"
  # What the program itself writes.
  run 0 --cells 4,6,3 --rhs '1+x*y*z' --vtk u.npy --quiet
  solve --cells 4,6,3 --rhs file:u.npy
  if has_vtk; then
    cp report.json other.json
    run 0 --cells 4,6,3 --rhs '1+x*y*z' --vtk u.vtr --quiet
    solve --cells 4,6,3 --rhs file:u.vtr:solution
    check "abs(r['maximum'] - json.load(open('other.json'))['maximum']) < 1e-12"
    solve --cells 4,6,3 --rhs 1 --kappa file:u.vtr:aspect_ratio
    refused --cells 4,6,3 --vtk none --rhs file:u.vtr -- 'has several arrays' 'PATH:ARRAY'
    refused --cells 4,6,3 --vtk none --rhs file:u.vtr:pressure -- "no array 'pressure'"
    refused --cells 4,6,3 --vtk none --rhs 1 --kappa file:u.vtr:solution -- "no array 'solution' of numbers on its cells"
  fi
  refused --cells 4,6,3 --vtk none --rhs file:other.npy -- --rhs 'has shape (3, 6, 5), and the mesh (3, 6, 4) cells and one more of its nodes'
  refused --code 5 --cells 4,6,3 --vtk none --rhs file:none.npy -- "cannot read 'none.npy'"
}

case_bodies() {
  local walls=(--bottom neumann --top neumann --front neumann --back neumann)
  # Plates, by all names of shapes; a wall with resistances on both of its sides.
  python3 -c "import struct; head = b\"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4, 4), }\".ljust(117) + b'\\n'
open('mask.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + struct.pack('<64d', *([1.0, 0, 0, 0] * 16)))"
  for shape in 'x < 0.25' 'box(0,0,0,1/4,1,1)' 'cylinder(-1,0.5,0.5,0.25,0.5,0.5,2)' file:mask.npy; do
    solve --cells 4 --level 1 --rhs 0 --left neumann --right dirichlet:1 "${walls[@]}" --body "$shape:value:0"
    check "abs(r['bodies'][0]['flux'] + 4 / 3) < 1e-7 and r['bodies'][0]['volume'] == 0.25 and r['fluxes'][1] + 4 / 3 < 1e-7"
  done
  solve --cells 8,2,2 --rhs 0 --left dirichlet:1 "${walls[@]}" --body 'box(1/4,0,0,1/2,1,1):k:4,1,1' --body 'box(1/4,0,0,1/2,1,1):contact:0.3'
  check "abs(r['fluxes'][1] - 1 / (3 / 4 + 1 / 16 + 0.6)) < 1e-7 and r['bodies'][0]['cells'] == 8"
  run 0 --cells 12 --rhs 1 --body 'ball(0.5,0.5,0.5,0.3):no-flux' --body 'x>0.9:value:1' --vtk u.npy --report report.json --precision mixed
  check "r['iterations'] <= 12 and abs(sum(r['fluxes']) - r['load_integral'] - r['bodies'][1]['flux']) < 1e-8"
  says 'warning: a body and a face differ by 1 at '
  # Between walls around one held value nothing flows but rounding, of which nobody is warned.
  run 0 --cells 8 --rhs 0 --left neumann --right neumann "${walls[@]}" --body 'ball(0.5,0.5,0.5,0.25):value:1' --vtk none
  says_nothing
  solve --convergence-table 3..4 --rhs 1 --body 'ball(0.5,0.5,0.5,0.3):no-flux'
  # Every room that nothing holds has its own constant. Cycles are in double there, whatever was asked for.
  local rooms=(--cells 8 --left neumann "${walls[@]}" --rhs 'x<1/2 ? 1 : 3' --body 'box(3/8,0,0,5/8,1,1):no-flux' --precision mixed --project)
  solve "${rooms[@]}" --right neumann
  check "[round(c, 9) for c in r['subtracted_from_f']] == [1, 3] and r['precision'] == 'double' and 'cycles in double' in r['choice']"
  prints '^load +1, 3 are subtracted from f in the rooms that nothing holds'
  solve "${rooms[@]}" --right dirichlet:0
  check "abs(r['subtracted_from_f'] - 1) < 1e-9 and r['precision'] == 'double'"
  prints '^load +1 is subtracted from f in the room that nothing holds'
  solve --cells 8 --rhs 1 --body 'ball(0.5,0.5,0.5,0.3):no-flux' --precision mixed
  check "r['subtracted_from_f'] == 0 and r['precision'] == 'mixed'"
  solve --cells 8 --rhs 1 --precision mixed
  check "r['solver'] == 'direct' and r['precision'] == 'double'"
  run 0 --cells 8 --rhs 1 --front neumann --back neumann --body 'box(0.25,0.25,0,0.5,0.5,1):no-flux' --body 'box(0.5,0.5,0,0.75,0.75,1):no-flux' --vtk none
  says 'warning: solids without flux touch each other in edges or corners alone at 9 nodes, the first of them \(0\.5, 0\.5, 0\): '
  local body=(--cells 8 --rhs 1 --vtk none --body)
  refused "${body[@]}" 'ball(0.5,0.5,0.5):value:1' -- --body 'is not ball(x,y,z,r)'
  refused "${body[@]}" 'ball(0.5,0.5,0.5,0.2):wall' -- --body 'is not SHAPE:KIND'
  refused "${body[@]}" 'x<0.5:k:1,2' -- 'not three, KXX,KYY,KZZ'
  refused "${body[@]}" 'ball(5,5,5,0.2):value:1' -- 'holds no cell' 'outside of the domain'
  refused "${body[@]}" '1:no-flux' -- 'no unknown is left'
  refused "${body[@]}" 'x<0.5:value:1' --body 'x<0.7:value:2' -- 'meet with different values'
  refused "${body[@]}" 'x<0.5:value:1' --method direct -- 'take the methods multigrid and auto, not direct'
  refused "${body[@]}" 'x<0.5:value:1' --reaction 1 -- 'cannot be combined with a reaction c'
  refused "${body[@]}" 'x<0.5:value:1' --exact x -- 'leave the exact solution out'
  refused "${body[@]}" 'ball(0.5,0.5,0.5,0.3):contact:1' -- 'do not fill a box'
  refused --cells 8 --vtk none --body 'x<0.5:value:1' -- --body --rhs
  refused --cells 8 --rhs 1 --left neumann --right neumann "${walls[@]}" --vtk none --body 'box(0.25,0,0,0.5,1,1):no-flux' -- 'nothing holds u in the room of 128 cells'
}

run_case "$2"
