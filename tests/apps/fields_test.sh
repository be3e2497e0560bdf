#!/usr/bin/env bash
# fields_test.sh POISSON2D CASE: right-hand sides, initial values, values of boundaries and coefficients from files, in poisson2d and
# heat2d. What files say is compared with the same as expressions.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

common=(--backend cpu --threads 1)

# array FILE ROWS COLUMNS EXPRESSION: of column i and row j, which run from 0 to 1.
array() {
  python3 - "$@" <<'PYTHON'
import struct, sys
name, rows, columns, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
values = [eval(text, {"x": i / max(columns - 1, 1), "y": j / max(rows - 1, 1), "i": i, "j": j}) for j in range(rows) for i in range(columns)]
if name.endswith(".csv"):
    with open(name, "w") as file:
        for j in range(rows):
            print(*values[j * columns:(j + 1) * columns], sep=",", file=file)
else:
    shape = f"({columns},)" if rows == 1 else f"({rows}, {columns})"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                           struct.pack(f"<{len(values)}d", *values))
PYTHON
}

# same NUMBER: reports of the last two runs agree in it to rounding.
same() { check "abs(r['$1'] - json.load(open('other.json'))['$1']) <= 1e-9 * abs(r['$1'])"; }

solve() { run 0 --cells 16 --vtk none --report report.json "$@"; }

# A bilinear function is the same from its nodes as from its text, on the mesh of the file and on finer ones.
case_functions_on_nodes() {
  array f.npy 17 17 '1 + x - 3 * y + 4 * x * y'
  array f.csv 9 9 '1 + x - 3 * y + 4 * x * y'
  solve --rhs '1+x-3*y+4*x*y' --exact '1+x-3*y+4*x*y' --reaction 2
  cp report.json other.json
  local file
  for file in f.npy f.csv; do
    solve --rhs file:$file --exact file:$file --reaction 2
    same initial_residual
    same relative_l2_error
    solve --rhs file:$file --boundary file:$file --reaction 2
    same initial_residual
    solve --level 1 --rhs file:$file --exact file:$file --reaction 2
  done
  run 0 --rhs file:f.csv --exact file:f.csv --cells 8 --reaction 2 --convergence-table 0..2 --vtk none
  prints '^ +2 +961 '
  # Several right-hand sides.
  solve --rhs file:f.npy --rhs 1 --rhs file:f.csv
  prints '^ +3 +5 '
}

case_functions_on_cells() {
  array f.csv 1 2 '1 + 9 * i'
  solve --rhs 'x < 0.5 ? 1 : 10'
  cp report.json other.json
  solve --rhs file:f.csv
  same initial_residual
}

# A boundary takes a line of numbers, or those of the whole mesh on it.
case_boundaries() {
  array g.npy 1 17 '2 * x'
  array g.csv 17 1 '2 * y'
  array w.npy 17 17 'x + 2 * y'
  array c.csv 16 1 '1 if j < 8 else 3'
  solve --rhs 1 --left 'dirichlet:2*y' --right 'neumann:y<0.5?1:3' --top 'robin:2*x,x+2'
  cp report.json other.json
  solve --rhs 1 --left dirichlet:file:g.csv --right neumann:file:c.csv --top robin:file:g.npy,file:w.npy
  same initial_residual
  solve --rhs 1 --left dirichlet:file:w.npy --right neumann:file:c.csv --top robin:file:g.npy,file:w.npy
  same initial_residual
}

# What poisson2d wrote, by the names of its arrays; coefficients on nodes have their means on cells.
case_arrays_of_vtk() {
  needs_vtk
  run 0 --cells 16 --rhs '1+x' --exact '2+x*y' --vtk a.vtr
  solve --rhs file:a.vtr:rhs --boundary file:a.vtr:exact --kappa file:a.vtr:exact --reaction file:a.vtr:rhs
  cp report.json other.json
  solve --rhs '1+x' --boundary '2+x*y' --kappa '2+x*y' --reaction '1+x'
  same initial_residual
  refused --cells 16 --rhs file:a.vtr -- --rhs 'several arrays' aspect_ratio solution rhs exact
  refused --cells 16 --rhs file:a.vtr:f -- --rhs "no array 'f'" solution
  refused --cells 16 --rhs file:a.vtr:rhs --vtk a.vtr -- "'a.vtr' is read by --rhs"
  # K may leave the name out, as there is one array on cells only.
  solve --rhs 1 --kappa file:a.vtr
}

