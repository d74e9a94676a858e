// torch/extension.h for the device pass: the torch stub, and just enough of pybind11 for bindings in a .cu file.
#pragma once
#include "kg_torch.h"
#include <cassert>
#if !KG_LEAN
#include <chrono>
#include <thread>
#endif
namespace pybind11 {
struct object {
  template <class T>
  T cast() const;
};
struct handle : object {};
struct str : object {};
struct dict : object {};
struct list : object {};
struct tuple : object {};
struct arg {
  constexpr explicit arg(const char *);
  template <class T>
  arg operator=(T &&) const;
  arg &noconvert(bool = true);
};
struct module_ {
  template <class... A>
  module_ &def(A &&...);
  template <class... A>
  void attr(A &&...);
  module_ &doc();
  template <class T>
  void operator=(const T &);
};
using module = module_;
template <class... A>
struct call_guard {};
struct gil_scoped_release {
  gil_scoped_release();
};
template <class T, class... X>
struct class_ {
  template <class... A>
  class_(A &&...);
  template <class... A>
  class_ &def(A &&...);
};
template <class... A>
struct init {};
struct mod_gil_not_used {
  explicit mod_gil_not_used(bool = true);
};
} // namespace pybind11
namespace py = pybind11;
#ifdef __CUDACC__
#define PYBIND11_MODULE(name, variable, ...) static void kg_bind(pybind11::module_ &variable)
#else
// g++ over this stub says what is wrong in a C++ file, a second entry point among it.
typedef struct _object PyObject;
#define KG_ENTRY(name) PyInit_##name
#define PYBIND11_MODULE(name, variable, ...)                                                       \
  static void kg_bind(pybind11::module_ &);                                                        \
  extern "C" PyObject *KG_ENTRY(name)() { return nullptr; }                                        \
  static void kg_bind(pybind11::module_ &variable)
#endif
namespace torch {
template <class F>
F wrap_pybind_function(F &&);
template <class F>
F wrap_pybind_function_no_gil(F &&);
} // namespace torch
