#!/usr/bin/env bash
# krylov_test.sh PROGRAM CASE: the command line of krylov.
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--problem laplacian --unknowns 12,10)

# A 3 x 3 system by hand: [2 1 0; 0 2 1; 4 0 2] x = [4 7 10], x = [1 2 3].
write_system() {
  printf '%%%%MatrixMarket matrix coordinate real general\n%% by hand\n3 3 6\n1 1 2\n1 2 1\n2 2 2\n2 3 1\n3 1 4\n3 3 2\n' >a.mtx
  printf '%%%%MatrixMarket matrix array real general\n3 1\n4\n7\n10\n' >b.mtx
}

# --- what works ----------------------------------------------------------------------------------------------------------

case_default_run() {
  run 0
  prints '^matrix +laplacian, 100 x 100, epsilon 1: 10000 rows, 49600 entries, symmetric; 5 bands'
  prints '^status +converged'
  prints '^error +[0-9.]+e-0[6-9]'
  [ ! -s .errors ] || fail "writes to stderr"
  no_files
}

case_a_system_from_files() {
  write_system
  for method in gcr gmres bicgstab; do
    run 0 --matrix a.mtx --rhs b.mtx --method $method --rtol 1e-12 --solution x.mtx --report report.json
    check "r['status'] == 'converged' and r['rows'] == 3 and r['entries'] == 6 and not r['symmetric']"
    check "r['largest_error'] is None and r['method'] == '$method'"
    python3 - <<'END' || fail "not the solution"
import sys
x = [float(line) for line in open("x.mtx") if not line.startswith("%") and " " not in line]
sys.exit(0 if max(abs(x[i] - i - 1) for i in range(3)) < 1e-10 else 1)
END
  done
  has_files a.mtx b.mtx report.json x.mtx
}

case_a_saved_matrix_comes_back() {
  run 0 "${small[@]}" --save-matrix a.mtx --report report.json
  cp report.json first.json
  run 0 --matrix a.mtx --report report.json
  check "r['history'] == json.load(open('first.json'))['history'] and r['rows'] == 120"
}

case_every_method_and_preconditioner() {
  run 0 --list-methods
  cut -d' ' -f1 .output >methods
  run 0 --list-preconditioners
  sed 's/ .*//; s/^block-ic$/block-ic --block-size 40/; $a none' .output >preconditioners
  while read -r method; do
    while read -r preconditioner; do
      # Without a preconditioner the stationary iteration diverges.
      if [ "$method $preconditioner" = "richardson none" ]; then continue; fi
      # shellcheck disable=SC2086
      run 0 "${small[@]}" --method "$method" --preconditioner $preconditioner --report report.json
      check "r['status'] == 'converged' and r['relative_residual'] <= 1e-8 and r['largest_error'] < 1e-6"
    done <preconditioners
  done <methods
  [ "$(wc -l <methods)" -ge 7 ] || fail "fewer methods than there are"
  [ "$(wc -l <preconditioners)" -ge 5 ] || fail "fewer preconditioners than there are"
}

case_preconditioners_are_worth_their_name() {
  count() { python3 -c 'import json; print(json.load(open("report.json"))["iterations"])'; }
  local none ic block multigrid
  run 0 --unknowns 63,63 --report report.json && none=$(count)
  run 0 --unknowns 63,63 --preconditioner ic --report report.json && ic=$(count)
  run 0 --unknowns 63,63 --preconditioner block-ic --block-size 126 --report report.json && block=$(count)
  run 0 --unknowns 63,63 --preconditioner multigrid --report report.json && multigrid=$(count)
  [ "$ic" -lt $((none / 2)) ] && [ "$ic" -lt "$block" ] && [ "$block" -lt "$none" ] && [ "$multigrid" -lt 10 ] ||
    fail "iterations: none $none, ic $ic, block-ic $block, multigrid $multigrid"
}

case_the_number_of_blocks_or_their_size() {
  run 0 --unknowns 64,63 --preconditioner block-ic --block-size 126 --report report.json
  cp report.json by_size.json
  run 0 --unknowns 64,63 --preconditioner block-ic --blocks 32 --report report.json
  prints 'block-ic in 32 blocks'
  check "r['history'] == json.load(open('by_size.json'))['history'] and r['blocks'] == 32 and r['block_size'] == 0"
}

