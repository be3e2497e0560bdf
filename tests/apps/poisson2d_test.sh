#!/usr/bin/env bash
# poisson2d_test.sh PROGRAM CASE: runs one case of the command line of poisson2d, on a small mesh where the result does not
# matter.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

# The value of a key in report.json.
report() {
  python3 -c 'import json, sys; print(json.load(open("report.json"))[sys.argv[1]])' "$1"
}

needs_vtk() {
  export ASAN_OPTIONS=detect_leaks=0 # VTK's writer loses some bytes where it fails
  "$program" --backend cpu --level 1 --quiet --vtk probe.vtr 2>/dev/null || skip "this build has no VTK"
  rm probe.vtr
}

small=(--level 5 --vtk none)

# --- what works ----------------------------------------------------------------------------------------------------------

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
  run 0 --mesh A2 --level 4 --vtk out.vtr
  if grep -q 'has no VTK' .errors; then skip "this build has no VTK"; fi
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
  prints '^mesh .* thinnest 0\.0156 wide'
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
raw, rows, before = zlib.decompress(chunks), [], bytes(3 * width)
for j in range(height):
    kind, row = raw[j * (3 * width + 1)], bytearray(raw[j * (3 * width + 1) + 1 : (j + 1) * (3 * width + 1)])
    for k in range(3 * width):
        left, up, corner = row[k - 3] if k > 2 else 0, before[k], before[k - 3] if k > 2 else 0
        guess = left + up - corner
        nearest = min((left, up, corner), key=lambda v: abs(guess - v))
        row[k] = (row[k] + [0, left, up, (left + up) // 2, nearest][kind]) % 256
    rows.append(bytes(row))
    before = bytes(row)
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
  run 0 --level 4 --rhs 1 --rhs 'sin(x)*y' --rhs 0 --vtk three.vtr --report r.json --history h.csv
  prints '^    1 .* converged'
  prints '^    3 +0 .* converged'
  has_files h.csv r.json three.vtr
  [ "$(grep -c '"rhs": ".*"history": \[' r.json)" -eq 3 ] || fail "not three right-hand sides in the report"
  grep -q '"rhs": "sin(x)\*y",' r.json || fail "the report does not name the right-hand side"
  grep -q '^rhs,iteration,residual,relative_residual$' h.csv && grep -q '^2,1,' h.csv || fail "history"
  local name
  for name in solution_1 solution_3 rhs_2; do grep -q "Name=\"$name\"" three.vtr || fail "$name is not in the file"; done
  rm h.csv r.json three.vtr
  local pi='3.14159265358979'
  run 0 --level 4 --rhs "2*$pi^2*sin($pi*x)*sin($pi*y)" --rhs 4 --exact "sin($pi*x)*sin($pi*y)" --exact '-x*x-y*y' --vtk none
  [ "$(grep -c 'converged' .output)" -eq 2 ] && ! grep -q 'not known' .output || fail "two errors"
  run 0 --rhs 1 --rhs x --print-config
  [ "$(grep -c '^rhs=' .output)" -eq 2 ] || fail "the configuration has not both"
  run 2 --level 4 --rhs 0 --rhs 1 --max-iterations 1 --vtk none
  refused --rhs 1 --rhs 2 --exact x -- '--exact' '1 given for 2'
  refused --rhs 1 --rhs 2 --exact x --exact y --convergence-table 2..3 -- 'one right-hand side, not 2'
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

# --- what does not converge says so --------------------------------------------------------------------------------------

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
  prints '^status +round-off limit: .* as small as rounding lets'
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
    prints 'status +round-off limit: the residual'
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
  check "abs(float(r['reason'].split()[1]) / r['residual'] - 1) < 1e-4"
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
  local options cells plate=(--domain 10,1.001 --rhs 0 --kappa 'y < 1 ? 1 : 400' --left neumann --right neumann
    --top 'neumann:abs(x-5) < 1 ? 100 : 0' --bottom robin:0.1,0 --grade-y shishkin:1e-3,last --vtk none)
  for cells in 60,32 60,64 50,64 100,64; do
    run 0 "${plate[@]}" --cells $cells --report report.json
    prints 'double-precision fallback'
    check "r['iterations'] <= 20 and abs(r['maximum'] / 309.47 - 1) < 1e-3 and r['estimated_error'] < 1e-6"
  done
  for options in '--solver gmres' '--solver fcg' '--precision residual-replacement' '--precision double'; do
    # shellcheck disable=SC2086
    run 0 "${plate[@]}" --cells 50,64 $options --report report.json
    check "r['iterations'] <= 20 and abs(r['maximum'] / 309.47 - 1) < 1e-3"
  done
  # What has not converged is not helped by another tolerance.
  run 2 "${plate[@]}" --cells 50,64 --max-iterations 2
  grep -q 'warning: the solve did not converge (max iterations), and the balance is off by' .errors || fail 'no warning'
  if grep -q 'smaller --rtol' .errors; then fail 'advises a smaller --rtol'; fi
}

# --- bad input -----------------------------------------------------------------------------------------------------------

case_unknown_names_list_the_known() {
  refused "${small[@]}" --mesh B1 -- --mesh B1 U1 A5
  refused "${small[@]}" --smoother ssor -- --smoother ssor jacobi colour_gs line_x line_y adi auto
  refused "${small[@]}" --line-order random -- --line-order random zebra simultaneous
  refused "${small[@]}" --cycle x -- x v w f fmg
  refused "${small[@]}" --precision half -- half mixed double residual-replacement double-single single
  refused "${small[@]}" --solver sor -- sor multigrid cg gmres
  refused "${small[@]}" --restart 5 -- gmres
  refused "${small[@]}" --solver gcr --restart 0 -- restart
  refused "${small[@]}" --operator dense -- dense tensor symmetric nine-band
  refused "${small[@]}" --reference-norm other -- other rhs initial
  refused "${small[@]}" --inner steps:2 -- steps:2 cycles rtol
  run 1 "${small[@]}" --backend tpu
}

case_unknown_options_are_refused() {
  refused "${small[@]}" --mehs A3 -- "unknown option '--mehs'" 'did you mean --mesh?'
  refused "${small[@]}" --lev 4 -- "unknown option '--lev'" 'did you mean --level?'
  refused "${small[@]}" --Quiet=true -- "'--Quiet'" 'did you mean --quiet?'
  refused "${small[@]}" --%canonical_option% -- canonical_option
  refused "${small[@]}" --=3 -- "unknown option '--'"
  refused "${small[@]}" --colour blue -- colour --help
  # What was called otherwise before.
  refused "${small[@]}" --steps 2 -- "unknown option '--steps': it is called --sweeps now"
  refused "${small[@]}" --baseline rhs -- "'--baseline': it is called --reference-norm now"
  refused "${small[@]}" --cut-lines exact -- "'--cut-lines': it is called --distributed-smoothing now"
  refused "${small[@]}" --precision float-cg -- "--precision: unknown name 'float-cg': it is called residual-replacement now"
  refused "${small[@]}" --precision two-float -- "'two-float': it is called double-single now"
  refused "${small[@]}" --rhs 1 --kappa 1+x --interpolation network -- "'network': it is called conductance now"
  refused "${small[@]}" --inner digits:2 -- "digits:N is called rtol:X now"
  if grep -q 'did you mean' .errors; then fail "suggests what is far off"; fi
  for stray in stray - -q -level ''; do refused "${small[@]}" "$stray" -- "unexpected argument '$stray'"; done
}

case_values_stand_where_they_belong() {
  refused "${small[@]}" --rtol -- 'rtol lacks its value' '--rtol=X'
  refused "${small[@]}" --rtol= -- 'rtol lacks its value'
  refused "${small[@]}" --rtol --quiet -- 'rtol lacks its value'
  refused "${small[@]}" --rhs -h -- 'rhs lacks its value'
  refused "${small[@]}" --quiet=true -- 'quiet takes no value'
  refused "${small[@]}" --help=yes -- 'help takes no value'
  refused "${small[@]}" --quiet true -- "unexpected argument 'true'"
  refused "${small[@]}" --sweeps 2 --sweeps=4 -- 'sweeps is given twice'
  refused "${small[@]}" --quiet --quiet -- 'quiet is given twice'
  refused "${small[@]}" --rtol -1 -- "'-1'" rtol
  run 0 -h
  prints '^Mesh:'
  # One dash begins a value, two do so behind = alone.
  run 0 --rhs -x --report=--r.json --vtk=a=b.vtr --print-config
  for line in rhs=-x report=--r.json vtk=a=b.vtr; do prints "^$line$"; done
}

case_numbers_out_of_range() {
  for value in -1 21 x 3.5 '' 99999999999; do refused --vtk none --level="$value" -- level; done
  for value in 0 2 -0.5 3 nan inf x ''; do refused "${small[@]}" --nu="$value" -- nu; done
  for value in 0,1 1,0 -1,1 1 1,2,3 a,b inf,1 nan,1 ''; do refused "${small[@]}" --domain="$value" -- domain; done
  for value in 0 -1e-8 nan inf x 1e-8x ''; do refused "${small[@]}" --rtol="$value" -- rtol; done
  for value in -1 nan inf x; do refused "${small[@]}" --atol="$value" -- atol; done
  for value in -2 x 1.5; do refused "${small[@]}" --sweeps="$value" -- sweeps; done
  for value in -1 x 2.5; do refused "${small[@]}" --threads="$value" -- threads; done
  for value in 0 2 -1 nan x; do refused "${small[@]}" --damping="$value" -- damping; done
  for value in 0 -5 x; do refused "${small[@]}" --max-iterations="$value" -- max-iterations; done
  for value in cycles:0 rtol:0 cycles:-1 cycles cycles:x rtol:1 digits:2; do refused "${small[@]}" --inner="$value" -- inner; done
  for value in 5 5..3 a..b 3.. -1..3 3..21; do refused --convergence-table="$value" -- convergence-table; done
}

case_an_odd_number_of_adi_steps() {
  refused "${small[@]}" --sweeps 3 -- sweeps 3
  refused "${small[@]}" --smoother adi --sweeps 1 -- sweeps 1
  run 0 "${small[@]}" --smoother colour_gs --sweeps 3
}

case_bad_expressions() {
  run 1 "${small[@]}" --rhs '2*'
  if grep -q 'no muParser' .errors; then skip "this build has no muParser"; fi
  refused "${small[@]}" --rhs '2*' -- '2*' rhs
  refused "${small[@]}" --rhs 'sin(x' -- 'sin(x'
  refused "${small[@]}" --rhs 'foo+1' -- foo
  refused "${small[@]}" --rhs 1 --exact 'x y' -- 'x y' exact
  refused "${small[@]}" --boundary ')' -- boundary
  refused "${small[@]}" --rhs '' -- rhs
  # Expressions that parse, with values that are not finite.
  refused "${small[@]}" --rhs 0 --boundary 'x=0 ? 1 : 0' -- --boundary "'x==0 ? 1 : 0'"
  refused "${small[@]}" --rhs '0 < x < 1' -- rhs '&&'
  for expression in '1/0' 'sqrt(-1)' 'log(-1)'; do
    refused "${small[@]}" --rhs "$expression" -- finite
  done
  no_files
}

case_unwritable_outputs_are_found_before_solving() {
  for option in --report --history; do
    refused --code 5 "${small[@]}" $option missing/out.txt -- missing/out.txt
    refused --code 5 "${small[@]}" $option . -- .
    refused --code 5 "${small[@]}" $option /dev/null -- /dev/null
    prints_no_iteration
  done
  run 5 --level 4 --vtk missing/out.vtr
  if grep -q 'no VTK' .errors; then skip "this build has no VTK"; fi
  refused --code 5 --level 4 --vtk missing/out.vtr -- missing/out.vtr
  prints_no_iteration
  refused --level 4 --vtk out.png -- out.png .vtr
}

prints_no_iteration() {
  if grep -q '^iterations' .output; then fail "solved before it looked at its outputs"; fi
}

case_outputs_must_differ() {
  refused "${small[@]}" --report out --history out -- out
  refused "${small[@]}" --report out --history ./out -- out
  echo level=4 >run.cfg
  refused --vtk none --config run.cfg --report ./run.cfg -- run.cfg 'read by --config'
}

case_links_and_modes() {
  mkdir elsewhere
  echo old >elsewhere/report.json
  chmod 640 elsewhere/report.json
  ln -s elsewhere/report.json report.json
  ln -s elsewhere/history.csv history.csv
  run 0 "${small[@]}" --report report.json --history history.csv
  [ -L report.json ] && [ -L history.csv ] || fail "a link is gone"
  [ "$(stat -c %a elsewhere/report.json)" = 640 ] || fail "the mode is $(stat -c %a elsewhere/report.json), not 640"
  check "r['status'] == 'converged'"
  grep -q iteration elsewhere/history.csv || fail "nothing behind the link"
  has_files elsewhere elsewhere/history.csv elsewhere/report.json history.csv report.json
  refused "${small[@]}" --report report.json --history elsewhere/report.json -- elsewhere/report.json
  ln -s round round
  refused --code 5 "${small[@]}" --report round -- round
}

case_outputs_on_standard_output() {
  run 0 --level 4 --vtk none --report -
  python3 -c 'import json; assert json.load(open(".output"))["status"] == "converged"' || fail "no JSON alone"
  grep -q '^status' .errors || fail "nothing for people"
  run 0 --level 4 --vtk none --quiet --history -
  [ "$(head -n 1 .output)" = iteration,residual,relative_residual ] || fail "no CSV"
  run 0 --level 4 --vtk none --report none --history none
  no_files
  refused --level 4 --vtk none --report - --history - -- "'-'"
  "$program" --backend cpu --level 4 --vtk none --quiet --report - >/dev/full 2>.errors
  [ $? -eq 5 ] || fail "a full standard output goes unnoticed"
  needs_vtk
  run 0 --level 4 --quiet --vtk -
  head -c 100 .output | grep -q '<VTKFile' || fail "no VTK file"
  no_files
}

case_a_default_file_that_cannot_be_written() {
  needs_vtk
  # Even root cannot write into a folder that is gone.
  mkdir gone && cd gone && rmdir ../gone || exit 1
  run 0 --level 4
  grep -q 'warning: no file for ParaView' "$work/.errors" || fail "no warning"
  run 5 --level 4 --vtk out.vtr
}

case_switches_of_a_configuration_can_be_undone() {
  echo quiet=true >run.cfg
  run 0 "${small[@]}" --config run.cfg
  [ ! -s .output ] || fail "is not quiet"
  run 0 "${small[@]}" --config run.cfg --no-quiet
  prints '^status'
  refused "${small[@]}" --no-level -- no-level
  refused "${small[@]}" --quiet --no-quiet -- 'quiet is given twice'
}

case_full_multigrid_and_a_krylov_method() {
  run 0 --mesh A3 --level 6 --cycle fmg --solver cg --vtk none --report report.json
  prints '^solver +cg, fmg-cycle'
  check "r['iterations'] > 1 and r['relative_residual'] <= 1e-8 and 'tolerance' not in r['reason']"
}

case_memory_limits() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  (
    ulimit -v 500000
    refused --code 4 --threads 2 --level 12 --vtk none -- GiB
    run 0 --threads 2 --level 8 --vtk none
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_threads_that_cannot_be_made() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  (
    ulimit -v 4000000
    refused --code 4 "${small[@]}" --threads 4000 -- 'threads cannot be made'
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_names_that_are_no_utf8() {
  printf '0.5 0.5\n' >"$(printf 'w\xff.txt')"
  run 0 --cells ,8 --grade-x "$(printf 'widths:w\xff.txt')" --vtk none --report report.json
  check "r['grade_x'] == 'widths:w\ufffd.txt'"
}

case_no_other_file_is_touched() {
  echo mine >report.json.part
  run 0 "${small[@]}" --report report.json
  [ "$(cat report.json.part)" = mine ] || fail "a file of the user's is gone"
  has_files report.json report.json.part
}

case_numbers_far_from_one() {
  for size in 1e-200 1e200; do
    run 1 "${small[@]}" --rhs $size
    if grep -q muParser .errors; then skip "this build has no muParser"; fi
    refused "${small[@]}" --rhs $size -- norm right-hand 1e-140
  done
  for size in 1e-130 1e130; do
    run 0 "${small[@]}" --rhs $size --report report.json
    check "r['iterations'] > 2 and 0 < r['residual_reduction'] <= 1e-8"
  done
}

case_an_old_file_survives_a_run_that_fails() {
  echo old >report.json
  run 1 "${small[@]}" --report report.json --sweeps 3
  [ "$(cat report.json)" = old ] || fail "the old report is gone"
  has_files report.json
}

case_bad_configuration() {
  refused --code 5 "${small[@]}" --config missing.cfg -- missing.cfg
  run_with_config() {
    printf '%s' "$1" >run.cfg
    refused --config run.cfg "${small[@]}" -- "${@:2}"
  }
  run_with_config 'rtol=abc' rtol abc
  run_with_config 'smoother=ssor' ssor
  run_with_config $'# fine\n\nlevle=1' "'run.cfg', line 3" "'--levle'" 'did you mean --level?'
  run_with_config $'rtol=1\nquiet' 'line 2' "'quiet'" name=value
  run_with_config '[solver]' 'line 1' '[solver]' name=value
  run_with_config '=3' 'line 1' "'--'"
  run_with_config $'rtol=1\r\n rtol = 2 # again' 'line 2' 'rtol is given twice'
  run_with_config 'quiet=maybe' 'line 1' quiet maybe 'true or false'
  run_with_config 'quiet=' 'line 1' quiet 'true or false'
  # Long text is cut, bytes that a terminal would act upon are not shown.
  run_with_config "$(printf 'x%.0s' {1..5000})" 'line 1' 'xxxxxxxx...'
  [ "$(wc -c <.errors)" -lt 300 ] || fail "shows all of it"
  run_with_config "rtol=$(printf '9%.0s' {1..5000})x" 'rtol' '99999...'
  run_with_config $'\e[31mlevel' 'line 1' '?[31mlevel'
  printf '\xef\xbb\xbflevel=4\n' >run.cfg
  refused --code 5 "${small[@]}" --config run.cfg -- run.cfg byte-order
  printf '\xff\xfel\0e\0' >run.cfg
  refused --code 5 "${small[@]}" --config run.cfg -- run.cfg UTF-16
  # What ends in nothing, or fails while it is read.
  for file in /dev/zero /proc/self/mem .; do refused --code 5 "${small[@]}" --config $file -- "'$file'"; done
  for action in config help version print-config list-meshes; do
    run_with_config "$action=true" 'line 1' "--$action belongs on the command line"
  done
}

case_the_memory_expected_is_the_peak() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  # Of freed arrays below 32 MiB glibc keeps some, by chance; larger ones always go back to the system, as here all do.
  export MALLOC_MMAP_THRESHOLD_=131072
  local options
  for options in "--level 9 --vtk none" "--mesh A3 --level 10 --vtk none" "--level 10 --cycle fmg --sweeps 2 --vtk none" \
    "--level 9 --operator nine-band --precision double --solver cg --vtk none" "--cells 180,180 --level 2 --vtk out.vtr" "--level 9 --smoother auto --rhs 1 --rhs x --rhs y --vtk none" \
    "--level 10 --rhs 1 --rhs x --rhs y --vtk out.vtr" "--level 10 --vtk out.npy"; do
    # shellcheck disable=SC2086
    "$program" --backend cpu --threads 2 $options --report report.json >.output 2>.errors
    command="poisson2d $options"
    if grep -q 'has no VTK' .errors; then continue; fi
    echo "$command: expected, peak: $(report expected_memory_bytes) $(report peak_memory_bytes)"
    check "0.9 < r['expected_memory_bytes'] / r['peak_memory_bytes'] < 1.1"
  done
}

# Found within seconds, with what is needed and what there is.
case_levels_that_do_not_fit_in_memory() {
  local available level form mesh
  available=$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 1024))
  common=(10 "$program" "${common[@]}")
  program=timeout
  for level in 15 16 17 18 19 20; do
    # Right-hand side, solution and single-precision vectors take more than 32 bytes an unknown.
    [ $((32 << (2 * level))) -gt "$available" ] || continue
    for mesh in U1 A3; do
      refused --code 4 --mesh $mesh --level $level -- "mesh $mesh with $(((1 << level) - 1)) x" 'GiB of memory' 'GiB are available'
      awk -v unknowns=$((1 << (2 * level))) '
        match($0, /needs [0-9.e+]+ GiB of memory, [0-9.e+]+ GiB/) {
          split(substr($0, RSTART, RLENGTH), word, " ")
          each = word[2] * 1024 ^ 3 / unknowns
          good = each > 32 && each < 45 && word[2] > word[6]
        }
        END { exit !good }' .errors || fail "not what is needed: $(cat .errors)"
    done
  done
  [ $((32 << 40)) -gt "$available" ] || skip "level 20 would fit"
  refused --code 4 --mesh A2 --level 20 --operator nine-band --vtk none -- GiB
  refused --code 4 --level 20 --vtk out.vtr --report out.json --history out.csv -- GiB '--vtk none'
  refused --code 4 --level 18 --rhs 1 --rhs x --rhs y --vtk none -- GiB
  refused --code 4 --convergence-table 9..20 -- GiB
  if grep -q '^ *9 ' .output; then fail "solved smaller levels first"; fi
}

case_widths_out_of_range() {
  # (nu / 2)^20 leaves double, and (nu / 2)^12 = 2e-40 leaves float.
  refused --nu 1e-20 --level 20 --vtk none -- width
  refused --nu 0.001 --level 12 --vtk none -- double
}

case_cuda_without_a_device() {
  "$program" --backend cuda "${small[@]}" >.output 2>.errors
  local code=$?
  command="poisson2d --backend cuda"
  if [ $code -eq 0 ]; then skip "there is a device"; fi
  [ $code -eq 4 ] || fail "exit code $code, not 4"
  grep -qi cuda .errors || fail "the message does not speak of CUDA"
  no_files
}

case_contradictions() {
  refused "${small[@]}" --mesh A3 --nu 0.5 -- mesh
  refused "${small[@]}" --exact x -- rhs
  refused "${small[@]}" --precision double --inner cycles:2 -- inner
  refused "${small[@]}" --solver cg --inner rtol:1e-2 -- tolerance
  refused "${small[@]}" --precision single --cycle fmg -- single
  refused "${small[@]}" --precision double-single --cycle fmg -- "full multigrid" double-single
  refused "${small[@]}" --precision double-single --operator nine-band -- nine-band mixed
  refused "${small[@]}" --precision double-single --solver multigrid -- cg fcg multigrid
}

case_full_disk() {
  local outputs=(--vtk out.vtr --report report.json --history history.csv)
  needs_vtk
  # What a shell allows a file to have, in KiB, is found out like a full disk: first by the largest of the files.
  (
    ulimit -f 8
    run 5 --level 8 "${outputs[@]}"
    grep -q 'out.vtr' .errors || fail "does not name the file"
    # What is small is there all the same.
    has_files history.csv report.json
    check "r['status'] == 'converged'"
    rm history.csv report.json
    run 0 --level 8 --report report.json
    grep -q 'warning: .*poisson2d_U1_L8.vtr' .errors || fail "no warning"
    has_files report.json
    rm report.json
    ulimit -f 1
    refused --code 5 --level 5 --vtk none --report report.json -- report.json 'too large'
    exit "$failures"
  ) || failures=$((failures + 1))
  refused --code 5 "${small[@]}" --report /dev/full -- /dev/full
}

case_full_file_system() {
  local outputs=(--vtk out.vtr --report report.json --history history.csv)
  needs_vtk
  mkdir disk && mount -t tmpfs -o size=64k none disk 2>/dev/null || skip "may not mount a small file system"
  trap 'umount "$work/disk"; rm -rf "$work"' EXIT
  (
    cd disk || exit 1
    run 5 --level 8 "${outputs[@]}"
    grep -q "out.vtr.*No space left on device" "$work/.errors" || fail "does not say why"
    has_files history.csv report.json
    rm history.csv report.json
    dd if=/dev/zero of=filled bs=1k count=64 2>/dev/null
    refused --code 5 "${small[@]}" --report report.json -- report.json 'No space left on device'
    refused --code 5 "${small[@]}" --history history.csv -- history.csv 'No space left on device'
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_full_standard_output() {
  [ -w /dev/full ] || skip "no /dev/full"
  "$program" --backend cpu "${small[@]}" >/dev/full 2>.errors
  local code=$?
  command="poisson2d >/dev/full"
  : >.output
  [ $code -eq 5 ] || fail "exit code $code, not 5"
}

run_case "$2"
