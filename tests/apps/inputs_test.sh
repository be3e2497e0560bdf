#!/usr/bin/env bash
# inputs_test.sh POISSON2D CASE: inputs that are not what they seem, in poisson2d and in the programs beside it: files that
# differ between ranks, that hold less than they say, that would be overwritten; restarts with other data; coefficients that
# jump within cells. What is accepted is compared with the right value.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)
poisson2d=$program
heat2d=$(dirname "$program")/heat2d
walls=(--left neumann --right neumann --bottom neumann --top neumann)

# ranks CODE PROGRAM ARGS...: on two ranks, the second one in the folder `other`.
ranks() {
  local expected=$1 name=$2 mpirun=${MPIRUN:-mpirun} code
  shift 2
  command -v "$mpirun" >/dev/null || skip "there is no mpirun"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  command="two ranks of $(basename "$name") $*"
  timeout 200 "$mpirun" -n 1 "$name" "${common[@]}" "$@" : -n 1 --wdir "$work/other" "$name" "${common[@]}" "$@" >.output 2>.errors
  code=$?
  grep -q 'has no MPI' .errors && skip "this build has no MPI"
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

# --- files of VTK ------------------------------------------------------------------------------------------------------------

# image EXTENT NUMBERS...: a piece of 4 x 4 cells for each pair.
image() {
  printf '<VTKFile type="ImageData" version="0.1" byte_order="LittleEndian"><ImageData WholeExtent="0 4 0 4 0 0">'
  while [ $# -gt 0 ]; do
    printf '<Piece Extent="%s"><CellData><DataArray type="Float64" Name="k" format="ascii">%s</DataArray></CellData></Piece>' "$1" "$2"
    shift 2
  done
  printf '</ImageData></VTKFile>'
}

case_pieces_must_cover_their_extent() {
  local rows='1 2 3 4 5 6 7 8' more='9 10 11 12 13 14 15 16' problem=(--cells 4 --rhs 1 --vtk none --report report.json)
  printf '1,2,3,4\n5,6,7,8\n9,10,11,12\n13,14,15,16\n' >k.csv
  run 0 "${problem[@]}" --kappa file:k.csv --quiet
  cp report.json right.json
  image '0 4 2 4 0 0' "$more" '0 4 0 2 0 0' "$rows" >two.vti
  run 0 "${problem[@]}" --kappa file:two.vti --quiet
  check "r['maximum'] == json.load(open('right.json'))['maximum']"
  rm report.json
  image '0 4 0 2 0 0' "$rows" >half.vti
  refused --code 5 "${problem[@]}" --kappa file:half.vti -- "cannot read 'half.vti'" '8 of 16 cells have no number'
  refused --code 5 "${problem[@]}" --reaction file:half.vti:k -- "cannot read 'half.vti'" 'do not cover'
  image '0 4 0 4 0 0' '1 2 3' >short.vti
  refused --code 5 "${problem[@]}" --kappa file:short.vti -- "array 'k' has 3 numbers, 16 are needed"
  image '0 4 0 5 0 0' "$rows $more 1 2 3 4" >wide.vti
  refused --code 5 "${problem[@]}" --kappa file:wide.vti -- 'does not lie within the WholeExtent'
  image '0 4 0 4 0 0' "nan ${rows#1 } $more" >nan.vti
  refused "${problem[@]}" --kappa file:nan.vti -- 'the number of cell (0, 0) is nan'
  : >empty.vti
  refused --code 5 "${problem[@]}" --kappa file:empty.vti -- "cannot read 'empty.vti'" 'is the file whole'
  : >empty.npy
  refused --code 5 "${problem[@]}" --kappa file:empty.npy -- "cannot read 'empty.npy'" 'it ends within'
  : >empty.csv
  refused "${problem[@]}" --kappa file:empty.csv -- "'empty.csv' holds no numbers"
  of bubbly2d refused --code 5 --phase half.vti -- 'do not cover'
}

case_meshes_must_have_all_their_points() {
  local points='0 0 0 1 0 0 2 0 0 0 1 0 1 1 0 2 1 0'
  printf '<VTKFile type="StructuredGrid"><StructuredGrid WholeExtent="0 2 0 2 0 0"><Piece Extent="%s"><Points>
    <DataArray type="Float64" NumberOfComponents="3" format="ascii">%s</DataArray></Points></Piece></StructuredGrid></VTKFile>' \
    '0 2 0 1 0 0' "$points" >half.vts
  refused --code 5 --mesh-file half.vts --rhs 1 -- "cannot read 'half.vts'" '3 of 9 nodes have no number'
  sed 's/0 2 0 1 0 0/0 2 0 2 0 0/' half.vts >short.vts
  refused --code 5 --mesh-file short.vts --rhs 1 -- 'the array of points has 18 numbers, 27 are needed'
}

# --- ranks ---------------------------------------------------------------------------------------------------------------------

case_ranks_read_the_same_files() {
  local problem=(--level 4 --rhs 1 --vtk none --quiet)
  mkdir other
  printf '1 2\n3 4\n' >k.csv
  printf '1 2\n3 4\n' >other/k.csv
  ranks 0 "$poisson2d" "${problem[@]}" --kappa file:k.csv
  says_nothing
  printf '1 2\n30 40\n' >other/k.csv
  for option in --kappa --reaction; do
    ranks 1 "$poisson2d" "${problem[@]}" $option file:k.csv
    says "all ranks need the same contents of the files that they read: rank 0 has '$option k.csv of 8 bytes"
  done
  ranks 1 "$poisson2d" "${problem[@]}" --kappa '1,0,file:k.csv'
  says 'same contents'
  ranks 1 "$heat2d" --level 4 --initial 1 --capacity file:k.csv --quiet
  says "'--capacity k.csv of 8 bytes"
  printf '0 1 2 3 4\n' >x.txt
  printf '0 1 2 3 5\n' >other/x.txt
  ranks 1 "$poisson2d" --cells ,16 --grade-x file:x.txt --rhs 1 --vtk none
  says "'--grade-x x.txt of 10 bytes"
  printf 'rhs=1\n' >run.cfg
  printf 'rhs=1 # once more\n' >other/run.cfg
  ranks 1 "$poisson2d" --level 4 --vtk none --config run.cfg
  says "'--config run.cfg of 6 bytes"
  rm other/k.csv
  ranks 1 "$poisson2d" "${problem[@]}" --kappa file:k.csv
  says "rank 1 has '--kappa k.csv of No such file"
  # Missing on all of them: a file that cannot be read, as on one rank.
  ranks 5 "$poisson2d" "${problem[@]}" --kappa file:none.csv
  says "cannot read 'none.csv'"
  of heat2d run 0 --cells 8 --initial 1 --end 0.1 --save run.state --quiet
  of heat2d run 0 --cells 8 --initial 2 --end 0.1 --save other/run.state --quiet
  ranks 1 "$heat2d" --cells 8 --initial 1 --end 0.2 --restart run.state --quiet
  says "'--restart run.state of"
  mkfifo pipe.csv other/pipe.csv
  ranks 1 "$poisson2d" "${problem[@]}" --kappa file:pipe.csv
  says "'pipe.csv' is no regular file"
}

# --- names that programs make ----------------------------------------------------------------------------------------------------

case_films_do_not_overwrite_inputs() {
  needs_vtk
  local film=(--level 2 --rhs 1 --vtk f.pvd --quiet)
  run 0 --level 2 --rhs 1 --vtk f_0000.vtr --quiet
  local before
  before=$(md5sum <f_0000.vtr)
  of heat2d refused "${film[@]}" --kappa file:f_0000.vtr:aspect_ratio -- "'f_0000.vtr' is read by --kappa" "'f.pvd' is made of"
  of heat2d refused "${film[@]}" --capacity file:./f_0000.vtr:aspect_ratio -- "is read by --capacity"
  cp f_0000.vtr k.vtr
  # By links, from either side, and in another folder.
  ln -s f_0000.vtr link.vtr
  of heat2d refused "${film[@]}" --kappa file:link.vtr:aspect_ratio -- "'link.vtr' is read by --kappa"
  rm f_0000.vtr link.vtr
  ln -s k.vtr f_0001.vtr
  of heat2d refused "${film[@]}" --kappa file:k.vtr:aspect_ratio -- "'k.vtr' is read by --kappa"
  rm f_0001.vtr
  mkdir deep
  cp k.vtr deep/f_0002.vtr
  of heat2d refused --level 2 --rhs 1 --vtk deep/f.pvd --kappa file:deep/f_0002.vtr:aspect_ratio -- 'is read by --kappa'
  # What the film does not write.
  for name in f.vtr f_1.vtr f_00000.vtr f_0000.vts f_0000_0.vtr g_0000.vtr deep/f_0000.vtr; do
    cp k.vtr $name
    [ $name = f_0000.vts ] || of heat2d run 0 "${film[@]}" --kappa file:$name:aspect_ratio
    [ "$(md5sum <$name)" = "$before" ] || fail "$name has changed"
    rm $name
  done
  rm f.pvd f_0000.vtr f_0001.vtr
  of heat2d refused "${film[@]}" --save f_0001.vtr -- "--save: 'f_0001.vtr' is one of the files that --vtk 'f.pvd' is made of"
  of heat2d refused "${film[@]}" --report f_0000.vtr -- '--report'
  of heat2d refused "${film[@]}" --probe 0,0,1,1,2:f_0000.vtr -- '--probe'
  of bubbly2d refused --phase k.vtr:aspect_ratio --vtk k.vtr -- "'k.vtr' is read by --phase"
  of bubbly2d refused --cells 8 --rhs file:g_0003.vtr --time-steps 3 --vtk g.pvd -- "'g_0003.vtr' is read by --rhs"
  of bubbly2d refused --cells 8 --time-steps 3 --vtk g.pvd --npy g_0001.vtr -- "must end in .npy"
  of bubbly2d refused --cells 8 --time-steps 3 --vtk g.pvd --report g_0001.vtr -- "--report: 'g_0001.vtr' is one of the files"
  has_files deep deep/f_0002.vtr k.vtr
}

case_pieces_do_not_overwrite_inputs() {
  needs_vtk
  mkdir other
  local both=(--level 4 --rhs 1 --quiet)
  run 0 --level 4 --rhs 1 --vtk u_0.vtr --quiet
  cp u_0.vtr other
  ranks 1 "$poisson2d" "${both[@]}" --kappa file:u_0.vtr:aspect_ratio --vtk u.pvtr
  says "'u_0.vtr' is read by --kappa, and is one of the files that 'u.pvtr' is made of"
  cp u_0.vtr u_2.vtr # of a third rank
  cp u_0.vtr other/u_2.vtr
  ranks 0 "$poisson2d" "${both[@]}" --kappa file:u_2.vtr:aspect_ratio --vtk u.pvtr
  ranks 1 "$poisson2d" "${both[@]}" --report u_1.vtr --vtk u.pvtr
  says "--report: 'u_1.vtr' is one of the files"
  cp u_0.vtr f_0000_1.vtr
  cp u_0.vtr other/f_0000_1.vtr
  ranks 1 "$heat2d" "${both[@]}" --kappa file:f_0000_1.vtr:aspect_ratio --vtk f.pvd
  says "'f_0000_1.vtr' is read by --kappa"
}

case_probes_do_not_overwrite_inputs() {
  printf '1 2\n3 4\n' >k.csv
  refused --cells 4 --rhs 1 --vtk none --kappa file:k.csv --probe 0,0,1,1,2:k.csv -- "--probe: 'k.csv' is read by --kappa"
  of heat2d refused --cells 4 --rhs 1 --capacity file:k.csv --probe 0,0,1,1,2:k.csv -- "'k.csv' is read by --capacity"
  of heat2d refused --cells 4 --rhs 1 --probe 0,0,1,1,2:a.csv --report a.csv -- "two outputs have the same name 'a.csv'"
  of bubbly2d refused --cells 2 --rhs file:k.csv --history k.csv -- "'k.csv' is read by --rhs"
}

# --- restarts ----------------------------------------------------------------------------------------------------------------------

case_restarts_with_other_data_say_so() {
  local all=(--cells 8 --initial 'sin(pi*x)*sin(pi*y)' --method crank-nicolson --quiet)
  heat() { of heat2d run 0 "${all[@]}" "$@"; }
  # u(0.5, 0.5) at 0.2 after f = 1 until 0.1 and f = 100 from there on: second order in the length of steps.
  for steps in 20 40 640; do
    heat --rhs 1 --dt "$(python3 -c "print(0.1 / $steps)")" --end 0.1 --save a.state
    heat --rhs 100 --dt "$(python3 -c "print(0.1 / $steps)")" --end 0.2 --restart a.state --probe 0.5,0.5,1,1,2:$steps.csv
    says "^heat2d: warning: the restart file 'a.state': it was saved with other values of --rhs; .*du/dt is found anew"
  done
  python3 - <<'END' || fail "the order after a restart with other data"
import sys
u = [float(open(name).read().split("\n")[-3].split(",")[-1]) for name in ("20.csv", "40.csv", "640.csv")]
print(u)
sys.exit(not (3 < (u[0] - u[2]) / (u[1] - u[2]) < 5 and abs(u[2] - 6.36166) < 1e-4))
END
  rm ./*.csv
  heat --rhs 1 --dt 0.005 --end 0.1 --save a.state
  for other in '--rhs 1 --boundary 1' '--rhs 1 --kappa 2' '--rhs 1 --capacity 3' '--rhs 1 --reaction 1' '--rhs 1 --left dirichlet:y' ''; do
    # shellcheck disable=SC2086
    heat $other --dt 0.005 --end 0.2 --restart a.state
    says 'du/dt is found anew at t = 0.1$'
  done
  # Other steps: said, and taken.
  heat --rhs 1 --dt 0.01 --end 0.2 --restart a.state --report report.json
  says 'saved with other values of --dt; this run goes on from its state at t = 0.1'
  check "r['steps'] == 30 and abs(r['longest_dt'] - 0.01) < 1e-12"
  printf '1 2\n3 4\n' >k.csv
  heat --kappa file:k.csv --dt 0.005 --end 0.1 --save a.state
  heat --kappa file:k.csv --dt 0.005 --end 0.2 --restart a.state
  says_nothing
  printf '1 2\n3 5\n' >k.csv
  heat --kappa file:k.csv --dt 0.005 --end 0.2 --restart a.state
  says 'other values of --kappa'
  # Adaptive steps.
  local adaptive=(--cells 8 --initial 'sin(pi*x)*sin(pi*y)' --tol 1e-5 --quiet)
  of heat2d run 0 "${adaptive[@]}" --rhs 1 --end 0.1 --save a.state
  of heat2d run 0 "${adaptive[@]}" --rhs 1 --end 0.2 --restart a.state
  says_nothing
  of heat2d run 0 "${adaptive[@]}" --rhs 100 --end 0.2 --restart a.state --probe 0.5,0.5,1,1,2:u.csv
  says 'other values of --rhs'
  python3 -c "
u = float(open('u.csv').read().split('\n')[-3].split(',')[-1])
exit(not abs(u - 6.36166) < 0.002)" || fail "u after a restart of adaptive steps with other data: $(tail -2 u.csv | head -1)"
}

# --- incompatible right-hand sides ------------------------------------------------------------------------------------------

case_pinned_data_must_balance() {
  of bubbly2d refused --cells 16 --rhs x --pin -- 'incompatible right-hand side: its sum is 0.5, 100 %'
  of bubbly2d refused --cells 16 --rhs x -- 'incompatible right-hand side: its sum is 0.5, 100 %'
  printf '1 2\n3 4\n' >f.csv
  of bubbly2d refused --cells 2 --rhs file:f.csv --pin --bubble 0.25,0.25,0.1 -- 'incompatible right-hand side'
  # Balanced, pinned or not, p differs by a constant; so it does where the mean is taken away.
  for pin in '' --pin; do
    # shellcheck disable=SC2086
    of bubbly2d run 0 --cells 16 --rhs x --project --quiet $pin --npy project$pin.npy
    # shellcheck disable=SC2086
    of bubbly2d run 0 --cells 16 --rhs x-1/2 --quiet $pin --npy given$pin.npy
  done
  python3 - <<'END' || fail "p of a right-hand side whose mean was taken away"
import struct, sys
def read(name):
    data = open(name, "rb").read()
    (length,) = struct.unpack("<H", data[8:10])
    p = struct.unpack("<%dd" % ((len(data) - 10 - length) // 8), data[10 + length :])
    mean = sum(p) / len(p)
    return [v - mean for v in p]
p = [read(n) for n in ("project.npy", "given.npy", "project--pin.npy", "given--pin.npy")]
largest = max(map(abs, p[0]))
sys.exit(not all(abs(a - b) < 1e-5 * largest for q in p[1:] for a, b in zip(p[0], q)))
END
  of bubbly2d run 0 --cells 16 --rhs ax --pin --quiet --report report.json
  check "r['relative_error'] < 1e-5"
  of bubbly2d refused --cells 16 --rhs ax --pin --project -- '--project: with --pin and --rhs ax'
  of bubbly2d run 0 --cells 16 --rhs gravity --pin --quiet
}

# --- coefficients that jump within cells ---------------------------------------------------------------------------------------------

# one ARGS...: u must be one everywhere.
one() {
  run 0 "${walls[@]}" --vtk none --quiet --rtol 1e-10 --report report.json "$@"
  check "abs(r['minimum'] - 1) < 1e-7 and abs(r['maximum'] - 1) < 1e-7"
}

case_reactions_that_jump_within_cells() {
  # c = f, whatever the cut: beside and between the points of the rules, a disc within a cell, a jump on top of something.
  for region in 'x<0.3' 'x<0.305' 'x+y<0.7' '(x-0.52)^2+(y-0.48)^2<0.001' '(x-0.52)^2+(y-0.48)^2<0.09' \
    '1+9*(y<0.33)' '1+0.1*(x<0.71)' '1e6*(x<0.41)+1e-3' 'abs(x-0.51)<0.004' 'x<0.3?2:0.5'; do
    one --cells 10 --rhs "$region" --reaction "$region"
  done
  one --cells 16,9 --grade-x geometric:h=1e-4,first --grade-y tanh:2,both --rhs 'x+y<0.9' --reaction 'x+y<0.9'
  one --cells 12 --map 'x+y/3,y+x*y/4' --rhs 'x^2+y^2<1' --reaction 'x^2+y^2<1'
  walls=(--left periodic --right periodic --bottom neumann --top 'robin:1,1')
  one --cells 10 --rhs 'x<0.33' --reaction 'x<0.33'
  one --cells 10 --rhs 'x<0.33' --reaction 'x<0.33' --kappa '1+1000*(y>0.55)'
  walls=(--boundary 1)
  one --cells 10 --rhs '100*(x<0.33)' --reaction '100*(x<0.33)'
  # Smooth ones are as they were: the value at the centre, and f by the Gauss rule.
  for level in 4 5; do
    run 0 --level $level --reaction '1+x*y' --exact 'cos(x+y)' --rhs '(3+x*y)*cos(x+y)' --vtk none --quiet --report $level.json
  done
  python3 -c "
import json
a, b = (json.load(open(n + '.json'))['relative_l2_error'] for n in '45')
exit(not (3.9 < a / b < 4.1 and a < 7e-4))" || fail "the error of a smooth reaction"
  # f keeps its integral, which the reaction takes up.
  run 0 --cells 10 --left neumann --right neumann --bottom neumann --top neumann --rhs 'x<0.3' --reaction 'x<0.3' --vtk none \
    --quiet --report report.json
  check "abs(r['load_integral'] - r['reaction_integral']) < 1e-8"
}

case_capacities_that_jump_within_cells() {
  # capacity = f: u = t; c = f: u stays one. With f that is known not to change and with one that may.
  for region in 'x<0.3?100:1' '1+99*(x+y<0.7)' '1+1e4*((x-0.52)^2+(y-0.48)^2<0.001)'; do
    for f in "$region" "($region)*(1+0*t)"; do
      of heat2d run 0 --cells 10 "${walls[@]}" --capacity "$region" --rhs "$f" --initial 0 --end 1 --dt 0.1 --rtol 1e-10 --quiet \
        --exact t --report report.json
      check "r['relative_l2_error'] < 1e-6"
      of heat2d run 0 --cells 10 "${walls[@]}" --reaction "$region" --rhs "$f" --initial 1 --end 1 --dt 0.1 --rtol 1e-10 --quiet \
        --exact 1 --report report.json
      check "r['relative_l2_error'] < 1e-6"
    done
  done
  # A region that moves.
  of heat2d run 0 --cells 10 "${walls[@]}" --reaction 'x<0.2+0.5*t' --rhs 'x<0.2+0.5*t' --initial 1 --end 1 --tol 1e-4 --quiet \
    --exact 1 --report report.json
  check "r['relative_l2_error'] < 1e-6"
  of heat2d run 0 --cells 10 "${walls[@]}" --reaction 'x<0.2+0.5*t' --rhs '1' --initial 1 --end 1 --dt 0.1 --quiet
}

run_case "$2"