case_incomplete_poisson_scaled_or_as_printed() {
  local scaled
  # A constant diagonal: the forms differ by a factor.
  run 0 --unknowns 40,30 --preconditioner incomplete-poisson --report report.json
  check "r['ip_form'] == 'scaled'"
  scaled=$(python3 -c 'import json; print(json.load(open("report.json"))["iterations"])')
  run 0 --unknowns 40,30 --preconditioner incomplete-poisson --ip-form printed --report report.json
  prints 'incomplete-poisson as printed'
  check "abs(r['iterations'] - $scaled) <= 1 and r['iterations'] < 60 and r['ip_form'] == 'printed'"
}

case_multigrid_on_the_grid_of_a_file() {
  run 0 --unknowns 31,63 --epsilon 100 --save-matrix a.mtx --quiet
  run 0 --matrix a.mtx --grid 31,63 --preconditioner multigrid --report report.json
  check "r['iterations'] < 10 and r['storage'] == 'symmetric' and r['largest_error'] < 1e-6"
  run 0 --matrix a.mtx --grid 31,63 --preconditioner multigrid --inner-precision single --report report.json
  check "r['iterations'] < 12 and r['inner_precision'] == 'single'"
  refused --matrix a.mtx --preconditioner multigrid -- --grid
  refused --matrix a.mtx --grid 31,62 --preconditioner multigrid -- 31 62 1953
  refused --matrix a.mtx --grid 63,31 --preconditioner multigrid -- neighbours 63 31
  run 0 --problem mesh --mesh A5 --level 6 --preconditioner multigrid --report report.json
  check "r['iterations'] < 10 and r['storage'] == 'tensor'"
}

case_inner_solves() {
  run 0 "${small[@]}" --inner cr --inner-tolerance 0.05 --preconditioner jacobi --report report.json
  check "r['method'] == 'fcg' and r['inner'] == 'cr' and r['inner_iterations'] > r['iterations']"
  for method in gcr gmres fcg bicgstab; do
    run 0 "${small[@]}" --method $method --inner gmres --inner-precision single --report report.json
    check "r['status'] == 'converged' and r['inner_precision'] == 'single'"
  done
  run 0 "${small[@]}" --method richardson --inner cg --preconditioner ic --report report.json
  check "r['iterations'] < 15"
}

case_the_toeplitz_matrix_as_published() {
  # Ikuno, Deki, Fujita 2010, Table 2: 279 (3) and 204 (7).
  local published=(--problem toeplitz --gamma 0.8 --method gcr --inner jacobi --inner-test increment --rtol 1e-12)
  for precision in double single; do
    run 0 "${published[@]}" --inner-tolerance 1e-3 --inner-precision $precision --report report.json
    check "r['inner_iterations'] == 279 and r['iterations'] == 4"
    run 0 "${published[@]}" --inner-tolerance 1e-1 --inner-precision $precision --report report.json
    check "r['inner_iterations'] == 204 and r['iterations'] == 8"
  done
}

case_storages_agree() {
  run 0 "${small[@]}" --storage band --report report.json
  cp report.json band.json
  run 0 "${small[@]}" --storage csr --report report.json
  check "r['storage'] == 'csr' and r['iterations'] == json.load(open('band.json'))['iterations']"
}

case_precisions() {
  run 0 "${small[@]}" --precision single --rtol 1e-5 --report report.json
  check "r['precision'] == 'single' and r['inner_precision'] == 'single'"
  run 0 "${small[@]}" --preconditioner ic --inner-precision single --rtol 1e-12 --report report.json
  check "r['relative_residual'] <= 1e-12"
  run 2 "${small[@]}" --precision single --rtol 1e-12 --report report.json
  check "r['status'] == 'round-off limit'"
}

# ||b - A x|| / ||b|| from files, as anybody would check it.
relative_residual() {
  python3 - "$@" <<'END'
import sys
def content(name): return [l.split() for l in open(name) if not l.startswith("%")]
(n, _, _), *entries = content(sys.argv[1])
x = [float(w[0]) for w in content(sys.argv[2])[1:]]
b = [float(w[0]) for w in content(sys.argv[3])[1:]] if len(sys.argv) > 3 else [0.0] * int(n)
symmetric = "symmetric" in open(sys.argv[1]).readline()
product = lambda v: [sum(a * v[j] for j, a in row) for row in rows]
rows = [[] for _ in range(int(n))]
for i, j, a in entries:
    rows[int(i) - 1].append((int(j) - 1, float(a)))
    if symmetric and i != j: rows[int(j) - 1].append((int(i) - 1, float(a)))
if len(sys.argv) <= 3: b = product([1.0] * int(n))
norm = lambda v: sum(a * a for a in v) ** 0.5
print(norm([p - q for p, q in zip(b, product(x))]) / norm(b))
END
}

