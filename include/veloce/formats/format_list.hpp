// Lists of formats, and the way from a type number in a file to code compiled for that format.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "veloce/core/status.hpp"
#include "veloce/formats/format.hpp"
#include "veloce/formats/type_info.hpp"

namespace veloce {

// A set of formats as a type: what a build, a backend or an op has code for.
template <BlockFormat... Fs>
struct FormatList {
  static constexpr std::size_t kSize = sizeof...(Fs);

  template <class F>
  static constexpr bool kHas = (std::same_as<F, Fs> || ...);

  static constexpr bool contains(std::uint32_t gguf_type) {
    return ((Fs::kGgufType == gguf_type) || ...);
  }

  // "Q4_0, Q8_0", for messages.
  static std::string names() {
    std::string all;
    ((all += (all.empty() ? "" : ", ") + std::string(Fs::kName)), ...);
    return all;
  }
};

namespace detail {
template <class... Lists>
struct Join {
  using type = FormatList<>;
};
template <class... Fs>
struct Join<FormatList<Fs...>> {
  using type = FormatList<Fs...>;
};
template <class... As, class... Bs, class... Rest>
struct Join<FormatList<As...>, FormatList<Bs...>, Rest...> {
  using type = typename Join<FormatList<As..., Bs...>, Rest...>::type;
};
}  // namespace detail

// The formats of all the lists, in order.
template <class... Lists>
using JoinFormats = typename detail::Join<Lists...>::type;

// Calls fn.operator()<F>() for every format of the list, in order.
template <class... Fs, class Fn>
constexpr void for_each_format(FormatList<Fs...>, Fn&& fn) {
  (fn.template operator()<Fs>(), ...);
}

// Calls fn.operator()<F>() for the format F of the list with this GGUF type and returns what it
// returns: a Status or a Result. kUnsupported if the list has no such format; the message names the
// type and what the list has.
//
//   dispatch_format(tensor.type, FormatList<Q4_K, Q8_0>{}, [&]<BlockFormat F>() -> Status { ... });
template <class First, class... Rest, class Fn>
auto dispatch_format(std::uint32_t gguf_type, FormatList<First, Rest...> list, Fn&& fn)
    -> decltype(fn.template operator()<First>()) {
  using Answer = decltype(fn.template operator()<First>());
  static_assert(std::constructible_from<Answer, Status>, "fn must return Status or Result<T>");
  if (gguf_type == First::kGgufType) return fn.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0) {
    using Tail = FormatList<Rest...>;
    if (Tail::contains(gguf_type)) return dispatch_format(gguf_type, Tail{}, fn);
  }
  return Answer(Status(Code::kUnsupported,
                       "tensor type " + describe_type(gguf_type) +
                           " is not supported here; supported are: " + decltype(list)::names()));
}

// Index of the first block that F::valid refuses, or count if there is none. data holds count
// blocks.
template <BlockFormat F>
std::size_t first_invalid_block(const void* data, std::size_t count) {
  const auto* blocks = static_cast<const typename F::Block*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    if (!F::valid(blocks[i])) return i;
  }
  return count;
}

}  // namespace veloce
