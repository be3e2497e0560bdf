#!/usr/bin/env bash
# cuda_wheel.sh [OUTDIR [ARCHITECTURES]]: a wheel with the CUDA backend, for machines that have a driver and no toolkit.
#
# From the root of the sources; takes nvcc (12.4 or newer), and pip with an index or --no-build-isolation in PIP_OPTIONS.
# ARCHITECTURES: "all" (from compute capability 8.0 on, the default) or those of CMAKE_CUDA_ARCHITECTURES, such as 90.
# CUDA's runtime is linked statically, and cuBLAS opened where it is needed: of pip's nvidia-cublas (stratum[cuda12], [cuda13]).
set -euo pipefail
out=${1:-dist} architectures=${2:-all}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
python=${PYTHON:-python3}
defines=(-C cmake.define.STRATUM_CUDA=ON)
if [ "$architectures" = all ]; then
  defines+=(-C cmake.define.STRATUM_CUDA_ARCHITECTURES=all)
else
  defines+=(-C cmake.define.CMAKE_CUDA_ARCHITECTURES="$architectures")
fi
# Kernels compressed as far as nvcc can: drivers of 12.4 and newer read them.
if "${CUDACXX:-nvcc}" --help | grep -q -- --compress-mode; then defines+=(-C cmake.define.CMAKE_CUDA_FLAGS=--compress-mode=size); fi
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
# shellcheck disable=SC2086
"$python" -m pip wheel "$root" --no-deps --wheel-dir "$raw" ${PIP_OPTIONS:-} "${defines[@]}"
mkdir -p "$out"
if "$python" -m auditwheel --version >/dev/null 2>&1; then
  # The driver's library is the user's.
  "$python" -m auditwheel repair --exclude libcuda.so.1 --wheel-dir "$out" "$raw"/stratum-*.whl
else
  echo "without auditwheel: the wheel runs on systems like this one"
  cp "$raw"/stratum-*.whl "$out"/
fi
ls -l "$out"/stratum-*.whl
