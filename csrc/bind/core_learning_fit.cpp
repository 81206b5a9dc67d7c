#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "learning_arrays.hpp"
#include "nb26/learning_fit_api.hpp"

namespace nb26::bind {
namespace {

template <typename T, std::size_t N>
std::vector<T> copied(const View<const T, N>& view) {
  py::ssize_t size = 1;
  for (const py::ssize_t n : view.shape) size *= n;
  return {view.data, view.data + size};
}

LearnPrior learning_prior(const LearnModel& model, const py::object& prior) {
  if (prior.is_none()) return {};
  const auto both = prior.cast<py::tuple>();
  if (both.size() != 2) throw py::value_error("prior must be (mean, sd)");
  const py::ssize_t p = model.p();
  const py::array mean = given_array(both[0], "mean"), sd = given_array(both[1], "sd");
  return {copied(read<double>(mean, "mean", {p})), copied(read<double>(sd, "sd", {p}))};
}

void check_which(const View<const std::int64_t, 1>& which, py::ssize_t n_masks) {
  for (py::ssize_t i = 0; i < which.shape[0]; ++i) {
    if (which.data[i] < 0 || which.data[i] >= n_masks) {
      throw py::value_error("which_mask must name a row of masks");
    }
  }
}

py::tuple objective(const py::array& x, const py::array& choice, const py::array& drive,
                    const py::array& masks, const py::array& which_mask, const py::array& u,
                    const py::tuple& options, const py::object& prior, bool gradient,
                    bool forward_mode, int n_threads) {
  const LearnModel model = learning_model(options);
  const LearningArrays in(model, x, choice, drive);
  const LearnPrior penalty = learning_prior(model, prior);
  const py::ssize_t p = model.p();
  const auto at = read<double>(u, "u", {kAny, p});
  const py::ssize_t m = at.shape[0];
  const auto own = read<std::uint8_t>(masks, "masks", {kAny, in.data().n});
  const auto which = read<std::int64_t>(which_mask, "which_mask", {m});
  check_which(which, own.shape[0]);
  py::array_t<double> value(m), log_likelihood(m), slopes({gradient ? m : 0, p});
  py::array_t<std::int64_t> diverged(m);
  double* values = value.mutable_data();
  const LearnOut out{log_likelihood.mutable_data(), gradient ? slopes.mutable_data() : nullptr,
                     diverged.mutable_data()};
  {
    py::gil_scoped_release release;
    learn_objective(model, penalty, in.data(), {at.data, own.data, which.data, m}, forward_mode,
                    n_threads, values, out);
  }
  return py::make_tuple(value, log_likelihood, slopes, diverged);
}

class Fit {
 public:
  Fit(const py::tuple& options, const py::object& prior, std::int64_t max_iter, int memory,
      double ftol, double gtol)
      : model_(learning_model(options)), fit_(made(model_, prior, max_iter, memory, ftol, gtol)) {}

  void add(const py::array& x, const py::array& choice, const py::array& drive,
           const py::array& masks, const py::array& which_mask, const py::array& starts,
           const py::array& free, const py::array& lower, const py::array& upper) {
    const LearningArrays in(model_, x, choice, drive);
    const LearnData data = in.data();
    const py::ssize_t p = model_.p();
    const auto from = read<double>(starts, "starts", {kAny, p});
    const py::ssize_t m = from.shape[0];
    const auto own = read<std::uint8_t>(masks, "masks", {kAny, data.n});
    const auto which = read<std::int64_t>(which_mask, "which_mask", {m});
    check_which(which, own.shape[0]);
    fit_.add({{data.x, data.x + data.n * model_.d},
              {data.trials, data.trials + data.n},
              copied(own),
              copied(which),
              copied(from),
              copied(read<std::uint8_t>(free, "free", {m, p})),
              copied(read<double>(lower, "lower", {p})),
              copied(read<double>(upper, "upper", {p}))});
  }

  std::int64_t unfinished() const { return fit_.unfinished(); }

  std::int64_t advance(double seconds, bool forward_mode, int n_threads) {
    py::gil_scoped_release release;
    return fit_.advance(seconds, forward_mode, n_threads);
  }

  py::tuple ask() const {
    const py::ssize_t m = fit_.unfinished(), p = model_.p();
    py::array_t<std::int64_t> index(m);
    py::array_t<double> theta({m, p});
    py::ssize_t row = 0;
    for (std::int64_t i = 0; i < fit_.size(); ++i) {
      if (!fit_.running(i)) continue;
      index.mutable_data()[row] = i;
      fit_.ask(i, theta.mutable_data() + row * p);
      ++row;
    }
    return py::make_tuple(index, theta);
  }

  void tell(const py::array& index, const py::array& log_likelihood, const py::array& gradient,
            const py::array& diverged) {
    const auto which = read<std::int64_t>(index, "index", {kAny});
    const py::ssize_t m = which.shape[0], p = model_.p();
    const auto values = read<double>(log_likelihood, "loglik", {m});
    const auto slopes = read<double>(gradient, "gradient", {m, p});
    const auto when = read<std::int64_t>(diverged, "diverged", {m});
    for (py::ssize_t i = 0; i < m; ++i) {
      if (which.data[i] < 0 || which.data[i] >= fit_.size() || !fit_.running(which.data[i])) {
        throw py::value_error("index must name problems that were asked for");
      }
      fit_.tell(which.data[i], values.data[i], slopes.data + i * p, when.data[i]);
    }
  }