case_in_time() {
  array u.npy 17 17 'x * (1 - x) * y'
  array f.npy 17 17 '1 + x'
  run_heat() { of heat2d run 0 --cells 16 --end 0.01 --dt 0.002 --quiet --report report.json "$@"; }
  run_heat --initial 'rint(16*x)/16*(1-rint(16*x)/16)*y' --rhs '1+x' --boundary 0
  cp report.json other.json
  array zero.csv 17 17 0
  run_heat --initial file:u.npy --rhs file:f.npy --boundary file:zero.csv
  check "abs(r['heat'] - json.load(open('other.json'))['heat']) <= 1e-6" # stages are solved to 1e-8
  of heat2d refused --cells 8 --initial file:u.npy -- --initial u.npy '17 x 17 numbers' '8 x 8 cells'
}

# On deformed meshes numbers are those of the nodes, wherever they lie.
case_deformed() {
  array f.npy 17 17 '(1 + x) * (1 + x)'
  local bend='(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)'
  solve --map "$bend" --rhs 1 --boundary 'x^2+y^2'
  cp report.json other.json
  solve --map "$bend" --rhs 1 --boundary file:f.npy
  same initial_residual
}

case_ranks() {
  local mpirun=${MPIRUN:-mpirun}
  command -v "$mpirun" >/dev/null || skip "there is no mpirun"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  array f.npy 33 33 '1 + x * y'
  array g.npy 1 33 'x'
  run 0 --cells 32 --rhs file:f.npy --left dirichlet:file:g.npy --vtk none --report report.json
  cp report.json other.json
  for count in 2 3; do
    "$mpirun" -n $count "$program" "${common[@]}" --cells 32 --rhs file:f.npy --left dirichlet:file:g.npy --vtk none \
      --report report.json >.output 2>.errors || fail "$count ranks"
    grep -q 'has no MPI' .errors && skip "this build has no MPI"
    same initial_residual
  done
}

case_refused_files() {
  array f.csv 6 7 1
  refused --cells 16 --rhs file:f.csv -- --rhs "'f.csv' has 7 x 6 numbers" '16 x 16 cells' '17 x 17 nodes' '16, 8, 4, 2 or 1'
  refused --cells 16 --left dirichlet:file:f.csv -- --left 'f.csv' '7 x 6 numbers'
  array g.csv 5 1 1
  solve --rhs 1 --right neumann:file:g.csv
  array g.csv 6 1 1
  refused --cells 16 --rhs 1 --right neumann:file:g.csv -- --right 'g.csv' '6 numbers along a boundary' '16 intervals'
  refused --code 5 --cells 16 --rhs file:none.npy -- "cannot read 'none.npy'"
  refused --cells 16 --rhs file: -- --rhs 'name of the file'
  refused --cells 16 --exact file:f.txt --rhs 1 -- --exact f.txt .vtr .vti .npy .csv
  printf '1,2\n3,nan\n' >n.csv
  refused --cells 16 --rhs file:n.csv -- --rhs 'line 2' nan
  array n.npy 17 17 'float("nan") if (i, j) == (3, 5) else 1'
  refused --cells 16 --rhs file:n.npy -- --rhs n.npy '(3, 5) is nan'
  of heat2d refused --cells 16 --initial file:n.npy -- --initial n.npy '(3, 5) is nan'
  array k.npy 17 17 'x - 0.5'
  refused --cells 16 --rhs 1 --kappa file:k.npy -- 'positive definite' 'cell (0, 0)'
}

