"""stratum.poisson in a box against Kronecker products of small dense matrices, and what it says of input that it refuses."""

import os

import numpy as np
import pytest
import stratum

names = ("left", "right", "bottom", "top", "front", "back")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def mesh(rng):
    return stratum.mesh(widths=[rng.uniform(0.01, 1, n) for n in (7, 5, 6)], origin=(-1, 3, 10))


def widths(mesh):
    return mesh.widths_x, mesh.widths_y, mesh.widths_z


def stiffness_and_mass(h, k):
    n = h.size
    stiffness, mass = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for i in range(n):
        cell = np.s_[i:i + 2, i:i + 2]
        stiffness[cell] += k[i] / h[i] * np.array([[1, -1], [-1, 1]])
        mass[cell] += h[i] / 6 * np.array([[2, 1], [1, 2]])
    return stiffness, mass


def solve(mesh, load, faces, kappa=(1, 1, 1), c=0.0):
    """u at all nodes; faces: name -> (kind, g, alpha), g at the nodes of the face; load: integrals of f phi at all nodes."""
    pairs = [stiffness_and_mass(h, np.broadcast_to(k, h.shape)) for h, k in zip(widths(mesh), kappa)]
    (kx, mx), (ky, my), (kz, mz) = pairs
    a = (np.kron(mz, np.kron(my, kx)) + np.kron(mz, np.kron(ky, mx)) + np.kron(kz, np.kron(my, mx))
         + c * np.kron(mz, np.kron(my, mx)))
    number = np.arange(load.size).reshape(load.shape)
    b, u, fixed = np.array(load).ravel(), np.zeros(load.size), np.zeros(load.size, dtype=bool)
    for name, (kind, g, alpha) in reversed(list(faces.items())):  # left has edges and corners
        across = names.index(name) // 2
        nodes = np.take(number, -1 if names.index(name) % 2 else 0, axis=2 - across).ravel()
        along = [pairs[d][1] for d in range(3) if d != across]
        on_face = np.kron(along[1], along[0])
        if kind == "dirichlet":
            fixed[nodes], u[nodes] = True, np.ravel(g)
        else:
            b[nodes] += on_face @ np.ravel(g)
            a[np.ix_(nodes, nodes)] += alpha * on_face
    free = ~fixed
    u[free] = np.linalg.solve(a[np.ix_(free, free)], b[free] - a[np.ix_(free, fixed)] @ u[fixed])
    return u.reshape(load.shape)


def shape_of_face(mesh, name):
    return tuple(n for d, n in zip((2, 1, 0), mesh.shape) if d != names.index(name) // 2)


def compare(given, expected):
    assert given.shape == expected.shape
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-10 * abs(expected).max())


def mass_load(mesh, f):
    (_, mx), (_, my), (_, mz) = (stiffness_and_mass(h, np.ones(h.size)) for h in widths(mesh))
    return np.einsum("kc,jb,ia,cba->kji", mz, my, mx, f)


def test_arrays_at_nodes_with_every_kind_of_face(mesh, rng):
    f = rng.standard_normal(mesh.shape)
    kinds = {"left": "dirichlet", "right": "robin", "bottom": "neumann", "top": "dirichlet", "front": "robin", "back": "neumann"}
    data = {name: (kind, rng.standard_normal(shape_of_face(mesh, name)), 2.5 if kind == "robin" else 0.0)
            for name, kind in kinds.items()}
    given = {name: ("robin", alpha, g) if kind == "robin" else (kind, g) for name, (kind, g, alpha) in data.items()}
    k = [rng.uniform(0.1, 10, h.size) for h in widths(mesh)]
    x, y, z, u, report = stratum.poisson(mesh, f, given, kappa=tuple(k), reaction=3)
    compare(u, solve(mesh, mass_load(mesh, f), data, k, 3))
    assert report["converged"] and report["iterations"] == 1
    assert (x[0], y[0], z[0]) == (-1, 3, 10) and u.shape == (7, 6, 8) == mesh.shape and mesh.cells == (6, 5, 7)