case_single_precision_claims_what_is_true() {
  local truth
  run 0 --unknowns 63,63 --epsilon 0.3 --save-matrix a.mtx --quiet
  for rtol in 1.2e-6 9e-7 1e-4; do
    "$program" "${common[@]}" --matrix a.mtx --precision single --rtol $rtol --solution x.mtx --report report.json >.output
    local code=$?
    truth=$(relative_residual a.mtx x.mtx)
    check "abs(r['relative_residual'] / $truth - 1) < 1e-3"
    check "(r['status'] == 'converged') == ($truth <= $rtol) and ($code == 0) == ($truth <= $rtol)"
  done
}

case_one_large_row_hides_nothing() {
  local truth
  python3 - <<'END'
n = 15
entries = []
for j in range(n):
    for i in range(n):
        r = j * n + i + 1
        entries.append((r, r, 1e30 if r == 1 else 4))
        if i > 0: entries.append((r, r - 1, -1.9))
        if i + 1 < n: entries.append((r, r + 1, -0.1))
        if j > 0: entries.append((r, r - n, -1))
        if j + 1 < n: entries.append((r, r + n, -1))
with open("a.mtx", "w") as f:
    f.write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (n * n, n * n, len(entries)))
    for e in entries: f.write("%d %d %.17g\n" % e)
with open("b.mtx", "w") as f:
    f.write("%%%%MatrixMarket matrix array real general\n%d 1\n" % (n * n) + "1\n" * (n * n))
END
  refused --matrix a.mtx --rhs b.mtx --method cg -- cg symmetric
  run 0 --matrix a.mtx --rhs b.mtx --grid 15,15 --preconditioner multigrid --solution x.mtx --report report.json
  check "r['storage'] == 'nine-band'"
  truth=$(relative_residual a.mtx x.mtx b.mtx)
  check "$truth <= 1e-8"
}

case_report_and_history() {
  run 0 "${small[@]}" --report report.json --history history.csv --solution x.mtx
  has_files history.csv report.json x.mtx
  for key in status iterations inner_iterations relative_residual largest_error matrix rows entries symmetric storage method \
    precision preconditioner inner backend setup_seconds solve_seconds history version; do
    check "'$key' in r"
  done
  check "len(r['history']) == r['iterations'] + 1"
  [ "$(wc -l <history.csv)" -eq "$(python3 -c 'import json; print(json.load(open("report.json"))["iterations"] + 2)')" ] ||
    fail "not one line for each iteration"
  [ "$(wc -l <x.mtx)" -eq 122 ] || fail "not one line for each unknown"
}

case_quiet_prints_nothing() {
  run 0 "${small[@]}" --quiet
  [ ! -s .output ] && [ ! -s .errors ] || fail "quiet is not quiet"
}

case_help_teaches() {
  run 0 --help
  for option in matrix rhs grid method list-methods preconditioner block-size inner inner-tolerance inner-max inner-precision rtol \
    max-iterations restart precision backend history list-preconditioners report solution; do
    prints "--$option\\b"
  done
  prints '[Ee]xample'
  prints 'krylov --matrix'
}

case_configuration_goes_round() {
  run 0 "${small[@]}" --method cr --rtol 1e-10 --print-config
  cp .output run.cfg
  run 0 --config run.cfg --report report.json --quiet
  check "r['method'] == 'cr' and r['rows'] == 120 and r['rtol'] == 1e-10"
}

case_small_systems() {
  printf '%%%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 4\n' >one.mtx
  run 0 --matrix one.mtx --preconditioner ic --report report.json
  check "r['rows'] == 1 and r['status'] == 'converged' and r['largest_error'] < 1e-12"
  run 0 --problem toeplitz --n 1 --gamma 0
  printf '%%%%MatrixMarket matrix array real general\n1 1\n0\n' >zero.mtx
  run 0 --matrix one.mtx --rhs zero.mtx --report report.json
  check "r['iterations'] == 0"
}

