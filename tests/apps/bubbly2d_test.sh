#!/usr/bin/env bash
# bubbly2d_test.sh PROGRAM CASE: runs one case of the command line of bubbly2d, on few cells where the result does not matter.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--cells 24)

needs_expressions() {
  "$program" --backend cpu --cells 4 --quiet --rhs 'x-1/2' 2>/dev/null || skip "this build has no muParser"
}

# --- what works ----------------------------------------------------------------------------------------------------------

case_default_run() {
  run 0 --report report.json
  prints '^problem +9 bubbles, densities 0\.001 inside and 1 outside; 128 x 128 cells between walls'
  prints '^solver +conjugate gradients; multigrid'
  prints '^status +converged'
  prints '^iterations +[0-9]$'
  prints '^residual +[0-9.e-]+, [0-9.]+e-(09|1[0-9])'
  prints '^deflation +9 vectors'
  [ ! -s .errors ] || fail "writes to stderr"
  has_files report.json
  check "r['status'] == 'converged' and r['iterations'] <= 9 and r['relative_residual'] <= 1e-8 and r['singular']"
}

# Two layers, 128 x 128, white noise: block IC and 32 x 32 blocks.
case_counts_of_deflation() {
  local layers=(--problem layers --contrast 1e3 --report report.json --quiet)
  run 0 "${layers[@]}" --preconditioner block-ic --deflate blocks:32 --rtol 1e-6
  check "19 <= r['iterations'] <= 25 and r['deflation_vectors'] == 1024 and r['relative_residual'] <= 1e-6"
  run 0 "${layers[@]}" --preconditioner block-ic --deflate blocks:32 --rtol 1e-10
  check "31 <= r['iterations'] <= 39"
  run 0 "${layers[@]}" --preconditioner incomplete-poisson --deflate blocks:32 --rtol 1e-6
  check "13 <= r['iterations'] <= 19"
  run 0 "${layers[@]}" --preconditioner block-ic --deflate stripes:1024 --rtol 1e-6
  check "54 <= r['iterations'] <= 66"
  run 0 "${layers[@]}" --preconditioner jacobi --deflate blocks:16 --rtol 1e-6
  check "46 <= r['iterations'] <= 56"
}

case_multigrid_does_not_see_the_contrast() {
  local contrast
  for contrast in 10 1e3 1e6; do
    run 0 --problem layers --contrast $contrast --rtol 1e-10 --quiet --report report.json
    check "r['iterations'] <= 8 and r['status'] == 'converged'"
  done
}

case_high_contrasts_are_solved_in_parts() {
  local preconditioner
  for preconditioner in multigrid "block-ic --deflate inclusions"; do
    # shellcheck disable=SC2086
    run 0 --contrast 1e6 --cells 64 --rtol 1e-10 --preconditioner $preconditioner --report report.json
    prints '^in parts +[0-9.e-]+, [0-9.]+e-1[0-9] of the right-hand side'
    check "r['two_parts'] and r['status'] == 'converged' and r['residual_of_parts'] <= 1e-10 * r['reference_norm_value']"
  done
  run 0 --contrast 1e6 --cells 64 --quiet --report report.json
  check "r['two_parts']"
  # Blocks that cut bubbles hold them by differences of numbers that round.
  run 2 --contrast 1e6 --cells 64 --rtol 1e-10 --preconditioner block-ic --report report.json
  check "r['status'] == 'round-off limit' and r['residual_of_parts'] <= 1e-9 * r['reference_norm_value']"
  run 0 --contrast 1e3 --cells 64 --quiet --report report.json
  check "not r['two_parts'] and r['residual_of_parts'] == r['residual']"
}

case_every_preconditioner_and_deflation() {
  local preconditioner deflate
  for preconditioner in none jacobi ic "block-ic --blocks 7" "incomplete-poisson --ip-form scaled" multigrid auto; do
    for deflate in none stripes:12 blocks:3 split-blocks:4 inclusions auto; do
      # shellcheck disable=SC2086
      run 0 "${small[@]}" --preconditioner $preconditioner --deflate $deflate --report report.json
      check "r['status'] == 'converged' and r['relative_residual'] <= 1e-8"
    done
  done
  run 0 "${small[@]}" --preconditioner multigrid --deflate ritz:3 --report report.json
  check "r['deflation_vectors'] == 3"
  run 0 "${small[@]}" --deflate inclusions --inside heavy --bubble 0.5,0.5,0.2 --report report.json
  check "r['deflation_vectors'] == 1 and r['status'] == 'converged'"
}

