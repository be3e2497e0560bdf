#include <stratum/assembly/box_material.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/expressions/gpu_box_integrals.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

constexpr double separable = 1e-12;  // relative, of products of K on cells

bool same(double a, double b) { return std::abs(a - b) <= separable * std::max(std::abs(a), std::abs(b)); }

bool is_one(const Values& weights) {
  return std::all_of(weights.begin(), weights.end(), [](double w) { return same(w, 1); });
}

/// A function at the centres of the cells.
class OnCells {
 public:
  OnCells(const TensorMesh<3>& mesh, const ScalarFunction3D& f, std::string name) : f_(f), name_(std::move(name)) {
    for (int d = 0; d < 3; ++d)
      for (int i = 0; i < mesh.axis(d).size(); ++i)
        at_[static_cast<std::size_t>(d)].push_back(LineInterval(mesh.axis(d), i).at(0.5));
  }

  [[nodiscard]] std::size_t cells(std::size_t d) const { return at_[d].size(); }

  /// use(own copy of the function, j, k) of the rows of cells of layers begin .. end - 1, on several threads.
  template <class F>
  void for_each_row_of_cells(const Context& ctx, std::size_t begin, std::size_t end, const F& use) const {
    for_each_row(
        ctx, static_cast<int>(end - begin),
        [&](int layer, const ScalarFunction3D& own) {
          for (std::size_t j = 0; j < cells(1); ++j) use(own, j, begin + static_cast<std::size_t>(layer));
        },
        f_);
  }
  [[nodiscard]] double value(const ScalarFunction3D& own, std::size_t i, std::size_t j, std::size_t k) const {
    const Point3D p = make_point(at_[0][i], at_[1][j], at_[2][k]);
    const double v = own(p);
    expects(std::isfinite(v) && v > 0, name_, " is ", v, " at (", p.x, ", ", p.y, ", ", p.z,
            "); it must be finite and positive");
    return v;
  }

  /// As a product, in the first cell of y and of z one; else the sentence that says where it is none.
  [[nodiscard]] std::string separate(const Context& ctx, std::array<Values, 3>& parts) const {
    const double first = value(f_, 0, 0, 0);
    parts = {};
    for (std::size_t i = 0; i < cells(0); ++i) parts[0].push_back(value(f_, i, 0, 0));
    for (std::size_t j = 0; j < cells(1); ++j) parts[1].push_back(value(f_, 0, j, 0) / first);
    for (std::size_t k = 0; k < cells(2); ++k) parts[2].push_back(value(f_, 0, 0, k) / first);
    // Of an expression in one coordinate there is nothing to see.
    const auto text = expression_of(f_);
    if (text && std::count(text->depends.begin(), text->depends.end(), true) <= 1) return {};
    std::vector<std::string> found(cells(2));
    const auto [begin, end] = share(ctx);
    for_each_row_of_cells(ctx, begin, end, [&](const ScalarFunction3D& own, std::size_t j, std::size_t k) {
      for (std::size_t i = 0; i < cells(0) && found[k].empty(); ++i) {
        const double v = value(own, i, j, k), product = parts[0][i] * parts[1][j] * parts[2][k];
        if (same(v, product)) continue;
        found[k] =
            message(name_, " is not a product of functions of x, y and z: at (", at_[0][i].at, ", ", at_[1][j].at, ", ",
                    at_[2][k].at, ") it is ", v, ", and the product of its values along the axes is ", product);
      }
    });
    const auto where = std::find_if(found.begin(), found.end(), [](const std::string& s) { return !s.empty(); });
    const std::string why = where == found.end() ? std::string() : *where;
    if (ctx.subdomains() == 1) return why;
    // All say what the first one found.
    std::array<char, 512> own{};
    std::copy_n(why.data(), std::min(why.size(), own.size() - 1), own.data());
    for (const auto& of_rank : ctx.communicator()->gather_on_host(own))
      if (of_rank[0] != '\0') return of_rank.data();
    return {};
  }

