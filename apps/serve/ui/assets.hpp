// The files of the chat page, embedded at build, and the routes that serve them.
#pragma once

#include <span>
#include <string_view>

namespace veloce::serve {

namespace http {
class HttpServer;
}

struct Asset {
  std::string_view path;  // as in the URL, "/" or "/ui/…"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view gzip;  // the same compressed; empty where the build had no gzip
  std::string_view etag;  // a strong entity tag, quotes included
};

std::span<const Asset> assets();
// Null where there is no such file.
const Asset* find_asset(std::string_view path);

// Registers a public GET route for each file. They need no model and no key: the page itself asks
// for the key.
void add_ui_routes(http::HttpServer& server);

}  // namespace veloce::serve