# --- what does not converge says so --------------------------------------------------------------------------------------

case_max_iterations() {
  run 2 "${small[@]}" --max-iterations 2 --report report.json --solution x.mtx
  prints '^status +max iterations'
  check "r['status'] == 'max iterations' and r['iterations'] == 2"
  has_files report.json x.mtx
}

case_a_singular_system_without_solution() {
  # Neumann boundaries on 12 x 12 cells: uniform, graded, rows divided by volumes, two parts; last with a null vector that
  # varies.
  python3 - <<'END' || fail "no matrices"
n = 12
def write(name, scale=lambda i, j: 1.0, columns=lambda i, j: 1.0, r=1.0, cut=None):
    h, a = [r**i for i in range(n)], {}
    def link(i, j, p, q, w):
        for (k, l), (m, o), v in (((i, j), (p, q), -w), ((p, q), (i, j), -w), ((i, j), (i, j), w), ((p, q), (p, q), w)):
            at = (l * n + k, o * n + m)
            a[at] = a.get(at, 0) + scale(k, l) * v * columns(m, o)
    for j in range(n):
        for i in range(n):
            if i + 1 < n: link(i, j, i + 1, j, 2 * h[j] / (h[i] + h[i + 1]))
            if j + 1 < n and j != cut: link(i, j, i, j + 1, 2 * h[i] / (h[j] + h[j + 1]))
    with open(name, "w") as f:
        f.write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (n * n, n * n, len(a)))
        for (row, column), v in sorted(a.items()): f.write("%d %d %.17g\n" % (row + 1, column + 1, v))
write("uniform.mtx")
write("graded.mtx", r=1.3)
write("parts.mtx", cut=5)
write("volumes.mtx", r=1.3, scale=lambda i, j: 1.3 ** -(i + j))
d = lambda i, j: 1 + (7 * i + 5 * j) % 11 / 10
write("varies.mtx", scale=d, columns=d)
for name, b in (("b", [1] * n * n), ("sine", [(-1) ** k for k in range(n * n)])):
    with open(name + ".mtx", "w") as f:
        f.write("%%%%MatrixMarket matrix array real general\n%d 1\n" % (n * n) + "".join("%g\n" % v for v in b))
END
  local method preconditioner matrix grid
  for matrix in uniform graded parts; do
    for method in cg fcg cr gcr gmres bicgstab richardson; do
      for preconditioner in none jacobi ic block-ic incomplete-poisson multigrid; do
        grid=()
        [ $preconditioner != multigrid ] || grid=(--grid 12,12)
        refused --matrix $matrix.mtx --rhs b.mtx --method $method --preconditioner $preconditioner "${grid[@]}" \
          -- 'the system has no solution' 'sum to zero' 'cannot fall below'
      done
    done
    run 0 --matrix $matrix.mtx --rhs sine.mtx --preconditioner jacobi
  done
  refused --matrix parts.mtx --rhs b.mtx -- '72 unknowns that row 1 is coupled to' 'sums to 72'
  refused --matrix volumes.mtx --rhs b.mtx --method gmres -- 'the system has no solution'
  # To a tolerance above what has to remain there is one.
  run 0 --matrix uniform.mtx --rhs sine.mtx --rtol 0.1
  for method in cg cr gmres bicgstab; do
    for preconditioner in none jacobi ic; do
      "$program" --matrix varies.mtx --rhs b.mtx --method $method --preconditioner $preconditioner --quiet --max-iterations 1000 \
        >/dev/null 2>&1 && fail "$method with $preconditioner claims a solution"
    done
  done
  return 0
}

case_an_indefinite_matrix_breaks_cg_down() {
  printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 -5\n' >a.mtx
  printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n1\n' >b.mtx
  run 3 --matrix a.mtx --rhs b.mtx --method cg --solution x.mtx
  prints '^status +breakdown'
  has_files a.mtx b.mtx
  run 0 --matrix a.mtx --rhs b.mtx --method cr
}

