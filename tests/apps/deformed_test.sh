#!/usr/bin/env bash
# deformed_test.sh PROGRAM CASE: runs one case of poisson2d on meshes that are no rectangles.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

annulus='(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)'
harmonic='x/(x^2+y^2)+log(x*x+y*y)'

# Errors of the table in report.json fall by four.
falls_by_four() {
  check "len(r['convergence_table']) == $1 and all(abs(a['relative_l2_error'] / b['relative_l2_error'] - 4) < 0.15
    for a, b in zip(r['convergence_table'], r['convergence_table'][1:]))"
}

case_a_map_of_second_order() {
  run 0 --map "$annulus" --rhs 0 --exact "$harmonic" --convergence-table 4..7 --vtk none --report report.json
  falls_by_four 4
  check "r['solver'] == 'cg' and r['operator'] == 'symmetric' and r['iterations'] <= 6 and 0.001 < r['smallest_width'] < 0.01"
  check "r['map'] == '$annulus' and abs(r['largest_aspect_ratio'] - 3.14) < 0.05"
  run 0 --map "$annulus" --cells 50,33 --grade-x cosine --rhs 0 --exact "$harmonic" --level 1 --vtk none
  prints 'on \[0, 1\] x \[0, 1\], x cosine, y uniform, mapped by .*: 100 x 66 cells'
}

case_coefficients_sides_and_reaction_of_second_order() {
  # u = sin(x) with K = [2+x 1/2; 1/2 1+y]; sheared to the right, so that the upper side has the normal (0, 1).
  run 0 --map 'x+y,y' --kappa '2+x,1/2,1+y' --reaction 'x*y' --rhs '(2+x)*sin(x)-cos(x)+x*y*sin(x)' --exact 'sin(x)' \
    --top 'neumann:cos(x)/2' --bottom 'robin:1+x,-cos(x)/2+(1+x)*sin(x)' --convergence-table 3..6 --report report.json \
    --vtk none
  falls_by_four 4
}

case_around_an_annulus_and_up_to_a_constant() {
  run 0 --map '(1+y)*cos(-2*pi*x),(1+y)*sin(-2*pi*x)' --left periodic --right periodic --rhs 0 --exact "$harmonic" \
    --convergence-table 4..6 --report report.json --vtk none
  falls_by_four 3
  run 0 --map 'x+y/3,y' --left neumann --right neumann --bottom neumann --top neumann --rhs 'x-2/3' --vtk none --level 5
  prints '^status +converged'
  refused --map 'x+y/3,y' --left neumann --right neumann --bottom neumann --top neumann --rhs x --vtk none --level 5 -- \
    'incompatible data'
  run 0 --map 'x+y/3,y' --left neumann --right neumann --bottom neumann --top neumann --rhs x --vtk none --level 5 --project
}

case_several_right_hand_sides_and_full_multigrid() {
  run 0 --map "$annulus" --rhs 1 --rhs x --level 5 --vtk none --report report.json
  check "len(r['right_hand_sides']) == 2"
  run 0 --map "$annulus" --rhs 0 --exact "$harmonic" --level 6 --cycle fmg --vtk none --report report.json
  check "r['iterations'] == 1 and r['relative_l2_error'] < 6e-5"
  for precision in double single; do
    run "$([ $precision = single ] && echo 2 || echo 0)" --map "$annulus" --rhs 0 --exact "$harmonic" --level 6 \
      --precision $precision --vtk none
  done
}

case_every_interpolation_but_split() {
  for choice in "" "--kappa 2+x"; do
    for kind in conductance bilinear matrix; do
      # shellcheck disable=SC2086
      run 0 --map 'x+y,y' --rhs 1 --level 6 --vtk none --interpolation $kind --report report.json $choice
      check "r['interpolation'] == '$kind' and r['status'] == 'converged' and r['iterations'] <= 7"
    done
    # shellcheck disable=SC2086
    refused --map 'x+y,y' --rhs 1 --interpolation split $choice -- '--interpolation' 'for rectangles' '--map' 'conductance, bilinear or matrix'
  done
  run 0 --map 'x+y,y' --rhs 1 --level 6 --vtk none --report report.json
  check "r['interpolation'] == 'conductance'"
  refused --interpolation matrix -- '--interpolation' 'coefficients that vary' 'deformed meshes'
}