case_files_that_fail_while_they_are_read() {
  local ending
  for ending in npy csv png vti nc; do
    mkdir folder.$ending
    ln -s /proc/self/mem fails.$ending
    "$program" "${common[@]}" --cells 16 --rhs 1 --kappa file:fails.$ending >.output 2>.errors
    if grep -q 'has no NetCDF' .errors; then continue; fi
    refused --code 5 --cells 16 --rhs 1 --kappa file:fails.$ending -- "cannot read 'fails.$ending'"
    refused --code 5 --cells 16 --rhs 1 --kappa file:folder.$ending -- "cannot read 'folder.$ending': Is a directory"
    case $ending in npy | vti | nc) ;; *) continue ;; esac
    of poisson3d refused --code 5 --cells 4 --rhs 1 --kappa file:folder.$ending -- "'folder.$ending': Is a directory"
  done
}

# Pictures of every kind, with all filters of rows, are the numbers that they were made of.
case_pictures() {
  python3 - <<'PYTHON'
import random, struct, zlib

random.seed(3)
n = 16

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def filtered(rows, step):
    # Filters 0 to 4 in turn, as the standard defines them.
    out, above = b"", bytes(len(rows[0]))
    for j, row in enumerate(rows):
        kind, line = j % 5, []
        for k, value in enumerate(row):
            a, b, c = row[k - step] if k >= step else 0, above[k], above[k - step] if k >= step else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line.append((value - (0, a, b, (a + b) // 2, paeth)[kind]) % 256)
        out += bytes([kind]) + bytes(line)
        above = row
    return out

def write(name, bits, colour, rows, step, extra=b"", level=9):
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", n, n, bits, colour, 0, 0, 0)) + extra +
                           chunk(b"IDAT", zlib.compress(filtered(rows, step), level)) + chunk(b"IEND", b""))

grey = [[random.choice([0, 40, 128, 255]) for _ in range(n)] for _ in range(n)]  # the upper row first
write("grey.png", 8, 0, [bytes(row) for row in grey], 1)
write("stored.png", 8, 0, [bytes(row) for row in grey], 1, level=0)
write("colours.png", 8, 2, [bytes(v for v in row for _ in range(3)) for row in grey], 3)
write("opaque.png", 8, 6, [bytes(v for g in row for v in (g, g, g, 255)) for row in grey], 4)
write("deep.png", 16, 0, [bytes(v for g in row for v in (g, g)) for row in grey], 2)
known = [0, 40, 128, 255]
write("palette.png", 2, 3, [bytes(sum(known.index(row[4 * k + m]) << (6 - 2 * m) for m in range(4)) for k in range(n // 4)) for row in grey], 1,
      chunk(b"PLTE", bytes(v for g in known for v in (g, g, g))))
with open("grey.csv", "w") as file:
    for row in reversed(grey):
        print(*(v / 255 for v in row), sep=",", file=file)
with open("scaled.csv", "w") as file:
    for row in reversed(grey):
        print(*(0.01 + v / 255 * 0.99 for v in row), sep=",", file=file)
PYTHON
  solve --rhs file:grey.csv
  cp report.json other.json
  local file
  for file in grey stored colours opaque deep palette; do
    solve --rhs file:$file.png
    same maximum
    same load_integral
  done
  solve --rhs 1 --kappa file:scaled.csv
  cp report.json other.json
  solve --rhs 1 --kappa file:grey.png:0.01..1
  same maximum
  refused --cells 16 --rhs 1 --kappa file:grey.png -- "K must be positive definite; in cell"
  refused --cells 16 --rhs 1 --kappa file:grey.png:1 -- "'1' is not BLACK..WHITE"
  refused --cells 12 --rhs file:grey.png -- "'grey.png' has 16 x 16 numbers on cells"
  head -c 60 grey.png > cut.png
  refused --cells 16 --rhs file:cut.png -- "'cut.png' cannot be taken for a picture: it ends too early"
  refused --code 5 --cells 16 --rhs file:none.png -- "cannot read 'none.png'"
}

run_case "$2"
