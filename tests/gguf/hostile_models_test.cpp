// The collections of spoilt and of unusual models are themselves well-formed GGUF files, each
// different from the model it was made from: what refuses them must be the engine, not the
// container's reader.
#include "support/hostile_models.hpp"

#include <doctest/doctest.h>

#include <string>

#include "veloce/gguf/file.hpp"

using namespace veloce;
using namespace veloce::test;

TEST_CASE("spoilt models are well-formed files that differ from the sound one") {
  for (const std::string arch : {"llama", "qwen3"}) {
    const auto sound = TinyModel({.arch = arch}).bytes();
    REQUIRE(sound.ok());
    CHECK(gguf::File::from_memory(*sound, "sound").ok());
    auto all = hostile_models(arch);
    const auto unusual = unusual_models(arch);
    all.insert(all.end(), unusual.begin(), unusual.end());
    CHECK(all.size() > 150);
    for (const HostileModel& hostile : all) {
      CAPTURE(hostile.name);
      TinyModel model({.arch = arch});
      hostile.spoil(model);
      const auto bytes = model.bytes();
      REQUIRE_MESSAGE(bytes.ok(), bytes.status().message());
      CHECK(*bytes != *sound);
      const auto file = gguf::File::from_memory(*bytes, "spoilt");
      REQUIRE_MESSAGE(file.ok(), file.status().message());
    }
  }
}
