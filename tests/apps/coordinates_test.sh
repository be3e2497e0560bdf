#!/usr/bin/env bash
# coordinates_test.sh POISSON2D CASE: --coordinates of poisson2d and heat2d, against answers by hand.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)

solve() { run 0 --vtk none --report report.json "$@"; }

case_a_coaxial_cable() {
  solve --coordinates cylindrical --domain 3,1 --origin 1,0 --cells 96,4 --rhs 0 --kappa 'x<2?1:10' --left dirichlet:1 --right dirichlet:0 --bottom neumann --top neumann
  prints '^mesh .*, cylindrical:' '^flux +outward: left -1\.311[0-9]+, right 1\.311'
  check "r['coordinates'] == 'cylindrical' and r['iterations'] <= 8"
}

case_a_charged_ball() {
  solve --coordinates spherical --domain 1,pi --cells 64,16 --rhs 'x<1/2?3:0' --exact 'x<1/2 ? 1/4-x^2/2 : (1/x-1)/8'
  prints '^flux +outward: left 0, right 0\.25, bottom 0, top 0'
  check "r['relative_l2_error'] < 3e-4"
}

# The axis, a centre and poles need no condition; names of distances stay.
case_sides_without_area_are_free() {
  solve --coordinates cylindrical --cells 32 --rhs '(5-xl^2)*cos(yl)' --exact '(1-x^2)*cos(y)'
  check "r['relative_l2_error'] < 1e-3"
  solve --coordinates polar --domain 1,2*pi --cells 32 --bottom periodic --top periodic --rhs 4 --exact '1-x^2'
  check "r['relative_l2_error'] < 1e-3"
  solve --coordinates lat-lon --domain 2*pi,pi --origin 0,-pi/2 --cells 32 --left periodic --right periodic --rhs '2*sin(y)' --exact 'sin(y)'
  check "r['relative_l2_error'] < 2e-3"
  # A centre that is held.
  solve --coordinates polar --domain 1,2*pi --cells 32 --left dirichlet:1 --bottom periodic --top periodic --rhs 0
}

# Of a ball, and of a sealed tank whose heat stays.
case_in_time() {
  of heat2d run 0 --coordinates spherical --domain 1,pi --cells 32,4 --exact '(x>0?sin(pi*x)/x:pi)*exp(-pi^2*t)' --boundary 0 --end 0.1 --tol 1e-5 --quiet --report report.json
  check "r['relative_l2_error'] < 1e-3 and abs(r['heat_at_first'] - 2 / math.pi) < 1e-3 and r['coordinates'] == 'spherical'"
  of heat2d run 0 --coordinates cylindrical --cells 16 --initial 'x<1/2' --right neumann --bottom neumann --top neumann --end 0.3 --quiet --report report.json
  check "abs(r['heat'] - r['heat_at_first']) < 1e-9"
}

case_ranks() {
  local mpirun=${MPIRUN:-mpirun}
  command -v "$mpirun" >/dev/null || skip "there is no mpirun"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  local globe=(--coordinates lat-lon --domain 2*pi,pi --origin 0,-pi/2 --cells 64 --left periodic --right periodic --rhs '6*cos(y)^2*cos(2*x)' --exact 'cos(y)^2*cos(2*x)')
  solve "${globe[@]}"
  cp report.json other.json
  for count in 2 3; do
    "$mpirun" -n $count "$program" "${common[@]}" "${globe[@]}" --vtk none --report report.json >.output 2>.errors || fail "$count ranks"
    grep -q 'has no MPI' .errors && skip "this build has no MPI"
    check "abs(r['relative_l2_error'] / json.load(open('other.json'))['relative_l2_error'] - 1) < 1e-4"
  done
}

case_bad_coordinates() {
  refused --coordinates cyl --rhs 1 -- --coordinates cyl cartesian cylindrical polar spherical lat-lon
  refused --coordinates cylindrical -- '--coordinates: give --rhs as well'
  refused --coordinates cylindrical --rhs 1 --origin=-1,0 -- 'the distance from the axis' 'from -1 to 0'
  refused --coordinates spherical --rhs 1 --domain 1,180 -- 'in radians' 'from 0 to 180'
  refused --coordinates lat-lon --rhs 1 --domain 7,1 -- 'the longitude' '2 pi' '7 long'
  refused --coordinates polar --rhs 1 --map x,y -- 'leave out --map'
  refused --coordinates cylindrical --rhs 1 --left dirichlet:1 -- 'the left boundary is the axis' 'nothing can be given there'
  refused --coordinates cylindrical --rhs 1 --kappa 2,1,2 -- kxy 'Cartesian coordinates'
  refused --coordinates lat-lon --domain 2*pi,pi --origin 0,-pi/2 --left periodic --right periodic --rhs 1 --top dirichlet:x -- 'the top boundary is a single point' 'values differ' 'give one value'
  of heat2d refused --coordinates polar -- '--coordinates: give --initial'
}

run_case "$2"