case_smoother_auto_goes_by_the_matrix() {
  run 0 --map "$annulus" --rhs 1 --smoother auto --level 6 --vtk none --report report.json
  check "r['solver'] == 'cg' and r['iterations'] <= 7 and 'deformed' in r['choice'] and r['smoothers'][-1]['smoother'] == 'line_x'"
  run 0 --map 'x+6*y,y' --rhs 1 --smoother auto --level 6 --vtk none --report report.json
  check "r['solver'] == 'fcg' and r['cycle'] == 'k' and 'K in logical coordinates is rotated' in r['choice']"
  for choice in "--solver multigrid" "--solver cg --cycle w2" "--cycle fmg" "--inner rtol:1e-2" "--precision double" "--kappa 1,0.9,1" \
    "--kappa x<1/2?1:1000" "--left periodic --right periodic"; do
    # shellcheck disable=SC2086
    run 0 --map 'x+y,y' --rhs 1 --smoother auto --level 6 --vtk none $choice
  done
}

case_files_for_paraview_and_back() {
  needs_vtk
  run 0 --map "$annulus" --rhs 0 --exact "$harmonic" --level 4
  [[ $(files) =~ ^poisson2d_U1_map-[0-9a-f]+_L4\.vts$ ]] || fail "left '$(files)'"
  mv poisson2d_U1_map-*_L4.vts poisson2d_U1_L4.vts
  for field in solution exact error rhs aspect_ratio; do
    grep -aqF "Name=\"$field\"" poisson2d_U1_L4.vts || fail "no field $field in the file"
  done
  run 0 --map "$annulus" --rhs 0 --exact "$harmonic" --level 4 --vtk none --report report.json
  cp report.json mapped.json
  run 0 --mesh-file poisson2d_U1_L4.vts --rhs 0 --exact "$harmonic" --vtk none --report report.json
  check "r['relative_l2_error'] == json.load(open('mapped.json'))['relative_l2_error'] and r['mesh'] == 'poisson2d_U1_L4'"
  check "r['cells'] == [16, 16] and r['mesh_file'] == 'poisson2d_U1_L4.vts'"
  rm mapped.json
  run 0 --mesh-file poisson2d_U1_L4.vts --rhs 0 --exact "$harmonic" --convergence-table 0..3 --report report.json
  falls_by_four 4
  rm report.json
  run 0 --mesh-file poisson2d_U1_L4.vts --rhs 1 --level 1
  has_files poisson2d_U1_L4.vts poisson2d_poisson2d_U1_L4_L1.vts
}

case_bad_maps() {
  refused --map x --rhs 1 -- '--map' "'x' is not two expressions X,Y"
  refused --map x,y,x --rhs 1 -- 'not two expressions'
  refused --map 'max(x,y)' --rhs 1 -- 'not two expressions'
  refused --map ,y --rhs 1 -- 'must not be empty'
  refused --map x,z --rhs 1 -- 'expression '"'z'" 'known names: x, y, a, b'
  refused --map y,x --rhs 1 -- 'cell (0, 0)' 'mirrored'
  refused --map x,x --rhs 1 -- 'det J is 0' 'of 65536 cells'
  refused --map 'x,y*(x<0.3?1:-1)' --rhs 1 --level 3 -- 'cell (2, 0)'
  refused --map 'sqrt(x-1/2),y' --rhs 1 -- 'node (0, 0)' 'must be finite'
  refused --map 'x+x*y,y' --left periodic --right periodic --rhs 1 -- 'left and right boundaries cannot be periodic'
  refused --code 4 --map x,y --rhs 1 --level 20 -- 'GiB'
}

