// The methods of a string, by name, as templates call them. What they do: jinja_strings.hpp.
#pragma once

#include <string>
#include <string_view>

#include "veloce/text/jinja_strings.hpp"

namespace veloce::text::jinja {

struct MethodEntry {
  std::string_view name;
  Method method;
};

inline constexpr MethodEntry kStringMethods[] = {
    {"capitalize",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args, capitalized);
     }},
    {"casefold",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args, [](std::string_view t) {
         // Folding is lower case but for a few letters; the sharp s and the final sigma are those
         // that occur.
         std::string out;
         for (char32_t c : code_points(t)) {
           if (c == 0xDF || c == 0x1E9E)
             out += "ss";
           else
             append_case(out, c == 0x3C2 ? 0x3C3 : c, Case::kLower);
         }
         return out;
       });
     }},
    {"center",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::pad_method(rt, self, args, '^');
     }},
    {"count",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::find_method(rt, self, args, detail::Find::kCount);
     }},
    {"endswith",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::affix_method(rt, self, args, true);
     }},
    {"expandtabs",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::expandtabs_method(rt, self, args);
     }},
    {"find",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::find_method(rt, self, args, detail::Find::kFind);
     }},
    {"format",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::text_result(rt, self, StringFormatter(rt, args).format(self.text()));
     }},
    {"format_map",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       if (args.positional.size() != 1 || !args.named.empty() || !args.positional[0].is_dict())
         return type_error(rt, "format_map() takes exactly one mapping");
       Args mapped;
       for (const Dict::Entry& e : args.positional[0].get<DictObject>().dict.entries())
         if (e.key.is_string()) mapped.named.emplace_back(e.key.text(), e.value);
       return detail::text_result(rt, self, StringFormatter(rt, mapped).format(self.text()));
     }},
    {"index",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::find_method(rt, self, args, detail::Find::kIndex);
     }},
    {"isalnum",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args,
                             [](char32_t c) { return is_letter(c) || is_numeric(c); });
     }},
    {"isalpha",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, is_letter);
     }},
    {"isascii",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(
           rt, self, args, [](char32_t c) { return c < 0x80; }, true);
     }},
    {"isdecimal",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, [](char32_t c) { return decimal_digit(c) >= 0; });
     }},
    {"isdigit",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, is_digit);
     }},
    {"isidentifier",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "isidentifier", args, 0, {});
       return Value::boolean(detail::is_identifier(self.text()));
     }},
    {"islower",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "islower", args, 0, {});
       return Value::boolean(detail::has_only_case(self.text(), false));
     }},
    {"isnumeric",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, is_numeric);
     }},
    {"isprintable",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, is_printable, true);
     }},
    {"isspace",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::all_of(rt, self, args, is_python_space);
     }},
    {"istitle",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "istitle", args, 0, {});
       return Value::boolean(detail::is_title(self.text()));
     }},
    {"isupper",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "isupper", args, 0, {});
       return Value::boolean(detail::has_only_case(self.text(), true));
     }},
    {"join",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::join_method(rt, self, args);
     }},
    {"ljust",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::pad_method(rt, self, args, '<');
     }},
    {"lower",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args,
                             [](std::string_view t) { return to_case(t, Case::kLower); });
     }},
    {"lstrip",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::strip_method(rt, self, args, true, false);
     }},
    {"partition",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::partition_method(rt, self, args, false);
     }},
    {"removeprefix",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::remove_affix(rt, self, args, false);
     }},
    {"removesuffix",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::remove_affix(rt, self, args, true);
     }},
    {"replace",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::replace_method(rt, self, args);
     }},
    {"rfind",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::find_method(rt, self, args, detail::Find::kRightFind);
     }},
    {"rindex",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::find_method(rt, self, args, detail::Find::kRightIndex);
     }},
    {"rjust",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::pad_method(rt, self, args, '>');
     }},
    {"rpartition",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::partition_method(rt, self, args, true);
     }},
    {"rsplit",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::split_method(rt, self, args, true);
     }},
    {"rstrip",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::strip_method(rt, self, args, false, true);
     }},
    {"split",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::split_method(rt, self, args, false);
     }},
    {"splitlines",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       const auto a = bind(rt, "splitlines", args, 0, {"keepends"});
       if (!rt.step(self.text().size() / 16)) return {};
       return detail::text_list(rt, self, detail::split_lines(self.text(), truthy(a[0])));
     }},
    {"startswith",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::affix_method(rt, self, args, false);
     }},
    {"strip",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::strip_method(rt, self, args, true, true);
     }},
    {"swapcase",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args, detail::swap_case);
     }},
    {"title",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args, detail::python_title);
     }},
    {"upper",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::change(rt, self, args,
                             [](std::string_view t) { return to_case(t, Case::kUpper); });
     }},
    {"zfill",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return detail::zfill_method(rt, self, args);
     }},
};

}  // namespace veloce::text::jinja
