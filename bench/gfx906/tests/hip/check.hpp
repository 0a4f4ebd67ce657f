// Checks of the HIP test programs: the first that fails ends the program with its place and values.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#define HIP(call)                                                        \
  do {                                                                   \
    const hipError_t check_error_ = (call);                              \
    if (check_error_ != hipSuccess) {                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   hipGetErrorName(check_error_));                       \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

#define HIP_FAILS(call, wanted)                                                        \
  do {                                                                                 \
    const hipError_t check_error_ = (call);                                            \
    if (check_error_ != (wanted)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s instead of %s\n", __FILE__, __LINE__, #call, \
                   hipGetErrorName(check_error_), hipGetErrorName(wanted));            \
      std::exit(1);                                                                    \
    }                                                                                  \
    (void)hipGetLastError();                                                           \
  } while (0)

template <class A, class B>
void expect_equal(const A& have, const B& want, const char* what, int line) {
  if (have == static_cast<A>(want)) return;
  std::ostringstream text;
  text << "line " << line << ": " << what << ": " << have << " instead of " << want << "\n";
  std::fputs(text.str().c_str(), stderr);
  std::exit(1);
}
#define EQUAL(have, want) expect_equal((have), (want), #have, __LINE__)
#define TRUE_(condition) expect_equal(bool(condition), true, #condition, __LINE__)

template <class T>
T* device_array(size_t count) {
  void* base = nullptr;
  HIP(hipMalloc(&base, count * sizeof(T)));
  return static_cast<T*>(base);
}

template <class T>
std::vector<T> download(const T* from, size_t count) {
  std::vector<T> out(count);
  HIP(hipMemcpy(out.data(), from, count * sizeof(T), hipMemcpyDeviceToHost));
  return out;
}

template <class T>
T* upload(const std::vector<T>& from) {
  T* to = device_array<T>(from.size());
  HIP(hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  return to;
}
