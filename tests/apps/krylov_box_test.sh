#!/usr/bin/env bash
# krylov_box_test.sh PROGRAM CASE: matrices of boxes by krylov, which stands beside PROGRAM.
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
program=$(dirname "$program")/krylov

# Files of the matrix a.mtx and of coordinates in another order, and as no text says: unknown k is node `order[k]`.
write_in_another_order() {
  python3 - <<'END'
import random
lines = [l.split() for l in open("a.mtx") if not l.startswith("%")]
n, nx, ny = int(lines[0][0]), 9, 7
order = list(range(n))
random.Random(1).shuffle(order)
at = {node: k + 1 for k, node in enumerate(order)}
with open("shuffled.mtx", "w") as f:
    f.write("%%MatrixMarket matrix coordinate real general\n")
    entries = [(int(i), int(j), v) for i, j, v in lines[1:]]
    entries += [(j, i, v) for i, j, v in entries if i != j]
    f.write(f"{n} {n} {len(entries)}\n")
    f.writelines(f"{at[i - 1]} {at[j - 1]} {v}\n" for i, j, v in entries)
with open("at.mtx", "w") as f:
    f.write(f"%%MatrixMarket matrix array real general\n{n} 3\n")
    for d in range(3):
        f.writelines(f"{[node % nx, 0.1 * (node // nx % ny), 1e-4 * (node // (nx * ny))][d]:.17g}\n" for node in order)
END
}

case_multigrid_in_the_box_of_a_file() {
  run 0 --unknowns 9,7,11 --epsilon 100 --save-matrix a.mtx --preconditioner multigrid --report report.json
  prints '^matrix .* 9 x 7 x 11, epsilon 100: 693 rows, 4373 entries, symmetric; 7 bands'
  cp report.json first.json
  for grid in 9,7,11 9x7x11; do
    run 0 --matrix a.mtx --grid $grid --report report.json
    prints '^box +9 x 7 x 11 nodes, the fastest of x, y, z; levels 9 x 7 x 11 lines along z'
    check "r['iterations'] < 8 and r['largest_error'] < 1e-6 and r['preconditioner'] == 'multigrid' and r['storage'] == 'band'"
    check "r['history'] == json.load(open('first.json'))['history']"
  done
  # Along z first.
  run 0 --matrix a.mtx --grid 11,7,9 --report report.json
  prints '^box +11 x 7 x 9 nodes, the fastest of z, y, x; levels 11 x 7 x 9 lines along x'
  check "r['iterations'] < 8 and r['largest_error'] < 1e-6"
  write_in_another_order
  run 0 --matrix shuffled.mtx --coordinates at.mtx --rtol 1e-9 --inner-precision single --report report.json
  prints '^box +9 x 7 x 11 nodes; levels'
  check "r['iterations'] < 8 and r['largest_error'] < 1e-6 and r['box'].startswith('9 x 7 x 11 nodes')"
  run 0 --matrix a.mtx --grid 9,7,11 --method gcr --inner cg --inner-tolerance 1e-4 --report report.json
  check "r['inner_iterations'] > r['iterations'] and r['relative_residual'] <= 1e-8"
  refused --matrix shuffled.mtx --grid 9,7,11 -- 'of the matrix has' 'No order'
  refused --matrix a.mtx --grid 9,7,10 -- '9 x 7 x 10' 693
  refused --matrix a.mtx --grid 9,7,11,1 -- 'NX,NY,NZ'
  refused --matrix a.mtx --grid 9,7,11 --coordinates at.mtx -- '--grid' '--coordinates'
  refused --matrix a.mtx --coordinates a.mtx -- '--coordinates' '693 x 693'
  refused --matrix a.mtx --coordinates at.mtx -- '--coordinates' 'no neighbours'
  refused --matrix a.mtx --grid 9,7,11 --preconditioner ic -- '--grid' multigrid
  refused --matrix a.mtx --grid 9,7,11 --smoother adi -- '--smoother' auto
  refused --matrix a.mtx --grid 9,7,11 --sweeps 2 -- '--sweeps' 2
  refused --unknowns 9,7,1 -- '--unknowns'
}

# Neumann all around: rows and b sum to zero. Dirichlet: rows that hold their diagonal alone, and columns that do not.
case_singular_matrices_and_identity_rows() {
  python3 - <<'END'
n = (8, 7, 6)
def number(p): return (p[2] * n[1] + p[1]) * n[0] + p[0]
nodes = [(i, j, k) for k in range(n[2]) for j in range(n[1]) for i in range(n[0])]
def write(name, held):
    entries = []
    for p in nodes:
        diagonal = 0
        if held and p[0] in (0, n[0] - 1):
            entries.append((number(p), number(p), 1))
            continue
        for d in range(3):
            for side in (-1, 1):
                q = list(p)
                q[d] += side
                if not 0 <= q[d] < n[d]: continue
                diagonal += 1
                entries.append((number(p), number(q), -1))
        entries.append((number(p), number(p), diagonal))
    with open(name, "w") as f:
        f.write(f"%%MatrixMarket matrix coordinate real general\n{len(nodes)} {len(nodes)} {len(entries)}\n")
        f.writelines(f"{i + 1} {j + 1} {v}\n" for i, j, v in entries)
write("neumann.mtx", False)
write("dirichlet.mtx", True)
with open("b.mtx", "w") as f:
    f.write(f"%%MatrixMarket matrix array real general\n{len(nodes)} 1\n")
    f.writelines(f"{1 if p[0] < n[0] / 2 else -1}\n" for p in nodes)
END
  run 0 --matrix neumann.mtx --rhs b.mtx --grid 8,7,6 --report report.json
  prints '^box .*, singular; levels'
  check "r['iterations'] < 10 and r['symmetric'] and r['relative_residual'] <= 1e-8"
  run 0 --matrix dirichlet.mtx --grid 8,7,6 --report report.json
  prints '^box .*, 84 identity rows; levels'
  check "r['iterations'] < 10 and r['method'] == 'gmres' and r['largest_error'] < 1e-6"
}

run_case "$2"