  [[nodiscard]] Values all(const Context& ctx, const TensorMesh<3>& mesh) const {
    Context own_context = ctx;
    if (auto found = box_cells_on_gpu(own_context, mesh, f_)) return std::move(*found);
    const auto [begin, end] = share(ctx);
    Values values(cells(0) * cells(1) * (end - begin));
    for_each_row_of_cells(ctx, begin, end,
                          [&, first = begin](const ScalarFunction3D& own, std::size_t j, std::size_t k) {
                            double* const row = &values[((k - first) * cells(1) + j) * cells(0)];
                            for (std::size_t i = 0; i < cells(0); ++i) row[i] = value(own, i, j, k);
                          });
    return ctx.subdomains() == 1 ? values : ctx.communicator()->join_on_host(values);
  }

 private:
  /// Layers of cells that a rank looks at.
  [[nodiscard]] std::pair<std::size_t, std::size_t> share(const Context& ctx) const {
    const auto ranks = static_cast<std::size_t>(ctx.subdomains());
    const std::size_t rank = ranks > 1 ? static_cast<std::size_t>(ctx.communicator()->rank()) : 0;
    return {cells(2) * rank / ranks, cells(2) * (rank + 1) / ranks};
  }

  const ScalarFunction3D& f_;
  std::string name_;
  std::array<std::vector<LinePoint>, 3> at_;
};

/// w of a direction, as two of the three entries of K have it, in `a`. Scaled to be one in the first interval.
std::string common_weight(Values& a, Values b, std::size_t axis, const std::string& of_a, const std::string& of_b) {
  const double first_a = a.front(), first_b = b.front();
  for (double& v : a) v /= first_a;
  for (double& v : b) v /= first_b;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i]))
      return message("K is not separable: along ", axis_names[axis], ", ", of_a, " and ", of_b,
                     " vary by different factors, ", a[i], " and ", b[i], " in interval ", i);
  return {};
}

/// Of the three entries of K on their cells, their factors; else why there are none.
std::string separate(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                     const std::array<OnCells, 3>& entries, BoxMaterial& material) {
  const Diffusion3D& diffusion = problem.diffusion;
  std::array<Values, 3> xx, yy, zz;
  std::string why = entries[0].separate(ctx, xx);
  if (why.empty() && diffusion.yy) why = entries[1].separate(ctx, yy);
  if (why.empty() && diffusion.zz) why = entries[2].separate(ctx, zz);
  if (!why.empty()) return why;
  if (!diffusion.yy) yy = xx;
  if (!diffusion.zz) zz = xx;
  material.w = {yy[0], xx[1], xx[2]};
  const auto& [name_x, name_y, name_z] = diffusion.names;
  why = common_weight(material.w[0], zz[0], 0, name_y, name_z);
  if (why.empty()) why = common_weight(material.w[1], zz[1], 1, name_x, name_z);
  if (why.empty()) why = common_weight(material.w[2], yy[2], 2, name_x, name_y);
  if (!why.empty()) return why;
  // The first of these has the value itself in its first cell of y and z, the others that of their first cell of x.
  material.k = {xx[0], yy[1], zz[2]};
  for (double& k : material.k[1]) k *= yy[0].front();
  for (double& k : material.k[2]) k *= zz[0].front();
  const auto& w = material.w;
  if (problem.reaction != 0 && !(is_one(w[0]) && is_one(w[1]) && is_one(w[2])))
    return message(problem.reaction_name.empty() ? message("a reaction c = ", problem.reaction) : problem.reaction_name,
                   " beside a ", name_x,
                   name_x == name_y ? " that varies is not separable"
                                    : message(" that depends on more than x, a ", name_y, " on more than y or a ",
                                              name_z, " on more than z is not separable"));
  for (const BoxFace face : all_box_faces) {
    const double alpha = face_alpha(mesh, problem, face);
    const FacePlace place(face);
    if (alpha != 0 &&
        !(is_one(w[static_cast<std::size_t>(place.first)]) && is_one(w[static_cast<std::size_t>(place.second)])))
      return message("the ", to_string(face), " face has alpha = ", alpha,
                     ", and K varies along it in the direction across, which is not separable");
  }
  return {};
}