def test_functions_are_called_with_the_coordinates(mesh):
    exact = lambda x, y, z: 1 + x - 2 * y + 3 * z + x * y * z
    x, y, z, u, report = stratum.poisson(mesh, 0, exact)
    compare(u, exact(x, y[:, None], z[:, None, None]))
    # The load of a trilinear function is that of its interpolation.
    f = lambda x, y, z: x - y * z + x * y * z
    one, other = (stratum.poisson(mesh, g, 1.0).u for g in (f, f(*np.meshgrid(x, y, z, indexing="ij")).T))
    compare(one, other)


def test_f_on_cells_is_constant_in_each(mesh, rng):
    f = rng.standard_normal(mesh.cells)
    load = np.zeros(mesh.shape)
    hx, hy, hz = widths(mesh)
    for k, j, i in np.ndindex(mesh.cells):
        load[k:k + 2, j:j + 2, i:i + 2] += f[k, j, i] * hx[i] * hy[j] * hz[k] / 8
    faces = dict.fromkeys(names, ("dirichlet", 0.0, 0.0))
    compare(stratum.poisson(mesh, f).u, solve(mesh, load, faces))
    compare(stratum.poisson(mesh, 2).u, solve(mesh, mass_load(mesh, np.full(mesh.shape, 2.0)), faces))


def test_kappa_in_every_form(mesh):
    f = lambda x, y, z: np.sin(x) * y
    product = lambda x, y, z: (2 + x) * y * z
    cells = [(c[:-1] + c[1:]) / 2 for c in (mesh.x, mesh.y, mesh.z)]
    on_cells = product(*np.meshgrid(*cells, indexing="ij")).T
    compare(stratum.poisson(mesh, f, kappa=product).u, stratum.poisson(mesh, f, kappa=on_cells).u)
    diagonal = (cells[0] + 2, 1, cells[2] ** 2)
    compare(stratum.poisson(mesh, f, kappa=diagonal, reaction=1).u,
            stratum.poisson(mesh, f, kappa=(lambda x, y, z: x + 2, 1.0, lambda x, y, z: z * z), reaction=1).u)
    compare(stratum.poisson(mesh, f, kappa=4).u, stratum.poisson(mesh, f).u / 4)


def test_meshes_by_name_and_graded():
    assert repr(stratum.mesh("A3", 3, "xyz")).startswith("<stratum.BoxMesh A3: 8 x 8 x 8 cells")
    a2 = stratum.mesh("A2", 4)
    box = stratum.mesh("A2", 4, "xz")
    np.testing.assert_array_equal(box.widths_x, a2.widths_x)
    np.testing.assert_array_equal(box.widths_z, a2.widths_y)
    np.testing.assert_array_equal(box.widths_y, np.full(16, 1 / 16))
    np.testing.assert_array_equal(stratum.mesh([0, 1], [0, 2, 3], [5, 6]).y, [0, 2, 3])
    graded = stratum.mesh(cells=(4, 3, 2), size=(1, 2, 3), grading=("geometric:2,last", "uniform", "cosine"))
    assert graded.shape == (3, 4, 5) and graded.widths_x[0] == 2 * graded.widths_x[1]
    u = stratum.poisson(("A5", 5, "xyz"), 0, lambda x, y, z: x - y + z).u
    mesh = stratum.mesh("A5", 5, "xyz")
    assert abs(u - (mesh.x - mesh.y[:, None] + mesh.z[:, None, None])).max() < 1e-14


def test_singular_problems_and_several_f():
    problem = stratum.Poisson3D(stratum.mesh(cells=(16, 12, 8)), dict.fromkeys(names, "neumann"))
    assert problem.singular
    with pytest.raises(ValueError, match="is 0.5, .*project"):
        problem.solve(lambda x, y, z: x)
    x, y, z, u, report = problem.solve(lambda x, y, z: x, project=True)
    v = problem.solve(lambda x, y, z: x - 0.5).u
    compare(u, v)
    exact = np.cos(np.pi * x) / np.pi ** 2
    w = problem.solve(lambda x, y, z: np.cos(np.pi * x)).u
    assert abs(w - exact).max() < 2e-3 * abs(exact).max() * 4
    assert not stratum.Poisson3D(("U1", 2, "z")).singular


