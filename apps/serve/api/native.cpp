// The native /completion (specs/server.md 3) and /infill (11.3).
#include <algorithm>

#include "api/answer.hpp"
#include "api/params.hpp"
#include "api/prompt.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

// What every answer of a native request needs to know.
struct NativeRequest {
  const Service& service;
  GenerationParams params;
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::string> response_fields;
  int choices = 1;

  // Keeps the fields asked for; "a/b" lifts a member to the top.
  Json select(Json answer) const {
    if (response_fields.empty()) return answer;
    Json out = Json::object();
    for (const std::string& field : response_fields) {
      const Json* at = &answer;
      for (std::size_t begin = 0; at && begin <= field.size();) {
        const std::size_t end = std::min(field.find('/', begin), field.size());
        const auto found = at->is_object() ? at->find(field.substr(begin, end - begin)) : at->end();
        at = at->is_object() && found != at->end() ? &*found : nullptr;
        begin = end + 1;
      }
      if (at) out[field] = *at;
    }
    return out;
  }

  Json full(const ChoiceResult& result) const {
    const auto& prompt = prompts[static_cast<std::size_t>(result.last.index / choices)];
    return select(native_answer_json(service, params, prompt, result));
  }
};

class NativeStream final : public StreamFormat {
 public:
  explicit NativeStream(NativeRequest request) : request_(std::move(request)) {}

  void on_event(const Event& event, http::EventWriter& writer) override {
    if (event.kind == Event::Kind::kStarted) return;
    const bool finished = event.kind == Event::Kind::kFinished;
    if (!finished || !event.text.empty() || !event.tokens.empty()) {
      Json chunk = {{"index", event.index},
                    {"content", event.text},
                    {"tokens", event.tokens},
                    {"stop", false},
                    {"id_slot", event.slot},
                    {"tokens_predicted", event.progress.generated},
                    {"tokens_evaluated", event.progress.prompt}};
      if (event.kind == Event::Kind::kProgress)
        chunk["prompt_progress"] = prompt_progress_json(event.progress);
      if (request_.params.timings_per_token) chunk["timings"] = timings_json(event.progress);
      if (request_.params.report_probabilities && !event.probabilities.empty()) {
        chunk["completion_probabilities"] =
            probabilities_json(event.probabilities, request_.params.after_sampling);
      }
      writer.data(chunk);
    }
    if (finished) writer.data(request_.full({{}, {}, {}, event}));
  }

  void end(http::EventWriter&) override {}

 private:
  NativeRequest request_;
};

void run_native(http::Exchange& exchange, const Fields& body, NativeRequest request) {
  const RequestSettings settings = read_request_settings(body, request.service);
  request.response_fields = body.strings("response_fields").value_or(std::vector<std::string>());
  request.choices = settings.choices;
  auto run = Run::start(
      exchange, request.service,
      make_choices(exchange, request.service, settings, request.prompts, request.params));
  if (settings.stream) {
    Run::stream(std::move(run), exchange, std::make_shared<NativeStream>(std::move(request)),
                settings.ping_seconds);
    return;
  }
  const std::vector<ChoiceResult> results = run->collect();
  if (results.size() == 1) return exchange.reply_json(request.full(results[0]));
  Json answers = Json::array();
  for (const ChoiceResult& result : results) answers.push_back(request.full(result));
  exchange.reply_json(answers);
}

void complete(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  GenerationParams params = read_params(body, service, LogprobStyle::kCount);
  bind_schema(params, service, body);
  run_native(exchange, body,
             {service, std::move(params), read_prompts(body, "prompt", service), {}, 1});
}

class InfillPrompt {
 public:
  InfillPrompt(const Fields& body, const Service& service) : body_(body), service_(service) {
    if (special(text::Special::kFimPrefix) < 0 || special(text::Special::kFimSuffix) < 0 ||
        special(text::Special::kFimMiddle) < 0) {
      throw ApiError::unsupported(
          "infill is not supported by this model: it has no fill-in-the-middle tokens");
    }
  }

  std::vector<std::int32_t> build() {
    std::vector<std::int32_t> prefix = encode(body_.required_string("input_prefix"));
    std::vector<std::int32_t> suffix = encode(body_.required_string("input_suffix"));
    const std::vector<std::int32_t> after = encode(body_.string("prompt").value_or(""));
    // Near the hole is what matters: the end of the prefix, the beginning of the suffix.
    const std::size_t room = std::max<std::size_t>(
        8, std::min<std::size_t>(static_cast<std::size_t>(service_.context()) / 2,
                                 static_cast<std::size_t>(service_.engine().max_batch())));
    if (prefix.size() > room * 3 / 4)
      prefix.erase(prefix.begin(), prefix.end() - static_cast<std::ptrdiff_t>(room * 3 / 4));
    if (suffix.size() > room / 4) suffix.resize(room / 4);
    std::vector<std::int32_t> out;
    if (service_.tokenizer().vocabulary().add_bos())
      out.push_back(service_.tokenizer().vocabulary().bos());
    add_extra(out);
    const auto add = [&](text::Special mark, const std::vector<std::int32_t>& part) {
      out.push_back(special(mark));
      append(out, part);
    };
    const bool suffix_first = service_.options().spm_infill;
    if (suffix_first) add(text::Special::kFimSuffix, suffix);
    add(text::Special::kFimPrefix, prefix);
    if (!suffix_first) add(text::Special::kFimSuffix, suffix);
    out.push_back(special(text::Special::kFimMiddle));
    append(out, after);
    return out;
  }

 private:
  std::int32_t special(text::Special role) const {
    return service_.tokenizer().vocabulary().special(role);
  }
  std::vector<std::int32_t> encode(const std::string& text) const {
    return service_.encode(text, false, false);
  }
  static void append(std::vector<std::int32_t>& out, const std::vector<std::int32_t>& more) {
    out.insert(out.end(), more.begin(), more.end());
  }

  void add_extra(std::vector<std::int32_t>& out) const {
    const Json* files = body_.array("input_extra");
    if (!files) return;
    const std::int32_t repository = special(text::Special::kFimRepository),
                       file = special(text::Special::kFimFile);
    if (repository >= 0 && !files->empty()) {
      out.push_back(repository);
      append(out, encode("myproject\n"));
    }
    for (std::size_t i = 0; i < files->size(); ++i) {
      const std::string name = "input_extra[" + std::to_string(i) + ']';
      if (!(*files)[i].is_object()) throw_field(name, "must be an object with filename and text");
      const Fields fields((*files)[i], name + '.');
      const std::string text = fields.required_string("text");
      const std::string file_name = fields.string("filename").value_or("tmp");
      if (file >= 0) {
        out.push_back(file);
        append(out, encode(file_name + "\n"));
      }
      append(out, encode(text + (file >= 0 ? "" : "\n")));
    }
  }

  const Fields& body_;
  const Service& service_;
};

void infill(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  std::vector<std::int32_t> prompt = InfillPrompt(body, service).build();
  check_prompt(prompt, service);
  GenerationParams params = read_params(body, service, LogprobStyle::kCount);
  bind_schema(params, service, body);
  run_native(exchange, body, {service, std::move(params), {std::move(prompt)}, {}, 1});
}

}  // namespace

void add_native_routes(http::HttpServer& server, ServiceOf service) {
  for (const char* path : {"/completion", "/completions"}) {
    server.route("POST", path,
                 [service](http::Exchange& exchange) { complete(exchange, service()); });
  }
  server.route("POST", "/infill",
               [service](http::Exchange& exchange) { infill(exchange, service()); });
}

}  // namespace veloce::serve