/// Neighbours lie across periodic faces, too.
void measure(const Context& ctx, const TensorMesh<3>& mesh, const Values& k, BoxMaterial& material) {
  std::array<std::size_t, 3> cells{};
  std::array<Values, 3> thinness;  // of each cell and the one before it, L / h; 0: there is none
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh.axis(static_cast<int>(d));
    const Values& h = axis.widths();
    cells[d] = h.size();
    for (std::size_t i = 0; i < h.size(); ++i)
      thinness[d].push_back(
          i == 0 && !axis.is_periodic() ? 0 : axis.length() / std::min(h[i], i == 0 ? h.back() : h[i - 1]));
  }
  const std::array<std::size_t, 3> stride{1, cells[0], cells[0] * cells[1]};
  const int layers = static_cast<int>(cells[2]), threads = std::max(1, ctx.threads());
  double least = k.front(), most = k.front(), jump = material.jump, steep = material.steepness;
#pragma omp parallel for num_threads(threads) reduction(min : least) reduction(max : most, jump, steep)
  for (int layer = 0; layer < layers; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    std::size_t cell = l * stride[2];
    for (std::size_t j = 0; j < cells[1]; ++j)
      for (std::size_t i = 0; i < cells[0]; ++i, ++cell) {
        const std::array<std::size_t, 3> at{i, j, l};
        least = std::min(least, k[cell]);
        most = std::max(most, k[cell]);
        for (std::size_t d = 0; d < 3; ++d) {
          const double thin = thinness[d][at[d]];
          if (thin == 0) continue;
          const double own = k[cell], other = k[at[d] == 0 ? cell + (cells[d] - 1) * stride[d] : cell - stride[d]];
          const double ratio = own > other ? own / other : other / own;
          jump = std::max(jump, ratio);
          steep = std::max(steep, (ratio - 1) * (ratio - 1) * thin);
        }
      }
  }
  material.contrast = std::max(material.contrast, most / least);
  material.jump = jump;
  material.steepness = steep;
}

}  // namespace

BoxMaterial find_material(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                          bool as_cells) {
  BoxMaterial material;
  const Diffusion3D& diffusion = problem.diffusion;
  std::array<std::size_t, 3> cells{};
  for (std::size_t d = 0; d < 3; ++d) {
    cells[d] = static_cast<std::size_t>(mesh.axis(static_cast<int>(d)).size());
    material.k[d].assign(cells[d], 1.0);
  }
  material.w = material.k;
  const auto ones = material.k;
  const auto& [name_x, name_y, name_z] = diffusion.names;
  expects(!diffusion.is_given() || static_cast<bool>(diffusion.xx), "K is given without ", name_x, "; give ", name_x,
          " alone for a scalar K, or ", name_x, ", ", name_y, " and ", name_z);
  material.bodies = bodies_on(ctx, mesh, problem);
  as_cells = as_cells || material.bodies;
  const std::string by_cells = material.bodies ? "bodies lie in the box" : "K is taken by cells";
  if (!diffusion.is_given()) {
    if (!as_cells) return material;
    material.why_not_separable = by_cells;
    material.xx.assign(cells[0] * cells[1] * cells[2], 1.0);
  } else {
    const std::array<OnCells, 3> entries{{{mesh, diffusion.xx, name_x},
                                          {mesh, diffusion.yy ? diffusion.yy : diffusion.xx, name_y},
                                          {mesh, diffusion.zz ? diffusion.zz : diffusion.xx, name_z}}};
    material.why_not_separable = as_cells ? by_cells : separate(ctx, mesh, problem, entries, material);
    if (material.is_separable()) return material;
    material.k = material.w = ones;
    material.xx = entries[0].all(ctx, mesh);
    if (diffusion.yy || diffusion.zz) {
      material.yy = entries[1].all(ctx, mesh);
      material.zz = entries[2].all(ctx, mesh);
    }
  }
  if (material.bodies) set_bodies(ctx, mesh, problem, *material.bodies, material.xx, material.yy, material.zz);
  for (std::vector<double>* const k : {&material.xx, &material.yy, &material.zz}) {
    if (k->empty()) continue;
    if (diffusion.is_given() || material.bodies) measure(ctx, mesh, *k, material);
    if (material.bodies)
      for (std::size_t c = 0; c < k->size(); ++c)
        if (material.bodies->cell[c] != BoxBodies::live) (*k)[c] = 0;
  }
  return material;
}

}  // namespace stratum
