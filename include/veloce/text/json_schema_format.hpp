// The values of a string's `format` that grammars enforce, as GBNF for the text between the quotes.
// Dates know the length of months and leap years (RFC 3339); the others follow the RFC each names.
#pragma once

#include <string>
#include <string_view>

namespace veloce::text::schema {

namespace detail {

inline std::string date_gbnf() {
  const std::string day30 = "(\"0\" [1-9] | [1-2] [0-9] | \"30\")";
  const std::string day31 = "(\"0\" [1-9] | [1-2] [0-9] | \"3\" [0-1])";
  const std::string day28 = "(\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])";
  const std::string leap =
      "([0-9] [0-9] (\"0\" [48] | [2468] [048] | [13579] [26]) | (\"0\" [48] | [2468] [048] | "
      "[13579] [26]) \"00\")";
  return "([0-9]{4} \"-\" ((\"0\" [13578] | \"1\" [02]) \"-\" " + day31 +
         " | (\"0\" [469] | \"11\") \"-\" " + day30 + " | \"02-\" " + day28 + ") | " + leap +
         " \"-02-29\")";
}

inline std::string time_gbnf() {
  return "(([0-1] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,9})? "
         "(\"Z\" | [+\\x2D] ([0-1] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9]))";
}

inline std::string uuid_gbnf(const char* version) {
  const std::string hex = "[0-9a-fA-F]";
  return hex + "{8} \"-\" " + hex + "{4} \"-\" " + version + " " + hex + "{3} \"-\" " +
         (version[0] == '"' ? std::string("[89abAB]") : hex) + " " + hex + "{3} \"-\" " + hex +
         "{12}";
}

inline std::string hostname_gbnf() {
  const std::string label = "[0-9A-Za-z] ([0-9A-Za-z\\x2D]{0,61} [0-9A-Za-z])?";
  return label + " (\".\" " + label + "){0,9}";
}

inline std::string ipv4_gbnf() {
  const std::string octet =
      "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9] [0-9] | [1-9] [0-9] | [0-9])";
  return octet + " (\".\" " + octet + "){3}";
}

// RFC 4291: eight groups, or fewer with one "::" (the last two groups may be an IPv4 address in the
// full form).
inline std::string ipv6_gbnf() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  std::string out =
      group + " (\":\" " + group + "){7} | \"::\" (" + group + " (\":\" " + group + "){0,6})?";
  for (int before = 1; before <= 7; ++before) {
    out += " | " + group + " (\":\" " + group + "){" + std::to_string(before - 1) + "} \"::\"";
    const int most = 7 - before;
    if (most > 0)
      out += " (" + group + " (\":\" " + group + "){0," + std::to_string(most - 1) + "})?";
  }
  return out + " | " + group + " (\":\" " + group + "){5} \":\" " + ipv4_gbnf();
}

inline std::string duration_gbnf() {  // ISO 8601, as in RFC 3339 appendix A
  const std::string n = "[0-9]{1,9}";
  const std::string time = "\"T\" (" + n + " \"H\" (" + n + " \"M\" (" + n + " \"S\")?)? | " + n +
                           " \"M\" (" + n + " \"S\")? | " + n + " \"S\")";
  const std::string day = n + " \"D\"", month = n + " \"M\" (" + day + ")?";
  const std::string date =
      "(" + day + " | " + month + " | " + n + " \"Y\" (" + month + ")?) (" + time + ")?";
  return "\"P\" (" + date + " | " + time + " | " + n + " \"W\")";
}

inline std::string
uri_gbnf() {  // RFC 3986: scheme, then any of its characters with whole percent escapes
  return "[A-Za-z] [A-Za-z0-9+.\\x2D]{0,30} \":\" ([A-Za-z0-9\\x2D._~:/?#@!$&'()*+,;=\\[\\]] | "
         "\"%\" [0-9A-Fa-f]{2})+";
}

}  // namespace detail

// GBNF of the format's text; empty for a format that isn't enforced.
inline std::string format_gbnf(std::string_view format) {
  if (format == "date") return detail::date_gbnf();
  if (format == "time") return detail::time_gbnf();
  if (format == "date-time") return detail::date_gbnf() + " \"T\" " + detail::time_gbnf();
  if (format == "duration") return detail::duration_gbnf();
  if (format == "uuid") return detail::uuid_gbnf("[0-9a-fA-F]");
  for (const char version : {'1', '2', '3', '4', '5'}) {
    const std::string quoted = std::string("\"") + version + "\"";
    if (format == std::string("uuid") + version) return detail::uuid_gbnf(quoted.c_str());
  }
  if (format == "hostname") return detail::hostname_gbnf();
  if (format == "ipv4") return detail::ipv4_gbnf();
  if (format == "ipv6") return detail::ipv6_gbnf();
  if (format == "email") {
    return "[A-Za-z0-9!#$%&'*+/=?_{|}~\\x2D\\x5E\\x60]+ (\".\" "
           "[A-Za-z0-9!#$%&'*+/=?_{|}~\\x2D\\x5E\\x60]+)* \"@\" " +
           detail::hostname_gbnf();
  }
  if (format == "uri") return detail::uri_gbnf();
  if (format == "byte") {
    return "([A-Za-z0-9+/]{4})* ([A-Za-z0-9+/]{2} \"==\" | [A-Za-z0-9+/]{3} \"=\")?";
  }
  return "";
}

}  // namespace veloce::text::schema