case_mixed_precision_reaches_double() {
  local preconditioner
  for preconditioner in multigrid block-ic incomplete-poisson jacobi; do
    run 0 --cells 48 --preconditioner $preconditioner --precision mixed --rtol 1e-10 --report report.json
    check "r['precision'] == 'mixed' and r['residual_of_parts'] <= 1e-10 * r['reference_norm_value']"
  done
}

case_known_solutions() {
  run 0 --problem poisson --cells 32 --rtol 1e-12 --preconditioner ic --deflate none --report report.json
  prints '^error +[0-9.]+e-1[0-9]'
  check "r['rhs'] == 'ax' and r['relative_error'] < 1e-10 and not r['singular']"
  run 0 --problem poisson --cells 33,17 --preconditioner multigrid --quiet --report report.json
  check "r['iterations'] <= 8"
  run 0 --cells 32 --rhs ax --contrast 100 --rtol 1e-12 --quiet --report report.json
  check "r['relative_error'] < 1e-9"
}

# Where gravity pulls on one fluid p is hydrostatic: p falls by density times height from cell to cell.
case_gravity_is_hydrostatic() {
  run 0 --contrast 1 --cells 6,5 --domain 3,2 --rhs gravity --rtol 1e-13 --npy p.npy --quiet
  python3 - <<'END' || fail "not hydrostatic"
import struct
data = open("p.npy", "rb").read()
(length,) = struct.unpack("<H", data[8:10])
assert b"(5,6,)" in data[:10 + length].replace(b" ", b"")
p = struct.unpack("<30d", data[10 + length:])
assert all(abs(p[6 * j + i] - (0.8 - 0.4 * j)) < 1e-12 for j in range(5) for i in range(6)), p
END
}

case_pinned_and_free_agree() {
  needs_expressions
  local rhs='cos(pi*x)*cos(2*pi*y)'
  run 0 --cells 16 --contrast 10 --rhs "$rhs" --rtol 1e-12 --npy free.npy --quiet
  run 0 --cells 16 --contrast 10 --rhs "$rhs" --rtol 1e-12 --pin --npy pinned.npy --report report.json
  prints 'between walls, the last one pinned'
  check "not r['singular']"
  python3 - <<'END' || fail "they differ by more than a constant"
import struct
def read(name):
    data = open(name, "rb").read()
    (length,) = struct.unpack("<H", data[8:10])
    return struct.unpack("<256d", data[10 + length:])
d = [a - b for a, b in zip(read("free.npy"), read("pinned.npy"))]
assert max(d) - min(d) < 1e-10, max(d) - min(d)
END
}

