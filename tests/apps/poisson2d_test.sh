#!/usr/bin/env bash
# poisson2d_test.sh POISSON2D CASE: what poisson2d solves, prints and writes, on a small mesh where the result does not matter.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--level 5 --vtk none)

case_default_run_writes_a_file_for_paraview() {
  run 0 --level 5
  prints '^status +converged'
  prints '^iterations +[0-9]+'
  prints '^residual'
  prints '^error +1\.110'
  prints 'unknowns per second'
  prints '^ +[0-9]+ +[0-9.e+-]+ +0\.[0-9]+'
  [ ! -s .errors ] || fail "writes to stderr without a terminal"
  if ! grep -q 'no file for ParaView' .output; then
    prints '^written +poisson2d_U1_L5\.(vtr|npy)'
    [[ $(files) == poisson2d_U1_L5.@(vtr|npy) ]] || fail "left '$(files)'"
  fi
}

case_every_named_mesh() {
  for mesh in U1 U2 U3 A1 A2 A3 A4 A5; do
    run 0 --mesh $mesh --smoother adi --level 6 --vtk none
    prints '^status +converged'
  done
  no_files
}

case_published_accuracy() {
  local mesh error
  while read -r mesh error; do
    for precision in mixed double; do
      run 0 --mesh "$mesh" --precision $precision --rtol 1e-10 --vtk none --quiet --report report.json
      check "abs(r['relative_l2_error'] / $error - 1) < 1e-4"
    done
  done <<END
U1 1.7344897e-5
A3 4.9063091e-5
A5 6.6448041e-5
END
}

case_vtk_file_holds_the_fields() {
  needs_vtk
  run 0 --mesh A2 --level 4 --vtk out.vtr
  has_files out.vtr
  for field in solution exact error rhs aspect_ratio; do
    grep -aqF "Name=\"$field\"" out.vtr || fail "no field $field in the file"
  done
  grep -aqF 'compressor="vtkLZ4DataCompressor"' out.vtr || fail "the file is not compressed"
  grep -aqF 'format="appended"' out.vtr || fail "the data are not appended"
}

case_compression_of_files() {
  needs_vtk
  local how
  for how in none fast best; do run 0 --level 6 --vtk $how.vtr --vtk-compress $how; done
  prints '^written +best\.vtr in [0-9.e+-]+ s'
  [ "$(stat -c %s best.vtr)" -lt "$(stat -c %s fast.vtr)" ] && [ "$(stat -c %s fast.vtr)" -lt "$(stat -c %s none.vtr)" ] ||
    fail "sizes $(stat -c %s best.vtr fast.vtr none.vtr)"
  grep -aqF compressor none.vtr && fail "none is compressed"
  refused --level 4 --vtk out.vtr --vtk-compress zip -- --vtk-compress zip none fast best
  refused --level 4 --vtk out.npy --vtk-compress best -- --vtk-compress .npy
}

