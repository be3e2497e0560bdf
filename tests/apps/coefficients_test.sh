#!/usr/bin/env bash
# coefficients_test.sh PROGRAM CASE: runs one case of the coefficients of poisson2d.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

# Coefficients on the cells of a coarser mesh are those of the cells that they are cut into.
case_coefficients_from_files() {
  solve() { run 0 --rhs 1 --vtk none --level 4 --report report.json "$@" && check "r['status'] == 'converged'"; }
  same() { check "r['initial_residual'] == json.load(open('other.json'))['initial_residual'] and r['history'] == json.load(open('other.json'))['history']"; }
  solve --kappa 'x < 0.5 ? 1 : 100'
  cp report.json other.json
  printf '1,100\n' >k.csv
  solve --kappa file:k.csv
  prints '^problem +kappa file:k.csv'
  check "r['kappa'] == 'file:k.csv'"
  same
  solve --kappa file:k.csv,0,file:k.csv
  same
  python3 - <<'END'
import struct
header = "{'descr': '>f4', 'fortran_order': True, 'shape': (1, 2), }"
open('k.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + struct.pack('>ff', 1, 100))
END
  solve --kappa file:k.npy
  same
}

# What poisson2d itself wrote: the aspect ratios of its cells.
case_coefficients_from_files_of_vtk() {
  needs_vtk
  printf '1,100\n' >k.csv
  run 0 --mesh A2 --level 3 --vtk a2.vtr
  run 0 --rhs 1 --kappa file:a2.vtr --level 5 --vtk none
  run 0 --rhs 1 --kappa 1+x,0,file:a2.vtr:aspect_ratio --reaction file:k.csv --level 3 --vtk none
  refused --rhs 1 --kappa file:a2.vtr:kappa -- --kappa a2.vtr 'kappa' aspect_ratio
  # K and c are written as well, and are the same where they are read again.
  local both=(--rhs 1 --level 3 --report report.json)
  run 0 "${both[@]}" --kappa 1+x,x/4,2+y --reaction '1+9*(x>1/2)' --vtk k.vtr
  cp report.json first.json
  run 0 "${both[@]}" --kappa file:k.vtr:kxx,file:k.vtr:kxy,file:k.vtr:kyy --reaction file:k.vtr:reaction --vtk none
  check "r['maximum'] == json.load(open('first.json'))['maximum']"
  run 0 "${both[@]}" --kappa 1+x --vtk k.vtr
  cp report.json first.json
  run 0 "${both[@]}" --kappa file:k.vtr:kappa --vtk none
  check "r['maximum'] == json.load(open('first.json'))['maximum']"
}

case_interpolations_and_cycles() {
  local rotated=(--rhs 1 --kappa 0.5005,0.4995,0.5005 --level 6 --sweeps 2 --vtk none --report report.json) kind
  for kind in conductance split bilinear matrix; do
    run 0 "${rotated[@]}" --interpolation $kind
    check "r['interpolation'] == '$kind' and r['solver'] == 'cg' and r['cycle'] == 'v' and r['iterations'] <= 40"
  done
  run 0 "${rotated[@]}"
  check "r['interpolation'] == 'conductance' and r['iterations'] > 15"
  run 0 "${rotated[@]}" --cycle w2
  check "r['solver'] == 'cg' and r['cycle'] == 'w2' and r['iterations'] <= 13"
  run 0 "${rotated[@]}" --cycle k
  prints '^solver +fcg, k-cycle'
  check "r['solver'] == 'fcg' and r['cycle'] == 'k' and r['iterations'] <= 10"
  run 0 "${rotated[@]}" --cycle k --solver gmres
  run 0 --level 6 --cycle k --vtk none
  for kind in cg cr; do refused "${rotated[@]}" --cycle k --solver $kind -- $kind k-cycle fcg; done
  refused --rhs 1 --interpolation split -- --interpolation --kappa
  refused "${rotated[@]}" --interpolation nearest -- conductance split bilinear matrix
  refused "${rotated[@]}" --cycle w3 -- w2 k fmg
}

case_bad_coefficient_files() {
  printf '1,2,3\n4,5,6\n' >k.csv
  refused --rhs 1 --kappa file:k.csv -- kxx k.csv '3 x 2' '256 x 256' '2 or 1'
  refused --rhs 1 --kappa 1,0,file:k.csv --cells 6,6 -- kyy '3 x 2' '6 x 6'
  refused --rhs 1 --reaction file:k.csv -- 'reaction' '3 x 2'
  printf '1\n-1\n' >k.csv
  refused --rhs 1 --kappa file:k.csv --level 2 -- 'positive definite' 'cell (0, 2)' -1
  refused --rhs 1 --reaction file:k.csv --level 2 -- 'negative' 'cell (0, 2)' -1
  printf '1\nnan\n' >k.csv
  refused --rhs 1 --kappa file:k.csv -- --kappa 'line 2' nan
  refused --rhs 1 --kappa file:k.txt -- k.txt .vtr .vti .npy .csv
  refused --rhs 1 --kappa file: -- --kappa 'name of the file'
  refused --rhs 1 --kappa file:k.csv:k -- --kappa k.csv:k .csv
  refused --code 5 --rhs 1 --kappa file:none.npy -- none.npy 'No such file'
  refused --code 5 --rhs 1 --reaction file:none.csv -- none.csv 'No such file'
  printf '1\n' >k.csv
  refused --rhs 1 --kappa file:k.csv --report k.csv -- k.csv
}

run_case "$2"