case_what_is_not_positive_definite_gets_advice() {
  matrix() { printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 %s\n2 1 %s\n2 2 %s\n' "$@" >a.mtx; }
  advises() { grep -qF "krylov: $1" .errors || fail "does not advise '$1'"; }
  printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n1\n' >b.mtx
  matrix 1 2 -5
  run 3 --matrix a.mtx --rhs b.mtx --report report.json
  advises 'the matrix is symmetric and indefinite: try --method cr or gmres'
  check "r['advice'].endswith('cr or gmres')"
  run 3 --matrix a.mtx --rhs b.mtx --quiet --method fcg
  advises 'the matrix is symmetric and indefinite: try --method cr or gmres'
  run 3 --matrix a.mtx --rhs b.mtx --method cr --preconditioner jacobi
  advises 'the matrix is symmetric and indefinite: try --method gmres'
  run 0 --matrix a.mtx --rhs b.mtx --method gmres
  [ ! -s .errors ] || fail "advises where nothing is wrong"
  matrix -3 4 -2
  run 3 --matrix a.mtx --rhs b.mtx
  advises 'the matrix is symmetric and indefinite: try --method cr or gmres'
}

# x.mtx holds these numbers.
solution_is() {
  python3 - "$@" <<'END' || fail "not the solution $*"
import sys
x = [float(line) for line in open("x.mtx") if not line.startswith("%") and " " not in line]
sys.exit(0 if len(x) == len(sys.argv) - 1 and all(abs(a - float(b)) < 1e-9 for a, b in zip(x, sys.argv[1:])) else 1)
END
}

case_a_negative_definite_matrix_is_solved_as_its_negative() {
  printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 -3\n2 1 1\n2 2 -2\n' >a.mtx
  printf '%%%%MatrixMarket matrix array real general\n2 1\n-1\n-3\n' >b.mtx
  for options in '--method cg' '--preconditioner ic' '--method gmres' '--preconditioner jacobi --method cr'; do
    # shellcheck disable=SC2086
    run 0 --matrix a.mtx --rhs b.mtx --rtol 1e-12 --solution x.mtx --save-matrix again.mtx --report report.json $options
    prints '^negated +its diagonal is negative: -A x = -b is solved'
    check "r['negated'] and r['status'] == 'converged'"
    solution_is 1 2
    cmp -s a.mtx again.mtx || fail "saves another matrix"
  done
  run 0 "${small[@]}" --report report.json
  check "not r['negated']"
}

case_one_triangle_is_asked_about() {
  printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n3\n' >b.mtx
  for entry in '2 1 -1 lower' '1 2 -1 upper'; do
    read -r row column value name <<<"$entry"
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n%s %s %s\n2 2 2\n' "$row" "$column" "$value" >a.mtx
    refused --matrix a.mtx --rhs b.mtx -- "a.mtx' has the $name triangle alone" '--triangle symmetric' '--triangle general'
    run 0 --matrix a.mtx --rhs b.mtx --rtol 1e-12 --triangle symmetric --solution x.mtx
    solution_is 1 2
    run 0 --matrix a.mtx --rhs b.mtx --rtol 1e-12 --triangle general --solution x.mtx
    if [ "$name" = lower ]; then solution_is 0 1.5; else solution_is 0.75 1.5; fi
    rm x.mtx
  done
  refused --matrix a.mtx --triangle lower -- --triangle symmetric general
  refused --triangle symmetric -- '--triangle: belongs to --matrix'
  printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n' >a.mtx
  refused --matrix a.mtx --triangle symmetric -- 'both sides of its diagonal'
}

case_a_right_hand_side_behind_the_matrix() {
  printf '%%%%MatrixMarket matrix coordinate real general symmetric\n%%%%AMGX 1 1 sorted rhs\n2 2 4\n1 1 2D0\n1 2 -1\n2 1 -1\n2 2 2\n2\n0\n3\n' >a.mtx
  run 0 --matrix a.mtx --rtol 1e-12 --solution x.mtx
  solution_is 1 2
  printf '%%%%MatrixMarket matrix array real general\n2 1\n3\n0\n' >b.mtx
  run 0 --matrix a.mtx --rtol 1e-12 --rhs b.mtx --solution x.mtx
  solution_is 2 1
}

case_progress_on_a_terminal_only() {
  local long=(--unknowns 1500,1500 --rtol 1e-14 --threads 1)
  timeout 4 "$program" --backend cpu "${long[@]}" >.output 2>.errors
  [ ! -s .errors ] || fail "tells its progress where there is no terminal"
  python3 - "$program" --backend cpu "${long[@]}" <<'END' || fail "no progress on a terminal"
import os, pty, re, select, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text, end = b"", time.time() + 120
while b" left" not in text and time.time() < end:
    if select.select([terminal], [], [], 1)[0]:
        text += os.read(terminal, 65536)
os.kill(pid, signal.SIGTERM)
os.waitpid(pid, 0)
sys.exit(0 if re.search(rb"iteration \d+, \d+ %, \d+:\d\d:\d\d left", text) else 1)
END
}

case_richardson_diverges() {
  run 3 "${small[@]}" --method richardson
  prints '^status +diverged'
}

# --- bad input -----------------------------------------------------------------------------------------------------------

case_malformed_matrices() {
  printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 x 1\n' >a.mtx
  refused --code 5 --matrix a.mtx -- a.mtx 'line 4' '2 x 1'
  printf '%%%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 2000000000\n1 1 1\n' >a.mtx
  refused --code 5 --matrix a.mtx -- 'line 2' 2000000000
  printf 'hello' >a.mtx
  refused --code 5 --matrix a.mtx -- hello
  refused --code 5 --matrix missing.mtx -- missing.mtx
  refused --code 5 --matrix . -- directory
  printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >a.mtx
  refused --matrix a.mtx -- square '2 rows' '3 columns'
  write_system
  printf '%%%%MatrixMarket matrix array real general\n2 1\n4\n7\n' >b.mtx
  refused --code 5 --matrix a.mtx --rhs b.mtx -- b.mtx '3 rows'
}

case_what_the_matrix_does_not_allow() {
  local toeplitz=(--problem toeplitz --n 50)
  refused "${toeplitz[@]}" --method cg -- cg symmetric gmres
  refused "${toeplitz[@]}" --inner cg -- --inner cg symmetric
  for preconditioner in ic block-ic incomplete-poisson; do
    refused "${toeplitz[@]}" --preconditioner $preconditioner -- $preconditioner symmetric jacobi
  done
  refused "${toeplitz[@]}" --preconditioner multigrid -- grid
  refused "${small[@]}" --method cg --inner gmres -- cg fcg
  printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 1\n' >a.mtx
  # Rows count from 1, as in the file.
  refused --code 3 --matrix a.mtx --preconditioner jacobi -- 'row 2 is 0'
  refused --code 3 --matrix a.mtx --preconditioner ic -- 'row 2:' shift
  refused --code 3 --matrix a.mtx --preconditioner incomplete-poisson -- 'row 2 is 0'
  printf '%%%%MatrixMarket matrix coordinate real general\n4 4 5\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n1 4 1\n' >b.mtx
  refused --matrix b.mtx --triangle general --grid 4,1 --preconditioner multigrid -- 'entry (1, 4)'
}

case_no_output_is_an_input() {
  run 0 "${small[@]}" --save-matrix a.mtx
  cp a.mtx b.mtx
  ln -s a.mtx link.mtx
  ln a.mtx same.mtx
  echo 'rtol=1e-6' >run.cfg
  for output in a.mtx ./a.mtx link.mtx same.mtx "$PWD/a.mtx"; do
    refused --matrix a.mtx --solution "$output" -- "'$output' is read by --matrix"
    refused --matrix link.mtx --save-matrix "$output" -- "'$output' is read by --matrix"
  done
  refused --matrix a.mtx --rhs x.mtx --history x.mtx -- "'x.mtx' is read by --rhs"
  refused "${small[@]}" --config run.cfg --report run.cfg -- "'run.cfg' is read by --config"
  cmp -s a.mtx b.mtx || fail "the input has changed"
}

case_files_that_fail_while_they_are_read() {
  # Nothing ends in /dev/zero, and /proc/self/mem cannot be read from its beginning on.
  for file in /dev/zero /proc/self/mem; do
    refused --code 5 --matrix $file -- "$file"
    refused --code 5 "${small[@]}" --rhs $file -- "$file"
    refused --code 5 "${small[@]}" --config $file -- "$file"
  done
  printf '\xef\xbb\xbf%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >bom.mtx
  refused --code 5 --matrix bom.mtx -- bom.mtx byte-order
}

case_solution_on_standard_output() {
  run 0 "${small[@]}" --solution - --quiet
  [ "$(head -n 1 .output)" = '%%MatrixMarket matrix array real general' ] || fail "no Matrix Market file"
  [ "$(wc -l <.output)" -eq 122 ] || fail "more than the solution"
}

case_unknown_names_list_the_known() {
  refused "${small[@]}" --method minres -- minres cg gmres bicgstab
  refused "${small[@]}" --preconditioner ilu -- ilu none jacobi block-ic incomplete-poisson multigrid
  refused "${small[@]}" --preconditioner incomplete-poisson --ip-form exact -- exact scaled printed
  refused --problem wave -- wave laplacian toeplitz mesh
  refused "${small[@]}" --inner minres -- minres cg
  refused "${small[@]}" --precision half -- half double single
  refused "${small[@]}" --storage dense -- dense band csr
  refused "${small[@]}" --inner jacobi --inner-test error -- error increment residual
  refused --problem mesh --mesh B1 -- B1 U1
}

case_numbers_out_of_range() {
  for value in 0 -1 nan inf x ''; do refused "${small[@]}" --rtol="$value" -- rtol; done
  for value in 0 -1 1.5 x; do refused "${small[@]}" --max-iterations="$value" -- max-iterations; done
  for value in 0 -1 x; do refused "${small[@]}" --restart="$value" -- restart; done
  for value in 0 1 2 x; do refused "${small[@]}" --inner cr --inner-tolerance="$value" -- inner-tolerance; done
  for value in 0 -1 x; do refused "${small[@]}" --preconditioner block-ic --block-size="$value" -- block-size; done
  for value in 0 -1 x; do refused "${small[@]}" --preconditioner block-ic --blocks="$value" -- blocks; done
  for value in -1 nan x; do refused "${small[@]}" --preconditioner ic --ic-shift="$value" -- ic-shift; done
  for value in 0,1 0 a,b 1,2,3,4 1,2,0 99999999,1 2000,2000,2000; do refused --unknowns="$value" -- unknowns; done
  refused --problem toeplitz --n 0 -- n
  refused --problem toeplitz --gamma nan -- gamma
}

case_contradictions() {
  write_system
  refused --matrix a.mtx --problem laplacian -- problem
  refused --matrix a.mtx --gamma 0.5 -- gamma
  refused --problem toeplitz --unknowns 3,3 -- unknowns
  refused "${small[@]}" --inner-max 3 -- inner
  refused "${small[@]}" --inner cr --inner-test residual -- inner-test
  refused "${small[@]}" --inner jacobi --preconditioner ic -- jacobi
  refused "${small[@]}" --precision single --inner-precision double -- inner-precision
  refused "${small[@]}" --report out --history out -- out
  refused "${small[@]}" --grid 12,10 -- grid
  refused "${small[@]}" stray -- stray
  refused --smoother adi -- smoother multigrid
  refused --preconditioner ic --sweeps 4 -- sweeps multigrid
  refused --preconditioner ic --block-size 4 -- block-size block-ic
  refused --preconditioner ic --blocks 4 -- blocks block-ic
  refused --preconditioner block-ic --blocks 4 --block-size 4 -- blocks block-size
  refused "${small[@]}" --preconditioner block-ic --blocks 121 -- '120 rows' 121 block-ic
  refused --preconditioner jacobi --ic-shift 1 -- ic-shift ic
  refused --preconditioner jacobi --ip-form printed -- ip-form incomplete-poisson
}

case_unwritable_outputs_are_found_before_solving() {
  for option in --report --history --solution --save-matrix; do
    refused --code 5 "${small[@]}" $option missing/out.txt -- missing/out.txt
    refused --code 5 "${small[@]}" $option /dev/null -- /dev/null
    if grep -q '^status' .output; then fail "solved before it looked at its outputs"; fi
  done
}

case_systems_that_do_not_fit_in_memory() {
  local available
  available=$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 1024))
  common=(10 "$program" "${common[@]}")
  program=timeout
  [ $((400000000 * 176)) -gt "$available" ] || skip "they would fit"
  refused --code 4 --unknowns 20000,20000 --save-matrix a.mtx --report report.json -- \
    'laplacian, 20000 x 20000' '400000000 rows' 'GiB of memory' 'GiB are available'
  refused --code 4 --problem toeplitz --n 100000000 --method gmres --restart 1000 -- toeplitz '100000000 rows' GiB
}

case_cuda_without_a_device() {
  needs_a_device "${small[@]}"
}

run_case "$2"
