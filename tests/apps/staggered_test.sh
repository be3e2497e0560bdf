#!/usr/bin/env bash
# staggered_test.sh PROGRAM CASE: the command line of staggered.
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--lattice 4,4,4,8)

# --- what works ----------------------------------------------------------------------------------------------------------

case_default_run() {
  run 0
  prints '^lattice +8 x 8 x 8 x 16 sites, antiperiodic in t; 24576 unknowns'
  prints '^field +near the unit field, sigma 0.3, plaquette 0.389484'
  prints '^status +converged'
  [ ! -s .errors ] || fail "writes to stderr"
  no_files
}

# Physics that nothing here was fitted to.
case_the_unit_fields_propagator_is_the_one_by_fourier_transform() {
  for options in '--precision double' '--precision mixed' '--precision mixed --reals 12' \
    '--precision mixed16' '--precision mixed16 --reals 12' '--together' '--together --precision double'; do
    # shellcheck disable=SC2086
    run 0 --lattice 4,6,4,8 --field unit --mass 0.1,0.4 --rtol 1e-13 $options --report report.json
    check "r['error'] < 1e-10 and r['plaquette'] == 1"
  done
}

# Goldstone: the square of the pion's mass is proportional to that of the quark.
case_the_pions_mass_squared_is_linear_in_the_quarks() {
  run 0 --lattice 6,6,6,16 --sigma 0.5 --mass 0.1,0.2,0.4 --together --rtol 1e-7 --report report.json
  check "max(m / q['mass'] for m, q in zip(r['pion_mass_squared'], r['runs'])) < 2.8"
  check "min(m / q['mass'] for m, q in zip(r['pion_mass_squared'], r['runs'])) > 2.4"
  check "r['runs'][0]['iterations'] > r['runs'][2]['iterations']"
}

case_the_ward_identity_holds() {
  run 0 "${small[@]}" --field random --source wall --rtol 1e-12 --correlator pion.csv --report report.json
  check "r['ward_difference'] < 1e-12 and len(r['correlators'][0]) == 8"
  [ "$(wc -l <pion.csv)" -eq 9 ] || fail "not a line a time"
}

case_mixed_takes_as_many_iterations_as_double() {
  run 0 --source random --mass 0.03 --precision double --report report.json
  cp report.json double.json
  run 0 --source random --mass 0.03 --report report.json
  check "abs(r['iterations'] - json.load(open('double.json'))['iterations']) <= 0.01 * r['iterations']"
  check "r['relative_residual'] <= 1e-10 and r['runs'][0]['updates'] == 10"
  for reals in 12 10; do
    run 0 --source random --mass 0.03 --reals $reals --report report.json
    check "abs(r['iterations'] - json.load(open('double.json'))['iterations']) <= 0.01 * r['iterations'] and r['reals'] == $reals"
  done
  for reals in 18 12; do
    run 0 --source random --mass 0.03 --precision mixed16 --reals $reals --report report.json
    check "r['iterations'] <= 1.1 * json.load(open('double.json'))['iterations'] and r['precision'] == 'mixed16'"
    check "r['relative_residual'] <= 1e-10 and 1e-5 < r['link_error'] < 1e-4"
  done
}

# On a random field at a small mass 16 bits lose directions where updates are rare: 1.7 times the iterations.
case_16_bits_are_mended_often_enough() {
  local options=(--lattice "8,8,8,4" --field random --mass 0.01 --source random --rtol 1e-8)
  run 0 "${options[@]}" --precision double --report report.json
  cp report.json double.json
  for reals in 18 12; do
    run 0 "${options[@]}" --precision mixed16 --reals $reals --report report.json
    check "r['iterations'] <= 1.08 * json.load(open('double.json'))['iterations'] and r['delta'] == 0.5"
  done
  run 0 "${options[@]}" --precision mixed16 --delta 0.1 --report report.json
  check "r['iterations'] > 1.2 * json.load(open('double.json'))['iterations'] and r['delta'] == 0.1"
}