case_what_makes_no_sense_there_is_refused() {
  refused --map x,y -- '--map' 'give --rhs as well'
  refused --map x,y --rhs xr -- "'xr'" 'known names: x, y, pi, e' 'no rectangle has no a, b, xl, xr'
  refused --map x,y --rhs 1 --exact 'a*x' -- "'a*x'" 'known names: x, y, pi'
  refused --map x,y --rhs 1 --top 'neumann:b' -- '--top' 'known names: x, y, pi'
  refused --map x,y --rhs 1 --kappa '1+yr' -- '--kappa' 'known names: x, y, pi'
  refused --map x,y --rhs 1 --operator tensor -- '--operator' 'leave it out with --map'
  refused --map x,y --rhs 1 --vtk a.vtr -- "'a.vtr' must end in .vts"
  refused --rhs 1 --vtk a.vts -- "'a.vts' must end in .vtr"
  for option in '--mesh U2' '--domain 2,1' '--origin 1,1' '--nu 0.5' '--cells 4,4' '--map x,y'; do
    # shellcheck disable=SC2086
    refused --mesh-file a.vts --rhs 1 $option -- 'a file has its own nodes' "${option%% *}"
  done
}

case_bad_mesh_files() {
  needs_vtk
  refused --code 5 --mesh-file none.vts --rhs 1 -- "cannot read 'none.vts'" 'No such file'
  mkdir folder.vts
  refused --code 5 --mesh-file folder.vts --rhs 1 -- "cannot read 'folder.vts'" 'directory'
  rmdir folder.vts
  refused --mesh-file mesh.msh --rhs 1 -- "'mesh.msh'" 'known is .vts'
  echo 'not XML' >text.vts
  refused --code 5 --mesh-file text.vts --rhs 1 -- "cannot read 'text.vts'" 'is the file whole'
  run 0 --level 2 --quiet --vtk rectilinear.vtr
  mv rectilinear.vtr renamed.vts
  refused --code 5 --mesh-file renamed.vts --rhs 1 -- "cannot read 'renamed.vts'" 'not of StructuredGrid'
  run 0 --map "$annulus" --rhs 1 --level 2 --quiet --vtk mesh.vts
  head -c 600 mesh.vts >short.vts
  refused --code 5 --mesh-file short.vts --rhs 1 -- "cannot read 'short.vts'"
  refused --mesh-file mesh.vts --rhs 1 --vtk mesh.vts -- 'is read by --mesh-file'
  # 2 x 2 cells in words, with one point pulled across, one at another height, and one layer too many.
  points='0 0 0 1 0 0 2 0 0 0 1 0 1 1 0 2 1 0 0 2 0 1 2 0 2 2 0'
  structured() {
    printf '<VTKFile type="StructuredGrid" version="1.0"><StructuredGrid WholeExtent="%s"><Piece Extent="%s"><Points>' "$1" "$1"
    printf '<DataArray type="Float64" NumberOfComponents="3" format="ascii">%s</DataArray>' "$2"
    printf '</Points></Piece></StructuredGrid></VTKFile>'
  }
  structured '0 2 0 2 0 0' "$points" >good.vts
  run 0 --mesh-file good.vts --rhs 1 --vtk none
  prints 'from good.vts: 2 x 2 cells, 1 x 1 unknowns'
  structured '0 2 0 2 0 0' "${points/1 1 0/3 1 0}" >folded.vts
  refused --mesh-file folded.vts --rhs 1 -- 'cell (1, 0)' 'folded' '2 of 4 cells'
  structured '0 2 0 2 0 0' "${points/1 1 0/1 1 1}" >bent.vts
  refused --mesh-file bent.vts --rhs 1 -- 'point (1, 1) lies at z = 1' 'must be plane'
  structured '0 2 0 2 0 0' "${points/1 1 0/nan 1 0}" >nan.vts
  refused --mesh-file nan.vts --rhs 1 -- 'must be finite'
  structured '0 2 0 0 0 2' "$points" >standing.vts
  refused --mesh-file standing.vts --rhs 1 -- '3 x 1 x 3 points'
}

case_configurations_hold_maps() {
  run 0 --map "$annulus" --rhs x --level 4 --vtk none --print-config
  cp .output run.cfg
  run 0 --config run.cfg
  prints 'mapped by'
}

run_case "$2"
