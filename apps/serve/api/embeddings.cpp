// Embeddings (specs/server.md 11.1), and rerank, which needs a model made for it.
#include <cmath>
#include <cstring>

#include "api/answer.hpp"
#include "api/prompt.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"

namespace veloce::serve {
namespace {

// Normalises as embd_normalize says: -1 not at all, 0 largest absolute value to 32760, 2 Euclidean,
// else that p-norm.
void normalize(std::vector<float>& values, int kind) {
  double norm = 0;
  if (kind < 0) return;
  for (const float value : values) {
    const double size = std::abs(static_cast<double>(value));
    if (kind == 0) {
      norm = std::max(norm, size / 32760.0);
    } else {
      norm += std::pow(size, kind);
    }
  }
  if (kind > 0) norm = std::pow(norm, 1.0 / kind);
  if (norm > 0) {
    for (float& value : values) value = static_cast<float>(value / norm);
  }
}

std::string base64_of(const std::vector<float>& values) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    unsigned word = bytes[i] << 16;
    if (left > 1) word |= bytes[i + 1] << 8;
    if (left > 2) word |= bytes[i + 2];
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= left ? kAlphabet[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::vector<ChoiceResult> embed(http::Exchange& exchange, const Service& service,
                                const std::vector<std::vector<std::int32_t>>& prompts) {
  if (!service.options().embeddings) {
    throw ApiError::unsupported(
        "This server does not support embeddings. Start it with `--embeddings`");
  }
  std::vector<GenerationRequest> choices;
  for (const auto& prompt : prompts) {
    if (prompt.empty()) throw ApiError::invalid("the input has no tokens");
    GenerationRequest request;
    request.id = exchange.id();
    request.client = exchange.client();
    request.kind = TaskKind::kEmbed;
    request.pooling = service.options().pooling;
    request.index = static_cast<int>(choices.size());
    request.prompt = prompt;
    choices.push_back(std::move(request));
  }
  return Run::start(exchange, service, std::move(choices))->collect();
}

// The rows as numbers, or as base64 of their bytes.
bool wants_base64(const Fields& body) {
  [[maybe_unused]] const auto model =
      body.string("model");  // there is one model, whatever its name
  return body.choice("encoding_format", {"float", "base64"}).value_or("float") == "base64";
}
Json row_json(const std::vector<float>& row, bool base64) {
  return base64 ? Json(base64_of(row)) : Json(row);
}

int read_normalize(const Fields& body, const Service& service) {
  return static_cast<int>(
      body.integer("embd_normalize", -1, 64).value_or(service.options().embd_normalize));
}

void openai(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  const bool base64 = wants_base64(body);
  if (const auto dimensions = body.integer("dimensions", 1);
      dimensions && *dimensions != service.info().hidden) {
    body.fail("dimensions",
              "this model gives " + std::to_string(service.info().hidden) + " and cannot be cut");
  }
  if (service.options().pooling == Pooling::kNone) {
    throw ApiError::invalid(
        "Pooling type 'none' is not OAI compatible. Please use a different pooling type");
  }
  const int kind = read_normalize(body, service);
  Json data = Json::array();
  int tokens = 0;
  for (ChoiceResult& result :
       embed(exchange, service,
             read_prompts(body, body.has("input") ? "input" : "content", service))) {
    std::vector<float>& values = result.last.embedding;
    normalize(values, kind);
    tokens += result.last.progress.prompt;
    data.push_back({{"object", "embedding"},
                    {"index", result.last.index},
                    {"embedding", row_json(values, base64)}});
  }
  exchange.reply_json({{"object", "list"},
                       {"data", std::move(data)},
                       {"model", service.model_id()},
                       {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

void native(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  const bool base64 = wants_base64(body);
  const int kind = read_normalize(body, service);
  Json out = Json::array();
  for (ChoiceResult& result :
       embed(exchange, service,
             read_prompts(body, body.has("content") ? "content" : "input", service))) {
    Json rows = Json::array();
    if (service.options().pooling == Pooling::kNone) {
      for (const auto& row : result.last.token_embeddings) rows.push_back(row_json(row, base64));
    } else {
      normalize(result.last.embedding, kind);
      rows.push_back(row_json(result.last.embedding, base64));
    }
    out.push_back({{"index", result.last.index}, {"embedding", std::move(rows)}});
  }
  exchange.reply_json(out);
}

}  // namespace

void add_embedding_routes(http::HttpServer& server, ServiceOf service) {
  server.route("POST", "/v1/embeddings",
               [service](http::Exchange& exchange) { openai(exchange, service()); });
  for (const char* path : {"/embeddings", "/embedding"}) {
    server.route("POST", path,
                 [service](http::Exchange& exchange) { native(exchange, service()); });
  }
  for (const char* path : {"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}) {
    server.route("POST", path, [](http::Exchange&) {
      throw ApiError::unsupported(
          "This server does not support reranking: the model has no ranking head");
    });
  }
}

}  // namespace veloce::serve