case_several_masses_together() {
  for precision in double mixed mixed16; do
    run 0 "${small[@]}" --mass 0.1,0.05,0.3 --together --precision $precision --source random --report report.json
    check "[q['mass'] for q in r['runs']] == [0.1, 0.05, 0.3] and all(q['relative_residual'] <= 1e-10 for q in r['runs'])"
  done
  run 0 "${small[@]}" --mass 0.1,0.05,0.3 --together --precision double --source random --report report.json
  check "[q['mass'] for q in r['runs']] == [0.1, 0.05, 0.3] and all(q['relative_residual'] <= 1e-10 for q in r['runs'])"
  check "r['runs'][2]['iterations'] < r['runs'][0]['iterations'] < r['runs'][1]['iterations']"
}

case_a_field_comes_back_from_its_file() {
  run 0 "${small[@]}" --field random --seed 5 --save-gauge field.nersc --correlator first.csv --quiet
  run 0 --gauge field.nersc --correlator second.csv --report report.json
  cmp -s first.csv second.csv || fail "another correlator"
  check "r['lattice'] == [4, 4, 4, 8]"
}

# --- what fails, and says so ---------------------------------------------------------------------------------------------

case_schemes_without_a_part_fail_honestly() {
  run 3 --source random --mass 0.03 --scheme group-wise --report report.json
  check "r['status'] == 'breakdown' and r['relative_residual'] > 1e-7 and r['exit_code'] == 3"
  run 2 --source random --mass 0.03 --scheme reliable --rtol 1e-10 --report report.json
  check "r['status'] == 'stagnated' and r['relative_residual'] > 1e-7"
  run 0 --source random --mass 0.03 --scheme restart --report report.json
  check "r['iterations'] > 1200"
  run 2 --source random --mass 0.03 --max-iterations 10 --report report.json
  check "r['status'] == 'max iterations' and r['iterations'] == 10"
}

case_bad_input() {
  refused --lattice 7,8,8,8 -- --lattice "nx must be even"
  refused --lattice 8,8,8 -- --lattice "NX,NY,NZ,NT"
  refused --lattice 8,8,8,0 -- --lattice "'0'"
  refused --lattice 2000,2000,2000,2000 -- --lattice "more than"
  refused --mass 0 -- --mass "'0'" "above 0"
  refused --mass -0.1 -- --mass "'-0.1'"
  refused --mass 0.1, -- --mass "''"
  refused --field warm -- --field warm "unit, random, near"
  refused --field unit --sigma 0.1 -- --sigma near
  refused --field unit --reals 10 -- "10 reals" "unit field" "12 or 18"
  refused --reals 8 -- --reals 8
  refused --delta 1 -- --delta
  refused --precision double --delta 0.2 -- --delta mixed
  refused --together --scheme restart -- --together corrected
  refused --precision mixed16 --reals 10 -- --reals "12 or 18"
  refused --source random --correlator c.csv -- --correlator
  refused --gauge field.nersc --lattice 4,4,4,4 -- --lattice --gauge
}

case_lattices_that_do_not_fit_in_memory() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  (
    ulimit -v 4000000
    refused --code 4 --lattice 48,48,48,48 -- "48 x 48 x 48 x 48 sites needs" "GiB of memory" "GiB are available"
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_damaged_files() {
  run 0 "${small[@]}" --save-gauge good.nersc --quiet
  refused --code 5 --gauge absent.nersc -- absent.nersc
  refused --code 5 --gauge /proc/self/mem -- /proc/self/mem 'fails while it is read'
  head -c 100000 good.nersc >short.nersc
  refused --code 5 --gauge short.nersc -- short.nersc "bytes of links"
  python3 - <<'END'
data = bytearray(open("good.nersc", "rb").read())
data[-100] ^= 1
open("flipped.nersc", "wb").write(data)
END
  refused --code 5 --gauge flipped.nersc -- flipped.nersc checksum
  refused --code 5 "${small[@]}" --save-gauge no/folder.nersc -- no/folder.nersc
}

run_case "$2"