def test_periodic_faces():
    boundaries = {"left": "periodic", "right": "periodic", "front": "neumann", "back": "neumann"}
    x, y, z, u, report = stratum.poisson(stratum.mesh(cells=(24, 16, 3)), lambda x, y, z: np.sin(2 * np.pi * x) * np.sin(np.pi * y),
                                         boundaries)
    np.testing.assert_array_equal(u[:, :, 0], u[:, :, -1])
    assert abs(u - np.sin(2 * np.pi * x) * np.sin(np.pi * y)[:, None] / (5 * np.pi ** 2)).max() < 3e-4


def test_k_that_is_no_product(rng):
    mesh = stratum.mesh(cells=(10, 12, 9), grading=("uniform", "geometric:1.4,first", "uniform"))
    k = np.exp(3 * rng.standard_normal((9, 12, 10)))
    x, y, z, u, report = stratum.poisson(mesh, lambda x, y, z: 1 + x, kappa=k, rtol=1e-11)
    assert report["status"] == "converged" and "V-cycles" in report["choice"] and "no product" not in report["choice"]
    # The same by three arrays, and by a function that looks its cell up.
    same = stratum.poisson(mesh, lambda x, y, z: 1 + x, kappa=(k, k, k), rtol=1e-11).u
    np.testing.assert_allclose(same, u, atol=1e-8 * abs(u).max())
    cell = lambda edges, at: np.clip(np.searchsorted(edges, at) - 1, 0, len(edges) - 2)
    by_function = stratum.poisson(mesh, lambda x, y, z: 1 + x, kappa=lambda a, b, c: k[cell(z, c), cell(y, b), cell(x, a)], rtol=1e-11).u
    np.testing.assert_allclose(by_function, u, atol=1e-8 * abs(u).max())
    # u_h minimises the energy: the load of u is its energy, which grows where K is larger somewhere.
    stiffer = stratum.poisson(mesh, lambda x, y, z: 1 + x, kappa=np.where(k < 1, 1, k), rtol=1e-11).u
    assert stiffer.sum() < u.sum()
    smooth = stratum.poisson(mesh, 1, kappa=lambda x, y, z: 1 + x * y * z, reaction=2.0)
    assert "fast diagonalization" in smooth.report["choice"] and "smooth" in smooth.report["choice"]


def test_what_is_refused(mesh, rng):
    def refused(error, words, *arguments, **options):
        with pytest.raises(error, match=words):
            stratum.poisson(*arguments, **options)

    refused(ValueError, r"f has shape \(7, 6, 8\) or \(6, 5, 7\) on this mesh; given is \(8, 6, 7\)", mesh, np.ones((8, 6, 7)))
    refused(ValueError, r"kx has shape \(7,\)", mesh, 1, kappa=(np.ones(5), 1, 1))
    refused(ValueError, r"\(kx, ky, kz\), not 2", mesh, 1, kappa=(1, 1))
    refused(ValueError, r"front boundary has shape \(6, 8\) on this mesh; given is \(8, 6\)", mesh, 1, {"front": np.ones((8, 6))})
    refused(ValueError, "left, right, bottom, top, front and back; not 'north'", mesh, 1, {"north": 1})
    refused(ValueError, "periodic", mesh, 1, {"front": "periodic"})
    refused(ValueError, "varies", mesh, 1, {"top": ("robin", lambda x, y, z: x + 2, 0.0)})
    refused(TypeError, "number", mesh, 1, reaction=np.ones(mesh.cells))
    refused(TypeError, "smoother", mesh, 1, smoother="adi")
    refused(ValueError, "finite", mesh, lambda x, y, z: x / 0 if np.isscalar(x) else np.full(x.shape, np.nan))
    refused(ValueError, "graded|directions", ("A3", 3, "xw"), 1)
    with pytest.raises(TypeError, match="Poisson3D"):
        stratum.Poisson(mesh)
    with pytest.raises(TypeError, match="three axes"):
        stratum.Poisson3D(("A3", 3))
    with pytest.raises(ValueError, match="3 axes, and the mesh has 2"):
        stratum.mesh(cells=(2, 2), size=(1, 1, 1))


def test_a_fork_goes_on_with_one_thread(mesh):
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    problem = stratum.Poisson3D(mesh, threads=2)
    expected = problem.solve(1).u
    child = os.fork()
    if child == 0:
        os._exit(0 if abs(problem.solve(1).u - expected).max() < 1e-12 else 1)
    assert os.waitpid(child, 0)[1] == 0
