#include "models/registry.hpp"

#include <string>
#include <utility>

#include "models/common/dense_engine.hpp"
#include "models/llama/arch.hpp"
#include "models/qwen3/arch.hpp"

namespace veloce::models {
namespace {

template <class... Archs>
struct ArchList {};
using Known = ArchList<Llama, Qwen3>;

// Opens the file and calls fn.operator()<Arch>(file, threads) for its architecture.
template <class Answer, class... Archs, class Fn>
Answer with_arch(const model::EngineOptions& options, ArchList<Archs...>, Fn fn) {
  Result<gguf::File> file = gguf::File::open(options.path);
  if (!file) return file.status();
  const std::string arch(file->architecture());
  const int threads = options.threads == 0 ? cpu::available_cores() : options.threads;
  Answer answer(Status(Code::kUnsupported, options.path + ": general.architecture \"" + arch +
                                               "\" is not one of this build's: " +
                                               ((std::string(Archs::kGgufName) + " ") + ...)));
  (void)((arch == Archs::kGgufName
              ? (answer = fn.template operator()<Archs>(*std::move(file), threads), true)
              : false) ||
         ...);
  return answer;
}

}  // namespace

Result<std::unique_ptr<model::Engine>> load_engine(const model::EngineOptions& options) {
  return with_arch<Result<std::unique_ptr<model::Engine>>>(
      options, Known{}, [&]<class Arch>(gguf::File file, int threads) {
        return DenseEngine<Arch>::load(std::move(file), options, threads);
      });
}

Result<model::MemoryPlan> plan_memory(const model::EngineOptions& options) {
  return with_arch<Result<model::MemoryPlan>>(
      options, Known{}, [&]<class Arch>(gguf::File file, int threads) {
        return DenseEngine<Arch>::plan(file, options, threads);
      });
}

std::vector<std::string_view> known_architectures() {
  return {Llama::kGgufName, Qwen3::kGgufName};
}

}  // namespace veloce::models