case_phases_from_files() {
  needs_vtk
  python3 - <<'END'
import struct
n = 16
values = [1.0 if (i - 8) ** 2 + (j - 8) ** 2 < 16 else 0.25 if (i - 8) ** 2 + (j - 8) ** 2 < 25 else 0.0
          for j in range(n) for i in range(n)]
open("phase.csv", "w").write("\n".join(",".join(map(str, values[j * n:(j + 1) * n])) for j in range(n)) + "\n")
header = "{'descr': '<f8', 'fortran_order': False, 'shape': (16, 16), }"
header += " " * (117 - len(header)) + "\n"
open("phase.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + struct.pack("<256d", *values))
END
  run 0 --phase phase.csv --densities 1.2,1000 --report report.json
  prints 'phases of phase\.csv, densities 1\.2 inside and 1000 outside; 16 x 16 cells'
  check "abs(r['contrast'] - 1000 / 1.2) < 1e-9 and r['cells'] == [16, 16]"
  run 0 --phase phase.npy --densities 1.2,1000 --deflate inclusions --report report.json
  cp report.json csv.json
  run 0 --phase phase.csv --densities 1.2,1000 --deflate inclusions --vtk out.vtr --report report.json
  check "r['history'] == json.load(open('csv.json'))['history']"
  for field in pressure density rhs deflation_vector; do
    grep -aqF "Name=\"$field\"" out.vtr || fail "no field $field in the file"
  done
  # Densities of 0.001 and 1 are phases, too: what is written can be read.
  run 0 --cells 16 --vtk out.vtr --quiet
  run 0 --phase out.vtr:density --quiet
  refused --phase out.vtr:density --vtk out.vtr -- out.vtr overwritten
  refused --phase out.vtr:colour -- colour density
}

case_right_hand_sides() {
  needs_expressions
  run 0 "${small[@]}" --rhs 'x-1/2' --quiet
  refused "${small[@]}" --rhs x -- 'incompatible' 0.5 '100 %' --project
  run 0 "${small[@]}" --rhs x --project --quiet
  refused "${small[@]}" --rhs 'x+' -- --rhs
  refused "${small[@]}" --rhs '1/(x-x)' -- --rhs inf
  printf '1,-1\n2,-2\n' >f.csv
  run 0 --cells 2 --bubble 0.2,0.2,0.1 --rhs file:f.csv --quiet
  refused --cells 4 --rhs file:f.csv -- f.csv '2 x 2' '4 x 4'
  run 0 "${small[@]}" --problem poisson --rhs 1 --quiet
}

case_outputs() {
  needs_vtk
  run 0 "${small[@]}" --report report.json --history history.csv --vtk out.vtr --npy p.npy --png p.png
  has_files history.csv out.vtr p.npy p.png report.json
  for key in status reason iterations residual residual_of_parts relative_residual relative_error problem cells contrast rhs seed \
    preconditioner precision deflate deflation_vectors deflation_bytes two_parts backend setup_seconds solve_seconds history version; do
    check "'$key' in r"
  done
  check "len(r['history']) == r['iterations'] + 1 and r['deflation_bytes'] > 0"
}

case_same_seed_same_bits() {
  run 0 "${small[@]}" --bubbles 5 --seed 7 --npy a.npy --quiet
  run 0 "${small[@]}" --bubbles 5 --seed 7 --npy b.npy --quiet --threads 3
  run 0 "${small[@]}" --bubbles 5 --seed 8 --npy c.npy --quiet
  cmp -s a.npy b.npy || fail "other bits"
  if cmp -s a.npy c.npy; then fail "the seed does nothing"; fi
  # So many cells that deflation is set up by several threads.
  local vectors threads
  for vectors in inclusions blocks:16 split-blocks:20; do
    for threads in 1 3; do
      run 0 --cells 200,140 --bubbles 9 --contrast 1e5 --deflate $vectors --npy $threads.npy --quiet --threads $threads
    done
    cmp -s 1.npy 3.npy || fail "other bits on three threads, deflated by $vectors"
  done
}

case_quiet_prints_nothing() {
  run 0 "${small[@]}" --quiet
  [ ! -s .output ] && [ ! -s .errors ] || fail "quiet is not quiet"
}

case_help_and_configuration() {
  run 0 --help
  for option in problem phase cells contrast bubbles bubble rhs pin preconditioner blocks deflate precision rtol time-steps dt \
    reuse backend report vtk npy png; do
    prints "--$option\\b"
  done
  prints 'bubbly2d --bubbles 25'
  run 0 --problem layers --contrast 10 --deflate blocks:4 --preconditioner ic --print-config
  cp .output run.cfg
  run 0 --config run.cfg --cells 32 --quiet --report report.json
  check "r['contrast'] == 10 and r['deflation_vectors'] == 16 and r['preconditioner'] == 'ic'"
}

# --- in time --------------------------------------------------------------------------------------------------------------

case_bubbles_rise() {
  run 0 "${small[@]}" --time-steps 4 --dt 0.02 --report report.json
  prints '^ +step +t +at first +iterations'
  prints '^ +4 +0\.08 '
  check "len(r['steps']) == 5 and r['rhs'] == 'gravity' and all(s['status'] == 'converged' for s in r['steps'])"
  check "all(s['relative_residual'] <= 1e-8 for s in r['steps'])"
  for reuse in none guess ritz:3 auto; do
    run 0 --cells 48 --bubbles 4 --contrast 1e6 --time-steps 4 --dt 0.002 --reuse $reuse --report report.json --quiet
    cp report.json "${reuse%%:*}.json"
    check "r['steps'][-1]['t'] == 0.008 and r['steps'][-1]['status'] == 'converged'"
  done
  check "r['iterations'] <= json.load(open('none.json'))['iterations']"
  check "json.load(open('guess.json'))['iterations'] < 80"
  has_files auto.json guess.json none.json report.json ritz.json
}

case_a_film() {
  needs_vtk
  run 0 "${small[@]}" --time-steps 2 --vtk film.pvd --npy p.npy
  has_files film.pvd film_0000.vtr film_0001.vtr film_0002.vtr p.npy
  grep -q 'timestep="0.02' film.pvd || fail "no time in film.pvd"
}

# --- what does not converge says so --------------------------------------------------------------------------------------

case_max_iterations() {
  run 2 --problem layers --preconditioner jacobi --deflate none --max-iterations 3 --report report.json
  prints '^status +max iterations'
  check "r['iterations'] == 3"
  run 2 "${small[@]}" --time-steps 3 --max-iterations 1 --quiet --report report.json
  check "len(r['steps']) == 1 and r['status'] == 'max iterations'"
}

case_a_tolerance_below_rounding() {
  run 2 "${small[@]}" --rtol 1e-18 --report report.json
  check "r['status'] == 'round-off limit'"
}

# --- bad input -----------------------------------------------------------------------------------------------------------

case_bad_values() {
  refused --contrast -5 -- --contrast -5
  refused --contrast 0.5 -- --contrast 0.5
  refused --cells 1 -- --cells
  refused --cells 16x0 -- --cells "'0'"
  refused --bubble 5,5,0.1 -- --bubble '5,5,0.1' 'none of'
  refused --bubble 0.5,0.5,1e-4 -- --bubble 'none of the 128 x 128 cells'
  refused --cells 40000 -- --cells 40000
  refused --problem jungle -- jungle bubbles layers poisson
  refused --preconditioner magic -- magic jacobi ic block-ic incomplete-poisson multigrid
  refused --deflate magic -- magic stripes:D split-blocks:Q
  refused --deflate blocks:0 -- blocks 0
  refused --smoother magic -- magic adi
  refused --interpolation magic -- magic split conductance
  refused --precision single -- single mixed
  refused --bubbles 3x4 -- 3x4
  refused --bubbles 0 -- 0
  refused --bubble 0.5,0.5 -- --bubble X,Y,R
  refused --bubble 0.5,0.5,-1 -- --bubble -1
  refused --densities 1 -- --densities
  refused --densities 0,1 -- --densities 0
  refused --domain 1,0 -- --domain 0
  refused --rtol 0 -- --rtol
  refused --reuse magic --time-steps 2 -- magic ritz:K
  refused --time-steps 0 -- --time-steps
  refused --problem layers --cells 8,9 -- layers 8 9
}

case_what_the_grid_does_not_allow() {
  refused --cells 16 --deflate blocks:17 -- '17 x 17' 'only 16 x 16 cells' 'at most 16'
  refused --cells 16 --deflate stripes:257 -- 257 'only 256 cells'
  refused --cells 16 --preconditioner block-ic --blocks 257 -- --blocks 257 256
  printf '0,1\n1,0\n' >phase.csv
  refused --phase phase.csv --cells 4 -- phase.csv '2 x 2' '4 x 4'
  printf '0,1\n1,2\n' >phase.csv
  refused --phase phase.csv -- --phase '(1, 1)' '0 .. 1'
  refused --code 5 --phase missing.csv -- missing.csv
}

case_options_belong_together() {
  refused --problem layers --bubbles 3 -- --bubbles bubbles
  refused --problem poisson --contrast 10 -- --contrast poisson
  refused --problem poisson --rhs gravity -- gravity walls
  refused --problem layers --time-steps 3 -- --time-steps bubbles
  refused --preconditioner ic --blocks 4 -- --blocks block-ic
  refused --preconditioner ic --sweeps 2 -- --sweeps multigrid
  refused --preconditioner ic --ip-form printed -- --ip-form incomplete-poisson
  refused --bubbles 3 --bubble 0.5,0.5,0.1 -- --bubble
  refused --densities 1,2 --contrast 5 -- --densities
  refused --dt 0.1 -- --dt --time-steps
  refused --phase a.csv --problem layers -- --problem --phase
  refused --time-steps 2 --history h.csv -- --history
  refused --time-steps 2 --vtk out.vtr -- .pvd
  refused --vtk out.pvd -- .vtr
  refused --npy p.txt -- .npy
  printf '0,1\n1,0\n' >phase.csv
  refused --phase phase.csv --report phase.csv -- phase.csv overwritten
}

run_case "$2"
