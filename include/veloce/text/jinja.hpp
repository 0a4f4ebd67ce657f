// Jinja templates as chat templates use them: jinja2's language in the environment of Hugging
// Face's apply_chat_template (trim_blocks, lstrip_blocks, loop controls, the tag generation, an
// immutable sandbox, the filters tojson and from_json, the functions raise_exception and
// strftime_now).
//
//   auto parsed = Template::parse(source);             // a Status with the line if it is no
//   template RenderResult r = (*parsed).render(context);        // context: a JSON object of
//   variables if (!r.ok()) ... r.error.kind, r.error.message, r.error.line
//
// Parsing and rendering are bounded in time, memory and stack (Limits), whoever wrote the template.
// Not supported, with an error by name: templates in several files (include, import, extends,
// block), the filter urlize, the function lipsum; whole numbers stop at 12,800 bits. See the
// interpreter's headers for the parts.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/jinja_ast.hpp"
#include "veloce/text/jinja_interpreter.hpp"
#include "veloce/text/jinja_json.hpp"
#include "veloce/text/jinja_parser.hpp"
#include "veloce/text/jinja_runtime.hpp"
#include "veloce/text/jinja_scoping.hpp"

namespace veloce::text::jinja {

// Longest template accepted, in bytes; real ones stay below 100 kB.
inline constexpr std::size_t kMaxTemplateSize = 4u << 20;

struct RenderResult {
  Error error;         // kind kNone: success
  std::string output;  // what was rendered; empty after an error

  bool ok() const { return error.kind == ErrorKind::kNone; }
};

class Template {
 public:
  // Parses; on failure `error` (if given) says what and where.
  static Result<Template> parse(std::string_view source, Error* error = nullptr) {
    const auto refuse = [&](const Error& e) {
      if (error != nullptr) *error = e;
      return Status(Code::kInvalidArgument,
                    "template, line " + std::to_string(e.line) + ": " + e.message);
    };
    if (source.size() > kMaxTemplateSize)
      return refuse(
          {ErrorKind::kSyntax, "TemplateSyntaxError", "the template is larger than 4 MiB", 1});
    std::vector<Token> tokens;
    Lexer lexer(source);
    if (!lexer.run(tokens)) return refuse(lexer.error());
    Parser parser(std::move(tokens));
    auto body = std::make_shared<Body>();
    if (!parser.run(*body)) return refuse(parser.error());
    Template out;
    out.own_names_ = std::make_shared<const std::vector<std::string>>(OwnNames::of(*body));
    out.body_ = std::move(body);
    return out;
  }

  // Renders with the variables of `context` (an object, or null for none). May run in several
  // threads at once.
  RenderResult render(const nlohmann::ordered_json& context, const Limits& limits = {},
                      const Clock& clock = {}) const {
    Runtime rt(limits, clock);
    RenderResult out;
    {
      const Value variables =
          context.is_object() ? from_json_value(rt, context) : make_dict(rt, {});
      if (!context.is_object() && !context.is_null())
        type_error(rt, "the context is not an object");
      if (!rt.failed()) {
        Interpreter interpreter(rt, variables);
        out.output = interpreter.run(*body_, *own_names_);
      }
    }
    out.error = rt.error();
    if (!out.ok()) out.output.clear();
    return out;
  }

  const Body& body() const { return *body_; }

 private:
  Template() = default;
  std::shared_ptr<const Body> body_;
  std::shared_ptr<const std::vector<std::string>> own_names_;
};

}  // namespace veloce::text::jinja
