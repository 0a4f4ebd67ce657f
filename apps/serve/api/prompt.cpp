#include "api/prompt.hpp"

#include <algorithm>

namespace veloce::serve {
namespace {

[[noreturn]] void too_long(std::size_t tokens, bool at_least, const Service& service) {
  ApiError error{400, "exceed_context_size_error",
                 "the prompt has " + std::string(at_least ? "at least " : "") +
                     std::to_string(tokens) + " tokens, which does not fit the context of " +
                     std::to_string(service.context())};
  error.extra = {{"n_prompt_tokens", tokens}, {"n_ctx", service.context()}};
  throw error;
}

std::int32_t token_id(const Json& value, const std::string& name, const Service& service) {
  const auto id = as_integer(value);
  if (!id || *id < 0 || *id >= service.vocabulary_size()) {
    throw ApiError::invalid("Prompt contains invalid tokens: field '" + name + "' holds " +
                            dump_json(value) + ", ids are 0 to " +
                            std::to_string(service.vocabulary_size() - 1));
  }
  return static_cast<std::int32_t>(*id);
}

std::vector<std::int32_t> read_one(const Json& value, const std::string& name,
                                   const Service& service) {
  if (value.is_object()) {
    const Fields fields(value, name + '.');
    if (const Json* media = fields.array("multimodal_data"); media && !media->empty()) {
      fields.fail("multimodal_data",
                  "this model takes text only (no projector is loaded, see --mmproj)");
    }
    return tokenize_prompt(fields.required_string("prompt_string"), service, true);
  }
  if (value.is_string()) return tokenize_prompt(value.get_ref<const std::string&>(), service, true);
  const bool text_first = value.is_array() && !value.empty() && value[0].is_string();
  return tokenize_mixed(value, name, service, text_first, true);
}

}  // namespace

std::vector<std::int32_t> tokenize_prompt(const std::string& text, const Service& service,
                                          bool add_special) {
  // Each token stands for at most so many bytes: what cannot fit need not be tokenized.
  const std::size_t least = text.size() / service.longest_token();
  if (least > static_cast<std::size_t>(service.context())) too_long(least, true, service);
  return service.encode(text, add_special, true);
}

std::vector<std::int32_t> tokenize_mixed(const Json& value, const std::string& name,
                                         const Service& service, bool add_special,
                                         bool parse_special) {
  if (value.is_string())
    return service.encode(value.get_ref<const std::string&>(), add_special, parse_special);
  if (!value.is_array())
    throw_field(name, std::string("must be a string or an array of strings and token ids, not ") +
                          value.type_name());
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Json& item = value[i];
    if (item.is_string()) {
      const auto ids =
          service.encode(item.get_ref<const std::string&>(), add_special && i == 0, parse_special);
      out.insert(out.end(), ids.begin(), ids.end());
    } else if (item.is_number()) {
      out.push_back(token_id(item, name + '[' + std::to_string(i) + ']', service));
    } else {
      throw_field(name + '[' + std::to_string(i) + ']',
                  std::string("must be a string or a token id, not ") + item.type_name());
    }
  }
  return out;
}

std::vector<std::vector<std::int32_t>> read_prompts(const Fields& body, std::string_view field,
                                                    const Service& service) {
  const Json& value = body.required(field);
  const std::string name = body.name(field);
  const bool several =
      value.is_array() && !value.empty() &&
      std::none_of(value.begin(), value.end(), [](const Json& item) { return item.is_number(); });
  std::vector<std::vector<std::int32_t>> prompts;
  if (several) {
    if (value.size() > 1024) throw_field(name, "holds more than 1024 prompts");
    for (std::size_t i = 0; i < value.size(); ++i) {
      prompts.push_back(read_one(value[i], name + '[' + std::to_string(i) + ']', service));
    }
  } else {
    prompts.push_back(read_one(value, name, service));
  }
  for (const auto& prompt : prompts) check_prompt(prompt, service);
  return prompts;
}

void check_prompt(const std::vector<std::int32_t>& prompt, const Service& service) {
  if (prompt.size() >= static_cast<std::size_t>(service.context()))
    too_long(prompt.size(), false, service);
}

}  // namespace veloce::serve
