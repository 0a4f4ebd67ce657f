#include "scheduler/token_chooser.hpp"

#include <algorithm>
#include <utility>

namespace veloce::serve {

class TokenChooser::Filter final : public sample::TokenFilter {
 public:
  explicit Filter(text::GrammarState& state) : state_(state) {}
  bool allows(std::int32_t id) override { return state_.allowed(static_cast<std::uint32_t>(id)); }
  Status fill_mask(std::span<std::uint32_t> bits) override { return state_.fill_mask(bits); }

 private:
  text::GrammarState& state_;
};

TokenChooser::TokenChooser(const text::Tokenizer& tokenizer, const GenerationParams& params,
                           sample::Sampler sampler)
    : tokenizer_(tokenizer),
      params_(params),
      sampler_(std::move(sampler)),
      budget_(params.reasoning) {
  if (!params.grammar.masks) return;
  grammar_.emplace(params.grammar.masks);
  waiting_for_trigger_ = params.grammar.lazy;
}

Result<std::int32_t> TokenChooser::choose(std::span<const float> logits) {
  if (!grammar_lost_) return grammar_lost_;
  if (const auto forced = budget_.forced()) return *forced;
  if (!grammar_active()) return sampler_.sample(logits);
  Filter filter(*grammar_);
  return sampler_.sample(logits, &filter);
}

void TokenChooser::took(std::int32_t token, std::string_view text) {
  sampler_.accept(token);
  if (grammar_active() && !tokenizer_.is_eog(token)) {
    // Cannot fail: only allowed tokens are chosen.
    [[maybe_unused]] const Status status = grammar_->accept(static_cast<std::uint32_t>(token));
  }
  const bool was_inside = budget_.inside();
  budget_.accept(text, grammar_active());
  if (was_inside && !budget_.inside()) {
    search_from_ = budget_.outside_from();
    resume_grammar(text);
  }
  if (waiting_for_trigger_ && !budget_.inside()) look_for_trigger(text);
}

// Behind the thinking the grammar holds from the first character on.
void TokenChooser::resume_grammar(std::string_view text) {
  if (!grammar_ || waiting_for_trigger_) return;
  const std::string_view rest = text.substr(budget_.outside_from());
  if (rest.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  const Status status = grammar_->accept_text(rest);
  if (!status)
    grammar_lost_ =
        Status(Code::kInternal, "the answer left its grammar with the end of its thoughts");
}

void TokenChooser::look_for_trigger(std::string_view text) {
  std::size_t first = std::string_view::npos, longest = 1;
  for (const std::string& trigger : params_.grammar.triggers) {
    first = std::min(first, text.find(trigger, std::min(search_from_, text.size())));
    longest = std::max(longest, trigger.size());
  }
  if (first == std::string_view::npos) {
    // What was searched need not be again, but for the beginning of a trigger.
    search_from_ = std::max(search_from_, text.size() - std::min(text.size(), longest - 1));
  } else if (grammar_->accept_text(text.substr(first)).ok()) {
    waiting_for_trigger_ = false;
  } else {
    // A text that the grammar cannot begin with was no call after all.
    search_from_ = first + 1;
  }
}

}  // namespace veloce::serve
