// Every weight format of Veloce, and the lists that name them.
#pragma once

#include "veloce/formats/bf16.hpp"
#include "veloce/formats/f16.hpp"
#include "veloce/formats/f32.hpp"
#include "veloce/formats/format_list.hpp"
#include "veloce/formats/iq1_m.hpp"
#include "veloce/formats/iq1_s.hpp"
#include "veloce/formats/iq2_s.hpp"
#include "veloce/formats/iq2_xs.hpp"
#include "veloce/formats/iq2_xxs.hpp"
#include "veloce/formats/iq3_s.hpp"
#include "veloce/formats/iq3_xxs.hpp"
#include "veloce/formats/iq4_nl.hpp"
#include "veloce/formats/iq4_xs.hpp"
#include "veloce/formats/mxfp4.hpp"
#include "veloce/formats/nvfp4.hpp"
#include "veloce/formats/q1_0.hpp"
#include "veloce/formats/q2_0.hpp"
#include "veloce/formats/q2_k.hpp"
#include "veloce/formats/q3_k.hpp"
#include "veloce/formats/q4_0.hpp"
#include "veloce/formats/q4_1.hpp"
#include "veloce/formats/q4_k.hpp"
#include "veloce/formats/q5_0.hpp"
#include "veloce/formats/q5_1.hpp"
#include "veloce/formats/q5_k.hpp"
#include "veloce/formats/q6_k.hpp"
#include "veloce/formats/q8_0.hpp"
#include "veloce/formats/tq1_0.hpp"
#include "veloce/formats/tq2_0.hpp"

namespace veloce {

using FloatFormats = FormatList<F32, F16, BF16>;

// The formats with integer codes, in the order of their GGUF ids.
using IntDotFormats =
    FormatList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ2_XXS, IQ2_XS, IQ3_XXS,
               IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS, IQ1_M, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0>;

using AllFormats = JoinFormats<FloatFormats, IntDotFormats>;

namespace detail {
template <class List>
struct Quantizable;
template <class... Fs>
struct Quantizable<FormatList<Fs...>> {
  using type =
      JoinFormats<std::conditional_t<QuantizableFormat<Fs>, FormatList<Fs>, FormatList<>>...>;
};

template <class F>
constexpr bool matches_type_table() {
  // Not find_type(): g++ with -fsanitize=undefined takes no pointer test as a constant expression.
  for (const TypeInfo& type : kTypes) {
    if (type.id == F::kGgufType) {
      return type.name == F::kName && type.values == F::kValues && type.bytes == F::kBytes &&
             type.weight;
    }
  }
  return false;
}
template <class... Fs>
constexpr bool all_match(FormatList<Fs...>) {
  return (matches_type_table<Fs>() && ...);
}
static_assert(all_match(AllFormats{}), "a format disagrees with formats/type_info.hpp");
}  // namespace detail

// The formats that Veloce can produce.
using QuantizableFormats = typename detail::Quantizable<AllFormats>::type;

}  // namespace veloce