  py::tuple optima() const {
    const py::ssize_t m = fit_.size(), p = model_.p();
    py::array_t<double> u({m, p}), gradient({m, p}), value(m), log_likelihood(m);
    py::array_t<std::int64_t> iterations(m), evaluations(m);
    py::array_t<std::int8_t> end(m);
    for (py::ssize_t i = 0; i < m; ++i) {
      LearnOptimum out{};
      out.u = u.mutable_data() + i * p;
      out.gradient = gradient.mutable_data() + i * p;
      fit_.optimum(i, &out);
      value.mutable_data()[i] = out.objective;
      log_likelihood.mutable_data()[i] = out.log_likelihood;
      iterations.mutable_data()[i] = out.iterations;
      evaluations.mutable_data()[i] = out.evaluations;
      end.mutable_data()[i] = static_cast<std::int8_t>(out.end);
    }
    return py::make_tuple(u, value, log_likelihood, iterations, evaluations, end, gradient);
  }

 private:
  static LearnFit made(const LearnModel& model, const py::object& prior, std::int64_t max_iter,
                       int memory, double ftol, double gtol) {
    if (max_iter < 1 || memory < 1) throw py::value_error("max_iter and memory must be positive");
    BoxedOptions options;
    options.max_iter = max_iter;
    options.memory = memory;
    options.ftol = ftol;
    options.gtol = gtol;
    return LearnFit(model, learning_prior(model, prior), options);
  }

  LearnModel model_;
  LearnFit fit_;
};

// What Python holds is a capsule, for the extension has functions only.
constexpr const char* kFit = "nb26stats.learning_fit";

Fit& fit_of(const py::object& object) {
  if (!PyCapsule_IsValid(object.ptr(), kFit)) {
    throw py::type_error("fit must come from learning_fit");
  }
  return *static_cast<Fit*>(PyCapsule_GetPointer(object.ptr(), kFit));
}

}  // namespace

void register_learning_fit(py::module_& m) {
  using py::arg;
  m.def("learning_objective", objective, arg("x"), arg("choice"), arg("drive"), arg("masks"),
        arg("which_mask"), arg("u"), arg("options"), arg("prior"), arg("gradient"),
        arg("forward_mode"), arg("n_threads"),
        "Objectives and log-likelihoods (n,) at rows of u (n, P), gradients (n, P; none without\n"
        "gradient) of the objectives in u, and the trial at which each diverged, or -1.");
  m.def(
      "learning_fit",
      [](const py::tuple& options, const py::object& prior, std::int64_t max_iter, int memory,
         double ftol, double gtol) -> py::object {
        auto fit = std::make_unique<Fit>(options, prior, max_iter, memory, ftol, gtol);
        return py::capsule(fit.release(), kFit, [](void* p) { delete static_cast<Fit*>(p); });
      },
      arg("options"), arg("prior"), arg("max_iter"), arg("memory"), arg("ftol"), arg("gtol"),
      "Fits of many animals that advance together, for the functions that follow.");
  m.def(
      "learning_fit_add",
      [](const py::object& fit, const py::array& x, const py::array& choice, const py::array& drive,
         const py::array& masks, const py::array& which_mask, const py::array& starts,
         const py::array& free, const py::array& lower, const py::array& upper) {
        fit_of(fit).add(x, choice, drive, masks, which_mask, starts, free, lower, upper);
      },
      arg("fit"), arg("x"), arg("choice"), arg("drive"), arg("masks"), arg("which_mask"),
      arg("starts"), arg("free"), arg("lower"), arg("upper"),
      "Adds an animal and one problem for each row of starts (n, P).");
  m.def(
      "learning_fit_unfinished", [](const py::object& fit) { return fit_of(fit).unfinished(); },
      arg("fit"), "How many problems still run.");
  m.def(
      "learning_fit_advance",
      [](const py::object& fit, double seconds, bool forward_mode, int n_threads) {
        return fit_of(fit).advance(seconds, forward_mode, n_threads);
      },
      arg("fit"), arg("seconds"), arg("forward_mode"), arg("n_threads"),
      "Goes on for about so long; returns how many problems finished.");
  m.def(
      "learning_fit_ask", [](const py::object& fit) { return fit_of(fit).ask(); }, arg("fit"),
      "Running problems (m,), and where each wants to be evaluated (m, P).");
  m.def(
      "learning_fit_tell",
      [](const py::object& fit, const py::array& index, const py::array& loglik,
         const py::array& gradient,
         const py::array& diverged) { fit_of(fit).tell(index, loglik, gradient, diverged); },
      arg("fit"), arg("index"), arg("loglik"), arg("gradient"), arg("diverged"),
      "The answers to what was asked; gradients (m, P) are natural.");
  m.def(
      "learning_fit_optima", [](const py::object& fit) { return fit_of(fit).optima(); }, arg("fit"),
      "u (n, P), objective, log-likelihood, iterations, evaluations, end (n,), gradient (n, P).");
}

}  // namespace nb26::bind
