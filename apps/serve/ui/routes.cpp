#include <algorithm>
#include <string>

#include "http/server.hpp"
#include "ui/assets.hpp"

namespace veloce::serve {
namespace {

// Model output is hostile: nothing but our own scripts and styles runs, nothing is fetched from
// elsewhere, and only the sanitiser may turn text into HTML. data: and blob: images are the user's
// own attachments.
constexpr char kPolicy[] =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dompurify";

// True where the client lists `tag` (If-None-Match compares weakly).
bool has_tag(const std::string& header, std::string_view tag) {
  return header == "*" || header.find(tag) != std::string::npos;
}

void serve(http::Exchange& exchange, const Asset& asset) {
  // Links of the page are relative to its folder, which the prefix alone does not name.
  if (asset.path == "/" && !exchange.path().ends_with('/')) {
    exchange.set_header("Location", exchange.path().substr(exchange.path().rfind('/') + 1) + "/");
    return exchange.reply(308, "", "text/plain");
  }
  exchange.set_header("Content-Security-Policy", kPolicy);
  exchange.set_header("X-Content-Type-Options", "nosniff");
  exchange.set_header("Referrer-Policy", "no-referrer");
  exchange.set_header("Cross-Origin-Opener-Policy", "same-origin");
  exchange.set_header("Cross-Origin-Resource-Policy", "same-origin");
  exchange.set_header("Cache-Control", "no-cache");
  exchange.set_header("Vary", "Accept-Encoding");
  exchange.set_header("ETag", std::string(asset.etag));
  if (has_tag(exchange.header("If-None-Match"), asset.etag)) {
    return exchange.reply(304, "", std::string(asset.content_type));
  }
  const bool packed = !asset.gzip.empty() && exchange.accepts_gzip();
  if (packed) exchange.set_header("Content-Encoding", "gzip");
  exchange.reply(200, std::string(packed ? asset.gzip : asset.bytes),
                 std::string(asset.content_type));
}

}  // namespace

const Asset* find_asset(std::string_view path) {
  const std::span<const Asset> all = assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& asset) { return asset.path == path; });
  return found == all.end() ? nullptr : &*found;
}

void add_ui_routes(http::HttpServer& server) {
  for (const Asset& asset : assets()) {
    server.route("GET", std::string(asset.path),
                 [&asset](http::Exchange& exchange) { serve(exchange, asset); },
                 {.key = false, .gate = false});
  }
}

}  // namespace veloce::serve
