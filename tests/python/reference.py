"""Bilinear elements on a tensor-product mesh, naively: what stratum.poisson is compared with."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

_S = np.array([[1.0, -1], [-1, 1]])
_M = np.array([[2.0, 1], [1, 2]]) / 6
_D = np.array([-0.5, 0.5])  # integrals of the slopes


def element(hx, hy, kxx, kxy, kyy, c):
    """Rows and columns by corner: south-west, south-east, north-west, north-east."""
    mixed = np.kron(np.outer(np.ones(2), _D), np.outer(_D, np.ones(2)))  # slope in x of the row, in y of the column
    return (kxx * hy / hx * np.kron(_M, _S) + kyy * hx / hy * np.kron(_S, _M) + kxy * (mixed + mixed.T)
            + c * hx * hy * np.kron(_M, _M))


def solve(mesh, load, boundaries, kxx=1.0, kxy=0.0, kyy=None, c=0.0):
    """u at all nodes. load: integrals of f phi at all nodes; boundaries: name -> (kind, g, alpha), arrays at the nodes."""
    hx, hy = mesh.widths_x, mesh.widths_y
    nx, ny = hx.size, hy.size
    kxx, kxy, kyy, c = (np.broadcast_to(k, (ny, nx)) for k in (kxx, kxy, kxx if kyy is None else kyy, c))
    number = np.arange((nx + 1) * (ny + 1)).reshape(ny + 1, nx + 1)
    rows, columns, values = [], [], []
    b = np.array(load, dtype=float, order="C")

    def add(nodes, matrix):
        rows.extend(np.repeat(nodes, len(nodes)))
        columns.extend(np.tile(nodes, len(nodes)))
        values.extend(matrix.ravel())

    for j in range(ny):
        for i in range(nx):
            corners = number[[j, j, j + 1, j + 1], [i, i + 1, i, i + 1]]
            add(corners, element(hx[i], hy[j], kxx[j, i], kxy[j, i], kyy[j, i], c[j, i]))
    fixed = np.zeros(number.shape, dtype=bool)
    u = np.zeros(number.shape)
    places = {"bottom": np.s_[0, :], "top": np.s_[-1, :], "left": np.s_[:, 0], "right": np.s_[:, -1]}
    for name, place in places.items():  # left and right have the corners
        kind, g, alpha = boundaries[name]
        h = hx if name in ("bottom", "top") else hy
        g = np.broadcast_to(g, h.size + 1)
        if kind == "dirichlet":
            fixed[place] = True
            u[place] = g
        elif kind in ("neumann", "robin"):
            nodes = number[place]
            for k in range(h.size):
                b.ravel()[nodes[k:k + 2]] += h[k] * _M @ g[k:k + 2]
                if kind == "robin":
                    add(nodes[k:k + 2], alpha * h[k] * _M)
    merged = number.copy()
    if boundaries["left"][0] == "periodic":
        merged[:, -1] = merged[:, 0]
    if boundaries["bottom"][0] == "periodic":
        merged[-1, :] = merged[0, :]
    n = number.size
    a = sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    join = sp.coo_array((np.ones(n), (merged.ravel(), number.ravel())), shape=(n, n)).tocsr()
    fixed_of = (join @ fixed.ravel().astype(float)) > 0
    b = join @ (b.ravel() - a @ u.ravel())
    a = join @ a @ join.T
    free = np.flatnonzero((merged.ravel() == number.ravel()) & ~fixed_of)
    values = np.zeros(n)
    values[free] = spsolve(a[free][:, free].tocsc(), b[free])
    return u + values[merged]
