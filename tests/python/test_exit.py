"""The end of a process while threads compute: it waits for none that is a daemon, and ends as Python ends, without a word."""

import subprocess
import sys
import textwrap

import pytest

CALLS = {
    "poisson": "stratum.Poisson(mesh, threads=2).solve(1.0, rtol=1e-12, on_failure='ignore')",
    "callback": "stratum.poisson(mesh, 1.0, callback=lambda k, r: sum(range(2000)), threads=1)",
    "finite volumes": "stratum.poisson(mesh, 1.0, discretisation='fv', threads=1)",
    "box": "stratum.poisson((x, x, x), 1.0, kappa=lambda x, y, z: 1 + x * y * z, threads=1)",
    "matrix": "stratum.Multigrid(A, threads=1).solve(np.ones(A.shape[0]), callback=lambda k, r: None)",
    "box matrix": "stratum.Multigrid(B, threads=1).aspreconditioner() @ np.ones(B.shape[0])",
    "side by side": "stratum.Poisson(mesh, threads=2).solve(np.ones((4, 33, 33)))",
    "heat": "stratum.heat(mesh, 1.0, 1.0, 20, method='tr-bdf2', f=lambda x, y, t: t * x, threads=1)",
    "patches": "stratum.poisson(square, 1.0, boundaries=lambda x, y: x * y, threads=1)",
}

PROGRAM = """
import atexit, sys, threading, time
import numpy as np, scipy.sparse as sp, stratum

x = np.linspace(0, 1, 33)
mesh = stratum.mesh(x, x)
line, short = (sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (31, 12))
A = sp.kronsum(line, line, format="csr")
B = sp.kronsum(sp.kronsum(short, short), short, format="csr")
square = stratum.patches(sys.argv[1])
begun = threading.Semaphore(0)

def solve():
    while True:
        CALL
        begun.release()

for _ in range(2):
    threading.Thread(target=solve, daemon=True).start()
for _ in range(3):
    begun.acquire()

own = stratum.Poisson(mesh, threads=1)
atexit.register(lambda: print("at exit", own.solve(1.0).report["converged"]))
time.sleep(float(sys.argv[2]))
"""

SQUARE = "cells 8\nvertices\n a 0 0\n b 1 0\n c 1 1\n d 0 1\npatches\n a b c d\nboundaries\n * wall\n"


@pytest.mark.parametrize("call", CALLS)
def test_daemon_threads_do_not_abort(call, tmp_path):
    (tmp_path / "square.patches").write_text(SQUARE)
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM).replace("CALL", CALLS[call]))
    pause = "0.0" + str(list(CALLS).index(call))
    done = subprocess.run([sys.executable, program, tmp_path / "square.patches", pause], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "at exit True\n", "")


def test_the_finalising_thread_goes_on_solving(tmp_path):
    """In __del__ of what is destroyed last. By the compiled part, since NumPy may not be called any more."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import numpy as np, scipy.sparse as sp, stratum
        ml = stratum.Multigrid(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30)), shape=(30, 1), threads=1)

        class Last:
            def __del__(self, system=ml._own, b=np.ones(30), x=np.zeros(30), seen=[], print=print):
                report = system.solve(b, x, 1e-8, 0.0, 100, lambda k, r: seen.append(k))
                print(report["status"], len(seen) > 0)

        last = Last()
        last.self = last
    """))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "converged True\n", "")
