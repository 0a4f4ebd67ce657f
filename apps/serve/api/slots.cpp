// The slots: their state, and saving, restoring and erasing them (specs/server.md 10.3).
#include <charconv>
#include <chrono>

#include "api/fields.hpp"
#include "api/routes.hpp"
#include "scheduler/scheduler.hpp"
#include "slot_file.hpp"

namespace veloce::serve {
namespace {

using std::chrono::steady_clock;

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

void list(http::Exchange& exchange, const Service& service) {
  if (!service.options().slots)
    throw ApiError::unsupported(
        "This server does not support slots endpoint. Start it with `--slots`");
  Json out = Json::array();
  bool idle = false;
  for (const SlotInfo& slot : service.scheduler().slots()) {
    idle |= !slot.busy;
    Json item = {{"id", slot.id},
                 {"n_ctx", slot.context},
                 {"speculative", false},
                 {"is_processing", slot.busy}};
    if (slot.used) {
      item["id_task"] = slot.work.task;
      item["n_tokens"] = slot.tokens;
      const int left =
          slot.work.max_tokens < 0 ? -1 : slot.work.max_tokens - slot.work.progress.generated;
      item["n_prompt_tokens"] = slot.work.progress.prompt;
      item["n_prompt_tokens_processed"] = slot.work.progress.processed - slot.work.progress.cached;
      item["n_prompt_tokens_cache"] = slot.work.progress.cached;
      item["params"] = {{"n_predict", slot.work.max_tokens}};
      item["next_token"] = {{{"has_next_token", slot.busy},
                             {"has_new_line", slot.work.has_newline},
                             {"n_remain", left},
                             {"n_decoded", slot.work.progress.generated}}};
    }
    out.push_back(std::move(item));
  }
  if (!idle && exchange.query("fail_on_no_slot") == "1")
    throw ApiError::unavailable("no slot available");
  exchange.reply_json(out);
}

int slot_number(const http::Exchange& exchange, const Service& service) {
  const std::string& text = exchange.path_param("id");
  int id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size() || id < 0 ||
      id >= service.scheduler().slot_count()) {
    throw ApiError::invalid("Invalid slot ID '" + text.substr(0, 40) + "'; slots are 0 to " +
                            std::to_string(service.scheduler().slot_count() - 1));
  }
  return id;
}

std::string file_name(const http::Exchange& exchange) {
  const Json json = exchange.json_body();
  const std::string name = Fields(json).required_string("filename");
  if (!is_plain_file_name(name))
    throw ApiError::invalid("Invalid filename: it must be a plain file name");
  return name;
}

void save(http::Exchange& exchange, const Service& service, int slot) {
  const std::string name = file_name(exchange);
  const auto start = steady_clock::now();
  const std::string owner = service.owner_of(exchange.client());
  Result<SlotState> state = service.scheduler().save(slot, owner);
  if (!state) throw ApiError::from(state.status());
  Result<std::size_t> bytes =
      write_slot_file(service.options().slot_save_path + '/' + name, service.info(), owner, *state);
  if (!bytes) throw ApiError::from(bytes.status());
  exchange.reply_json({{"id_slot", slot},
                       {"filename", name},
                       {"n_saved", state->tokens.size()},
                       {"n_written", *bytes},
                       {"timings", {{"save_ms", ms_since(start)}}}});
}

void restore(http::Exchange& exchange, const Service& service, int slot) {
  const std::string name = file_name(exchange);
  const std::string owner = service.owner_of(exchange.client());
  const auto start = steady_clock::now();
  Result<ReadSlot> read = read_slot_file(service.options().slot_save_path + '/' + name,
                                         service.info(), owner, service.context());
  if (!read) {
    if (read.status().code() == Code::kInvalidArgument)
      throw ApiError::invalid(read.status().message());  // another's file
    if (const Result<int> erased = service.scheduler().erase(slot); !erased)
      throw ApiError::from(erased.status());
    throw ApiError::invalid(read.status().message());
  }
  const std::size_t tokens = read->state.tokens.size();
  if (const Status status = service.scheduler().restore(slot, std::move(read->state), owner);
      !status) {
    throw status.code() == Code::kOutOfMemory ? ApiError::from(status)
                                              : ApiError::invalid(status.message());
  }
  exchange.reply_json({{"id_slot", slot},
                       {"filename", name},
                       {"n_restored", tokens},
                       {"n_read", read->bytes},
                       {"timings", {{"restore_ms", ms_since(start)}}}});
}

void act(http::Exchange& exchange, const Service& service) {
  if (service.options().slot_save_path.empty()) {
    throw ApiError::unsupported(
        "This server does not support slots action. Start it with `--slot-save-path`");
  }
  const int slot = slot_number(exchange, service);
  const std::string action = exchange.query("action");
  if (action == "save") return save(exchange, service, slot);
  if (action == "restore") return restore(exchange, service, slot);
  if (action != "erase")
    throw ApiError::invalid("Invalid action '" + action.substr(0, 40) +
                            "'; there are save, restore and erase");
  if (!exchange.body().empty()) {  // needs none, but what is there must be right
    const Json json = exchange.json_body();
    [[maybe_unused]] const auto unused = Fields(json).string("filename");
  }
  const Result<int> erased = service.scheduler().erase(slot);
  if (!erased) throw ApiError::from(erased.status());
  exchange.reply_json({{"id_slot", slot}, {"n_erased", *erased}});
}

}  // namespace

void add_slot_routes(http::HttpServer& server, ServiceOf service) {
  server.route("GET", "/slots", [service](http::Exchange& exchange) { list(exchange, service()); });
  server.route("POST", "/slots/{id}",
               [service](http::Exchange& exchange) { act(exchange, service()); });
}

}  // namespace veloce::serve
