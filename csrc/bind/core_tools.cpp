#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "arrays.hpp"
#include "nb26/isa.hpp"
#include "nb26/philox_api.hpp"
#include "nb26/threads.hpp"

namespace nb26::bind {
namespace {

py::array_t<std::uint32_t> philox_words(std::uint64_t seed, std::uint32_t salt,
                                        const py::array& index, const py::array& stream) {
  const auto i = read<std::uint64_t>(index, "index", {kAny});
  const auto s = read<std::uint64_t>(stream, "stream", {i.shape[0]});
  py::array_t<std::uint32_t> words({i.shape[0], py::ssize_t{4}});
  std::uint32_t* out = words.mutable_data();
  {
    py::gil_scoped_release release;
    nb26::philox_words(seed, salt, i.data, s.data, i.shape[0], out);
  }
  return words;
}

}  // namespace

void register_tools(py::module_& m) {
  using py::arg;
  m.def("get_isa", &isa_level, "Instruction-set level in force: 0 plain, 1 AVX2, 2 AVX-512.");
  m.def("set_isa", &isa_force, arg("level"), "Force an instruction-set level.");
  m.def("isa_supported", &isa_supported, "Highest instruction-set level of this machine.");
  m.def("threads_for", &threads_for, arg("requested"), arg("tasks"),
        "Threads that a loop over `tasks` tasks takes; `requested` 0 means all that are offered.");
  m.def("threads_used", &threads_used, arg("requested"), arg("tasks"),
        py::call_guard<py::gil_scoped_release>(),
        "Open a parallel region as `threads_for` says and count its threads.");
  m.def("philox_words", &philox_words, arg("seed"), arg("salt"), arg("index"), arg("stream"),
        "Four random words, shape (n, 4), for each pair of `index` and `stream` (uint64, (n,)).");
}

}  // namespace nb26::bind