case_arrays_for_numpy() {
  run 0 --cells 8,5 --rhs 0 --exact '1+2*x+3*y' --rtol 1e-13 --vtk u.npy --report report.json
  has_files report.json u.npy
  check "r['write_seconds'] > 0"
  cat >read.py <<'END'
import ast, struct, sys
data = open("u.npy", "rb").read()
assert data[:8] == b"\x93NUMPY\x01\x00"
(length,) = struct.unpack("<H", data[8:10])
assert (10 + length) % 64 == 0
header = ast.literal_eval(data[10 : 10 + length].decode())
assert header["descr"] == "<f8" and header["fortran_order"] is False
u = struct.unpack("<%dd" % ((len(data) - 10 - length) // 8), data[10 + length :])
END
  python3 - <<'END' || fail "not the array"
exec(open("read.py").read())
assert header["shape"] == (6, 9) and len(u) == 54
assert all(abs(u[9 * j + i] - (1 + i / 4 + 3 * j / 5)) < 1e-9 for j in range(6) for i in range(9))
END
  run 0 --cells 8,5 --rhs 1 --rhs x --vtk u.npy --quiet
  python3 -c 'exec(open("read.py").read()); assert header["shape"] == (2, 6, 9) and len(u) == 108' || fail "not two solutions"
}

case_default_names_of_other_meshes_differ() {
  needs_vtk
  local options
  for options in "--level 3" "--mesh A3 --level 3" "--cells 8,8" "--cells 8,9" "--cells 8,8 --grade-x tanh:2,last" \
    "--cells 8,8 --grade-y tanh:2,last" "--nu 0.3 --level 3" "--nu 0.4 --level 3" "--level 3 --domain 2,1" \
    "--level 3 --origin 1,1" "--level 3 --map x+y,y --rhs 1" "--level 3 --map x-y,y --rhs 1"; do
    # shellcheck disable=SC2086
    run 0 --quiet $options
  done
  [ "$(files | wc -w)" -eq 12 ] || fail "12 meshes, files $(files)"
  [ -e poisson2d_U1_L3.vtr ] && [ -e poisson2d_cells-8-8_grade-x-tanh-2-last_L0.vtr ] || fail "names are $(files)"
}

case_report_is_json_with_all_keys() {
  run 0 --mesh A3 --level 5 --vtk none --report report.json
  has_files report.json
  for key in status iterations inner_iterations residual_reduction relative_l2_error unknowns levels mesh smoother precision \
    operator backend setup_seconds solve_seconds seconds_per_unknown_per_digit history version; do
    check "'$key' in r"
  done
  check "r['status'] == 'converged' and r['mesh'] == 'A3' and r['smoother'] == 'adi' and r['precision'] == 'mixed'"
  check "r['unknowns'] == 31**2 and r['backend'] == 'cpu' and r['operator'] == 'tensor'"
  check "len(r['history']) == r['iterations'] + 1"
  check "r['residual_reduction'] <= 1e-8"
  check "0 < r['relative_l2_error'] < 1e-2"
}

# u = x (1 - x) y (1 - y), whose flux through each side is 1/6.
case_summary_of_the_solution() {
  run 0 --level 6 --rtol 1e-11 --vtk none --report report.json
  prints '^mesh .* smallest width 0\.0156'
  prints '^solution    0 at \(0, 0\) to 0\.0625[0-9]* at \(0\.5, 0\.5\); 0 to 0 on the boundary'
  prints '^flux        outward: left 0\.1666'
  prints '^balance     0\.66666[67], integral of f 0\.666667'
  [ ! -s .errors ] || fail "warns"
  check "all(abs(flux - 1 / 6) < 1e-4 for flux in r['fluxes'])"
  check "abs(sum(r['fluxes']) - r['load_integral']) < 1e-10 and abs(r['load_integral'] - 2 / 3) < 1e-12"
  check "r['minimum'] == 0 and abs(r['maximum'] - 0.0625) < 1e-4 and r['maximum_at'] == [0.5, 0.5]"
  check "r['boundary_range'] == [0, 0] and r['smallest_width'] == 1 / 64 and r['largest_step'] < 0.1"
  run 0 --level 5 --rhs 1 --left neumann:2 --right robin:10,0 --bottom periodic --top periodic --reaction 4 --rtol 1e-11 \
    --vtk none --report report.json
  check "r['fluxes'][0] == -2 and abs(r['fluxes'][2] + r['fluxes'][3]) < 1e-9"
  check "r['reaction_integral'] > 0.1 and abs(sum(r['fluxes']) + r['reaction_integral'] - 1) < 1e-9"
  run 0 --level 5 --left neumann --right neumann --bottom neumann --top neumann --rhs 1+x --project --vtk none --report report.json
  check "r['fluxes'] == [0, 0, 0, 0] and abs(r['load_integral']) < 1e-12"
  run 0 --level 4 --rhs 1 --rhs x --vtk none --report report.json
  check "abs(r['right_hand_sides'][1]['load_integral'] - 0.5) < 1e-12"
  run 3 --mesh A2 --smoother jacobi --vtk none --report report.json
  check "r['fluxes'] is None and r['maximum'] is None"
}

case_layers_that_are_not_resolved() {
  local layer=(--rhs 1 --reaction 1e6 --vtk none)
  run 0 --level 5 "${layer[@]}"
  grep -qE 'warning: the solution changes by 100 % of its range between the neighbouring nodes \(' .errors || fail "no warning"
  run 0 --level 5 "${layer[@]}" --quiet
  [ ! -s .errors ] || fail "quiet is not quiet"
  run 0 --cells 64,64 --grade-x shishkin:0.003,both --grade-y shishkin:0.003,both --solver cg "${layer[@]}"
  [ ! -s .errors ] || fail "warns of a layer that is resolved"
}

case_probe_along_a_line() {
  run 0 --level 5 --rhs 0 --exact '1+2*x+3*y+x*y' --rtol 1e-12 --vtk none --probe 0,1,0.5,0,4:line.csv
  prints '^written +line\.csv'
  has_files line.csv
  python3 - <<'END' || fail "the profile is wrong"
import csv, math
rows = list(csv.DictReader(open("line.csv")))
assert list(rows[0]) == ["x", "y", "s", "u"] and len(rows) == 4
for k, row in enumerate(rows):
    x, y, s, u = (float(row[name]) for name in "xysu")
    assert abs(x - k / 6) < 1e-14 and abs(y - (1 - k / 3)) < 1e-14 and abs(s - k / 3 * math.hypot(0.5, 1)) < 1e-14
    assert abs(u - (1 + 2 * x + 3 * y + x * y)) < 1e-9
END
  run 0 --level 5 --map 'x+y/2,y' --rhs 0 --exact '1+2*x+3*y' --rtol 1e-12 --vtk none --probe 0.5,1,1,0,3:line.csv
  tail -n 1 line.csv | awk -F, '{ exit !($1 == 1 && $2 == 0 && $4 > 2.999999 && $4 < 3.000001) }' || fail "on a deformed mesh"
  run 0 --level 4 --rhs 1 --rhs x --quiet --vtk none --probe 0,0,1,1,3:-
  [ "$(head -n 1 .output)" = x,y,s,u_1,u_2 ] || fail "not both solutions"
  run 0 --cells 8,8 --origin 5,5 --vtk none --rhs 1 --probe 5,5,6,6,2:line.csv
  run 0 --rhs 0 --convergence-table 2..3 --exact 'x+y' --probe 0,0,1,1,3:line.csv
  run 3 --mesh A2 --smoother jacobi --vtk none --probe 0,0,1,1,3:other.csv
  prints 'not written other.csv'
  has_files line.csv
}

case_probes_that_cannot_be() {
  refused "${small[@]}" --probe 0,0,1,1,11 -- --probe X0,Y0,X1,Y1,N:FILE.csv
  refused "${small[@]}" --probe 0,0,1,1,11: -- --probe 'names no file'
  refused "${small[@]}" --probe 0,0,1,11:a.csv -- --probe X0,Y0,X1,Y1,N
  refused "${small[@]}" --probe 0,0,1,x,11:a.csv -- --probe "'x'"
  refused "${small[@]}" --probe 0,0,1,1,1:a.csv -- --probe "'1'" '2 ..'
  refused "${small[@]}" --probe 0,0,1,1.5,5:a.csv -- --probe '(0.75, 1.125), point 4 of 5, is outside the domain'
  refused "${small[@]}" --probe 1,1,1,1,5:a.csv -- --probe 'both ends'
  refused "${small[@]}" --probe 0,0,1,1,5:a.csv --report a.csv -- a.csv
  refused --code 5 "${small[@]}" --probe 0,0,1,1,5:missing/a.csv -- missing/a.csv
  refused --level 4 --vtk none --map 'x+y,y' --rhs 1 --probe 0,0,0,1,3:a.csv -- '(0, 0.5), point 2 of 3, is outside'
}

case_picture() {
  run 0 --level 5 --vtk none --png u.png
  if grep -q 'no VTK that draws' .errors; then skip "this build draws nothing"; fi
  prints '^written +u\.png'
  has_files u.png
  cat >read.py <<'END'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
chunks, at = b"", 8
while at < len(data):
    (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", data[at + 8 : at + 18])
        assert (depth, colour) == (8, 2)
    if kind == b"IDAT":
        chunks += data[at + 8 : at + 8 + length]
    at += 12 + length
raw, rows, row = zlib.decompress(chunks), [], bytes(3 * width)
def nearest(left, up, corner):
    d, e, f = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    return left if d <= e and d <= f else up if e <= f else corner
# What filters 1 to 4 add to a byte.
guesses = [lambda left, up, corner: left, lambda left, up, corner: up, lambda left, up, corner: (left + up) // 2, nearest]
for j in range(height):
    kind, before, row = raw[j * (3 * width + 1)], row, bytearray(raw[j * (3 * width + 1) + 1 : (j + 1) * (3 * width + 1)])
    for k in range(3 * width if kind else 0):
        left, corner = (row[k - 3], before[k - 3]) if k > 2 else (0, 0)
        row[k] = (row[k] + guesses[kind - 1](left, before[k], corner)) % 256
    rows.append(bytes(row))
pixel = lambda x, y: tuple(rows[y][3 * x : 3 * x + 3])
END
  # The middle of the panel has the largest value, its corners the smallest; text above it and beside the legend.
  python3 - u.png <<'END' || fail "not the picture"
exec(open("read.py").read())
assert width < height * 1.4
assert pixel(96 + 280, 48 + 280) == (253, 231, 37) and pixel(97, 49) == (68, 1, 84) and pixel(0, 0) == (255, 255, 255)
assert any(pixel(x, y) < (100, 100, 100) for x in range(96, 400) for y in range(10, 40))
assert any(pixel(x, y) < (100, 100, 100) for x in range(96 + 560 + 55, width) for y in range(40, 60))
END
  rm u.png
  run 0 --level 5 --mesh A3 --vtk none --png u.png
  python3 - u.png <<'END' || fail "nothing is enlarged"
exec(open("read.py").read())
assert width > height * 2 and pixel(96 + 558, 48 + 558) != pixel(96 + 280, 48 + 280)
END
  rm u.png
  run 0 --level 5 --map 'x+y/2,y' --rhs 1 --rhs x --vtk none --png u.png
  run 3 --mesh A2 --smoother jacobi --vtk none --png v.png
  prints 'not written v.png'
  refused "${small[@]}" --png u.jpg -- --png u.jpg .png
  refused --code 5 "${small[@]}" --png missing/u.png -- missing/u.png
  has_files read.py u.png
}

case_history_is_csv() {
  run 0 "${small[@]}" --history history.csv --report report.json
  has_files history.csv report.json
  [ "$(head -n 1 history.csv | tr -cd , | wc -c)" -ge 1 ] || fail "no heading in history.csv"
  [ "$(wc -l <history.csv)" -eq $(($(report iterations) + 2)) ] || fail "not one line for each iteration"
}

case_quiet_prints_nothing() {
  run 0 "${small[@]}" --quiet
  [ ! -s .output ] && [ ! -s .errors ] || fail "quiet is not quiet"
}

case_convergence_table() {
  run 0 --mesh A3 --convergence-table 4..7 --rtol 1e-10
  prints '^ +7 +16129 .* 4\.0|^ +7 +16129 .* 3\.9'
  [ "$(grep -cE '^ +[4-7] ' .output)" -eq 4 ] || fail "not one line for each level"
  no_files
}

case_convergence_table_without_an_exact_solution() {
  # The nodal errors of a known solution, hidden from the program.
  local sine=(--rhs '2*pi^2*sin(pi*x)*sin(pi*y)' --rtol 1e-11)
  run 0 "${sine[@]}" --convergence-table 3..6 --report report.json
  prints '^level +unknowns .* difference +order +estimated error'
  check "[row['order'] is None for row in r['convergence_table']] == [True, True, False, False]"
  check "[row['relative_l2_difference'] is None for row in r['convergence_table']] == [True, False, False, False]"
  check "abs(r['convergence_table'][3]['order'] - 2) < 0.05"
  mv report.json table.json
  run 0 "${sine[@]}" --exact 'sin(pi*x)*sin(pi*y)' --level 6 --vtk none --probe 0.5,0.5,0.75,0.75,2:line.csv
  # The largest error is in the middle; relative nodal errors of a sine are the same everywhere on an even mesh.
  python3 - <<'END' || fail "the estimate is not the error"
import csv, json
estimate = json.load(open("table.json"))["convergence_table"][3]["estimated_l2_error"]
error = abs(float(next(csv.DictReader(open("line.csv")))["u"]) - 1)
assert 0.8 < estimate / error < 1.25, (estimate, error)
END
  run 0 --convergence-table 2..4 --rhs 1 --map 'x+y/2,y' --left neumann --reaction 1
  run 0 --convergence-table 0..2 --rhs 1 --cells 5,7 --grade-x tanh:2,both
  # A constant has no differences.
  run 0 --convergence-table 2..4 --rhs 0 --boundary 3
}

case_largest_and_energy_errors() {
  run 0 --convergence-table 4..6 --rtol 1e-11 --report report.json
  prints '^level .* largest +energy'
  check "all(3.9 < a['relative_largest_error'] / b['relative_largest_error'] < 4.1 and
    1.95 < a['relative_energy_error'] / b['relative_energy_error'] < 2.05
    for a, b in zip(r['convergence_table'], r['convergence_table'][1:]))"
  run 0 --level 5 --vtk none --report report.json
  prints '^error +1\.110.* largest [0-9.e-]+, energy [0-9.e-]+$'
  # That of interpolation: |u|_2 / |u|_1 h / 12^(1/2), up to the mixed derivative.
  check "abs(r['relative_energy_error'] * 32 - 1) < 0.3"
}

case_full_multigrid_in_one_pass() {
  run 0 --mesh A5 --cycle fmg --sweeps 2 --vtk none --report report.json
  check "r['iterations'] == 1"
  check "r['relative_l2_error'] < 1.1 * 6.6448041e-5"
  run 0 --mesh A5 --cycle fmg --rtol 1e-9 --vtk none --report report.json
  check "r['residual_reduction'] <= 1e-9"
}

case_full_multigrid_with_boundary_values() {
  run 0 --rhs '2*pi^2*sin(pi*x)*sin(pi*y)' --exact 'sin(pi*x)*sin(pi*y)+1+x+2*y' --cycle fmg --sweeps 2 --vtk none \
    --report report.json
  check "r['relative_l2_error'] < 3e-6"
}

case_coefficients() {
  run 0 --level 5 --rhs 1 --kappa 'x>1/2 ? 1000 : 1' --vtk none
  prints '^status +converged'
  prints '^problem +kappa x>1/2'
  # Second order, a scalar K and a tensor.
  run 0 --convergence-table 5..6 --kappa '2+x*y' --exact 'sin(x+y)' --rhs '2*(2+x*y)*sin(x+y)-(x+y)*cos(x+y)' --vtk none
  prints ' 4\.000 '
  run 0 --convergence-table 5..6 --kappa '2,0.5,1' --exact 'sin(x+y)' --rhs '4*sin(x+y)' --vtk none
  prints ' 4\.000 '
  run 0 --convergence-table 5..6 --kappa 1+x --reaction 3 --exact 'sin(x+y)' --rhs '(5+2*x)*sin(x+y)-cos(x+y)' --vtk none
  prints ' 4\.000 '
  run 0 --level 5 --kappa 2 --reaction 'x*y' --rhs 1 --mesh A3 --vtk none
  refused --level 4 --vtk none --kappa -1 -- "positive definite" "cell (0, 0)"
  refused --level 4 --vtk none --kappa 1,2,1 -- "positive definite"
  refused --level 4 --vtk none --kappa 1,2 -- KXX,KXY,KYY
  refused --level 4 --vtk none --rhs 1 --reaction '-x' -- "must not be negative" "cell (0, 0)"
  refused --level 4 --vtk none --kappa 'x+' -- --kappa
  refused --level 4 --vtk none --kappa 1+x --operator nine-band -- --operator
  run 0 --level 4 --vtk none --rhs 1 --kappa '1+x*y' --report report.json
  check "r['operator'] == 'cell' and r['solver'] == 'cg' and r['kappa'] == '1+x*y'"
}

case_sides_of_every_kind() {
  run 0 --level 5 --rhs 1 --left neumann --right robin:10,0 --reaction 4 --vtk none
  prints '^status +converged'
  prints '^problem +left neumann, right robin:10,0, reaction 4'
  prints '33 x 31 unknowns'
  # A bilinear function again, with its fluxes.
  run 0 --level 4 --mesh A1 --rhs 0 --exact '1+2*x+3*y+x*y' --left neumann:-2-y --top 'robin:1+x,3+x+(1+x)*(1+2*x+3*y+x*y)' \
    --rtol 1e-11 --vtk none --report report.json
  if grep -q muParser .errors; then skip "this build has no muParser"; fi
  check "r['relative_l2_error'] < 1e-10"
  run 0 --cells 30,21 --left periodic --right periodic --rhs 'sin(2*pi*x)' --vtk none
  prints '30 x 20 unknowns'
  run 0 --level 6 --left neumann --right neumann --bottom neumann --top neumann --rhs '2*pi^2*cos(pi*x)*cos(pi*y)' \
    --exact '7+cos(pi*x)*cos(pi*y)' --vtk none --report report.json
  check "r['relative_l2_error'] < 3e-4"
  run 0 --level 3 --rhs 0 --left dirichlet:1 --top dirichlet:2 --vtk none
  grep -q 'differ by 2 at their corner' .errors || grep -q 'differ by [12] at their corner' .errors ||
    fail "the corner is not reported"
}

case_sides_that_cannot_be() {
  refused "${small[@]}" --left periodic -- periodic left right
  refused "${small[@]}" --left other -- --left dirichlet neumann robin periodic
  refused "${small[@]}" --left robin:1 -- robin:ALPHA,G
  refused "${small[@]}" --left robin:-1,0 -- alpha left -1
  refused "${small[@]}" --left periodic:1 --right periodic -- periodic
  refused "${small[@]}" --top 'neumann:x+' -- --top
  refused "${small[@]}" --reaction -1 -- --reaction
  refused --cells 2,8 --left periodic --right periodic --vtk none -- "at least 3"
  refused "${small[@]}" --left neumann --right neumann --bottom neumann --top neumann --rhs 1 -- "incompatible data" --project
  run 0 "${small[@]}" --left neumann --right neumann --bottom neumann --top neumann --rhs 1+x --project
}

# --project leaves nothing of a constant f but zero, which is solved at once.
case_nothing_is_left_of_a_constant() {
  local none=(--left neumann --right neumann --bottom neumann --top neumann --project --level 6 --vtk none --report report.json)
  for choice in "" "--mesh A3" "--kappa 1+x*y" "--solver cg" "--kappa 1+x*y --solver multigrid" "--precision double" \
    "--precision single" "--cycle fmg" "--cycle fmg --rtol 1e-8" "--map x+y/3,y" "--map x+x*y,y --kappa 1+x"; do
    # shellcheck disable=SC2086
    run 0 "${none[@]}" --rhs 3 --exact 0 $choice
    check "r['status'] == 'converged' and r['residual'] == 0 and r['relative_l2_error'] == 0"
    check "r['iterations'] == $([[ $choice == *fmg* ]] && echo 1 || echo 0)"
  done
  run 0 "${none[@]}" --rhs 3 --rhs x
}

case_every_choice_runs() {
  for choice in "--smoother line_x" "--smoother line_y" "--smoother colour_gs" "--smoother jacobi" "--line-order simultaneous" \
    "--damping 0.9" "--sweeps 2" "--cycle w" "--cycle f" "--precision double" "--inner cycles:2" "--inner rtol:1e-2" \
    "--solver cg" "--solver fcg" "--solver cr" "--solver gcr --restart 3" "--solver gmres" "--solver bicgstab" "--operator symmetric" "--operator nine-band" "--reference-norm initial" "--rtol 1e-6" "--atol 1e-3" "--threads 1"; do
    # shellcheck disable=SC2086
    run 0 --level 4 --vtk none $choice
  done
  no_files
}

case_smoother_auto_says_what_it_chose_and_why() {
  run 0 --level 5 --smoother auto --vtk none
  prints 'multigrid, v-cycle, auto;'
  prints '^smoother  31 x 31 to 3 x 3: colour_gs, 2 \+ 2 sweeps, undamped; cells nearly square'
  run 0 --mesh U3 --level 5 --smoother auto --damping 0.9 --sweeps 3 --vtk none
  prints '31 x 31 to 3 x 3: line_x, 3 \+ 3 sweeps, damped by 0.9; cells up to 16 times as high as wide'
  run 0 --mesh A3 --level 5 --smoother auto --vtk none --report r.json
  prints '31 x 31 .*: adi, 2 \+ 2 sweeps, undamped; cells up to .* times as high as wide here and .* as wide as high there'
  prints '^cycle     V-cycles: neighbouring widths differ by factors of up to 7 in x and 7 in y'
  grep -q '"unknowns": \[31, 31\], "smoother": "adi", "sweeps": 2, "reason": "cells' r.json || fail "no choice in the report"
  local crossing=(--cells 64,64 --grade-x shishkin:1e-6,last --grade-y shishkin:1e-6,last --smoother auto --vtk none)
  run 0 "${crossing[@]}"
  prints 'solver    cg, '
  prints '^cycle     conjugate gradients: neighbouring widths'
  run 0 "${crossing[@]}" --solver multigrid
  prints 'solver    multigrid, v-cycle, auto'
  run 0 "${crossing[@]}" --cycle w
  prints 'solver    multigrid, w-cycle, auto'
}

case_several_right_hand_sides() {
  run 0 --level 4 --rhs 1 --rhs 'sin(x)*y' --rhs 0 --vtk none --report r.json --history h.csv
  prints '^    1 .* converged'
  prints '^    3 +0 .* converged'
  has_files h.csv r.json
  [ "$(grep -c '"rhs": ".*"history": \[' r.json)" -eq 3 ] || fail "not three right-hand sides in the report"
  grep -q '"rhs": "sin(x)\*y",' r.json || fail "the report does not name the right-hand side"
  grep -q '^rhs,iteration,residual,relative_residual$' h.csv && grep -q '^2,1,' h.csv || fail "history"
  rm h.csv r.json
  local pi='3.14159265358979'
  run 0 --level 4 --rhs "2*$pi^2*sin($pi*x)*sin($pi*y)" --rhs 4 --exact "sin($pi*x)*sin($pi*y)" --exact '-x*x-y*y' --vtk none
  [ "$(grep -c 'converged' .output)" -eq 2 ] && ! grep -q 'not known' .output || fail "two errors"
  run 0 --rhs 1 --rhs x --print-config
  [ "$(grep -c '^rhs=' .output)" -eq 2 ] || fail "the configuration has not both"
  run 2 --level 4 --rhs 0 --rhs 1 --max-iterations 1 --vtk none
  refused --rhs 1 --rhs 2 --exact x -- '--exact' '1 given for 2'
  refused --rhs 1 --rhs 2 --exact x --exact y --convergence-table 2..3 -- 'one right-hand side, not 2'
  has_vtk || return 0
  run 0 --level 4 --rhs 1 --rhs 'sin(x)*y' --rhs 0 --vtk three.vtr
  has_files three.vtr
  local name
  for name in solution_1 solution_3 rhs_2; do grep -q "Name=\"$name\"" three.vtr || fail "$name is not in the file"; done
}

case_bare_nu_and_domain_describe_a_mesh() {
  run 0 --level 5 --nu 0.3 --vtk none --report report.json
  check "r['nu'] == 0.3"
  run 0 --level 5 --domain 2,0.5 --vtk none --report report.json
  check "r['domain'] == [2, 0.5]"
}

case_expressions() {
  run 0 --level 5 --rhs '2*pi^2*sin(pi*x)*sin(pi*y)' --exact 'sin(pi*x)*sin(pi*y)' --vtk none --report report.json
  if grep -q muParser .errors; then skip "this build has no muParser"; fi
  check "1e-4 < r['relative_l2_error'] < 2e-3"
  # A bilinear function is the discrete solution.
  run 0 --level 4 --mesh A1 --rhs 0 --exact '1+2*x+3*y+x*y' --rtol 1e-12 --vtk none --report report.json
  check "r['relative_l2_error'] < 1e-11"
  run 0 --level 4 --rhs 1 --boundary x --vtk none --report report.json
  check "r['relative_l2_error'] is None"
}

case_help_teaches() {
  run 0 --help
  for option in mesh list-meshes level domain nu smoother list-smoothers line-order damping sweeps cycle precision inner solver restart \
    operator rtol atol reference-norm max-iterations rhs exact boundary left right bottom top kappa reaction project backend threads vtk vtk-compress png report history probe config print-config quiet \
    convergence-table; do
    prints "--$option\\b"
  done
  prints '[Ee]xample'
  prints 'poisson2d --mesh A3'
}

case_every_function_of_the_help_is_one() {
  run 0 --help
  local functions name
  functions=$(sed -n '/^  sin cos/s/^  //p' .output)
  [ "$(wc -w <<<"$functions")" -ge 20 ] || fail "functions are '$functions'"
  for name in $functions; do
    run 0 --rhs "$name($([ "$name" = atan2 ] && echo y,)x)" --print-config
    if grep -q muParser .errors; then skip "this build has no muParser"; fi
  done
  for name in min max sum avg; do run 0 --level 2 --vtk none --quiet --rhs "$name(x, y, 1)"; done
  for name in 'x == y ? 1 : 2' 'x != 0 && y >= 1 || x <= y' '-x^2*y/3'; do run 0 --level 2 --vtk none --quiet --rhs "$name"; done
  # log is ln, and -x^2 is -(x^2).
  run 0 --level 3 --vtk none --rhs 1 --boundary 'log(e) - ln(e) + (-2^2 == -4)' --report report.json
  check "r['boundary_range'] == [1, 1]"
}

case_lists() {
  run 0 --list-meshes
  for mesh in U1 U2 U3 A1 A2 A3 A4 A5; do prints "^$mesh "; done
  run 0 --list-smoothers
  for smoother in jacobi colour_gs line_x line_y adi; do prints "^$smoother "; done
}

case_configuration_goes_round() {
  run 0 --mesh A3 --level 4 --rtol 1e-10 --smoother line_x --vtk none --print-config
  cp .output run.cfg
  run 0 --config run.cfg --report report.json --quiet
  check "r['mesh'] == 'A3' and r['smoother'] == 'line_x' and r['unknowns'] == 225 and r['residual_reduction'] <= 1e-10"
  refused --rhs ' x' --print-config -- rhs blanks
  refused --rhs 'x#y' --print-config -- rhs '#'
  # The command line wins.
  run 0 --config run.cfg --smoother adi --report report.json --quiet
  check "r['smoother'] == 'adi' and r['mesh'] == 'A3'"
  printf 'rhs=x\nrhs=y\nquiet=false # for now\n\t rtol = 1e-3 \r\n' >run.cfg
  run 0 --config run.cfg --print-config
  [ "$(grep -vc '^#' .output)" -eq 4 ] && prints '^# quiet=true$' && prints '^rtol=1e-3$' || fail "not what the file has"
  run 0 --config run.cfg --rhs 1 --quiet --print-config
  [ "$(grep '^rhs=' .output)" = rhs=1 ] && prints '^quiet=true$' || fail "the command line does not win"
}

case_small_problems() {
  # One unknown; none is refused.
  run 0 --level 1 --vtk none --report report.json
  check "r['unknowns'] == 1 and r['status'] == 'converged'"
  refused --level 0 --vtk none -- '1 x 1 cells, and between its boundaries no unknowns'
  refused --cells 1,8 --vtk none -- '1 x 8 cells, and between its boundaries no unknowns'
  run 0 --cells 1,8 --left neumann --right neumann --rhs 1 --vtk none --report report.json
  check "r['unknowns'] == 14 and r['status'] == 'converged'"
}

case_zero_right_hand_side() {
  run 0 "${small[@]}" --rhs 0 --report report.json
  if grep -q muParser .errors; then skip "this build has no muParser"; fi
  check "r['status'] == 'converged' and r['iterations'] == 0"
  prints '^status +converged'
}

run_case "$2"
