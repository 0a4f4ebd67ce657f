// Which names of a template's outermost level jinja2 takes for the template's own from the start.
// jinja2 resolves names before it runs: a name that this level assigns before reading it is
// undefined until then also inside loops and macros further up, even if the context has a variable
// of that name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "veloce/text/jinja_ast.hpp"

namespace veloce::text::jinja {

class OwnNames {
 public:
  // Names to start as undefined.
  static std::vector<std::string> of(const Body& body) {
    State state;
    visit(body, state);
    return {state.own.begin(), state.own.end()};
  }

 private:
  struct State {
    std::set<std::string> known;  // read or assigned so far
    std::set<std::string> own;    // assigned first
    std::set<std::string> stored;
  };

  static void load(const std::string& name, State& state) { state.known.insert(name); }
  static void store(const std::string& name, State& state) {
    state.stored.insert(name);
    if (state.known.insert(name).second) state.own.insert(name);
  }
  static void visit(const Target& target, State& state) {
    for (const Target& part : target.parts) visit(part, state);
    if (target.is_tuple) return;
    if (target.attribute.empty())
      store(target.name, state);
    else
      load(target.name, state);
  }
  static void visit(const Expression* e, State& state) {
    if (e == nullptr) return;
    if (e->op == Op::kName) load(e->text, state);
    for (const ExpressionPtr& part : e->parts) visit(part.get(), state);
    if (e->call == nullptr) return;
    for (const ExpressionPtr& part : e->call->positional) visit(part.get(), state);
    for (const auto& argument : e->call->named) visit(argument.second.get(), state);
    visit(e->call->star.get(), state);
    visit(e->call->double_star.get(), state);
  }
  // A name assigned in only some branches is not the template's own.
  static void visit_branches(const Statement& s, State& state) {
    std::vector<State> branches;
    bool has_else = false;
    for (const auto& [test, body] : s.branches) {
      visit(test.get(), state);
      has_else = has_else || test == nullptr;
    }
    for (const auto& branch : s.branches) {
      branches.push_back({state.known, {}, {}});
      visit(branch.second, branches.back());
    }
    if (!has_else) branches.push_back({state.known, {}, {}});
    std::set<std::string> own;
    for (const State& branch : branches)
      for (const std::string& name : branch.own) {
        bool everywhere = true;
        for (const State& other : branches) everywhere = everywhere && other.stored.contains(name);
        if (everywhere && !state.stored.contains(name)) own.insert(name);
      }
    for (const State& branch : branches) {
      state.known.insert(branch.known.begin(), branch.known.end());
      state.stored.insert(branch.stored.begin(), branch.stored.end());
    }
    state.own.insert(own.begin(), own.end());
  }
  // Bodies of loops, macros and blocks are levels of their own and not entered.
  static void visit(const Body& body, State& state) {
    for (const auto& s : body) {
      for (const ExpressionPtr& e : s->expressions)
        if (s->what != Do::kSetBlock) visit(e.get(), state);
      if (s->what == Do::kIf) visit_branches(*s, state);
      if (s->what == Do::kMacro) store(s->macro->name, state);
      if (s->what == Do::kSet || s->what == Do::kSetBlock)
        for (const Target& target : s->targets) visit(target, state);
    }
  }
};

}  // namespace veloce::text::jinja
