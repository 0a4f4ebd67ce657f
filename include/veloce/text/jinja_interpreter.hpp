// Runs a syntax tree. One Interpreter renders once; the tree is shared and never changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_access.hpp"
#include "veloce/text/jinja_ast.hpp"
#include "veloce/text/jinja_globals.hpp"
#include "veloce/text/jinja_ops.hpp"

namespace veloce::text::jinja {

// Variables of one block; names not found go to the parent, then to the context.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<const std::string*, Value>> variables;  // names live in the tree
  bool kept = false;                                            // by the interpreter, for closures

  Value* find(std::string_view name) {
    for (auto& [key, value] : variables)
      if (*key == name) return &value;
    return nullptr;
  }
};

struct MacroObject : Object {
  std::shared_ptr<MacroDefinition> definition;
  std::shared_ptr<Scope> scope;
};

struct LoopObject : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  std::function<bool(const Value&)> condition;  // which items count; asked as late as jinja2 asks
  Value before = Value::missing(), now = Value::missing(), after = Value::missing();
  std::int64_t index0 = -1, known_length = -1;
  std::int64_t depth0 = 0;
  std::vector<Value> last_changed;
  bool changed_before = false;
  const Statement* statement = nullptr;  // of a recursive loop
  std::shared_ptr<Scope> scope;

  Value fetch() {
    while (next < items.size()) {
      const Value& item = items[next++];
      if (!condition || condition(item)) return item;
    }
    return Value::missing();
  }
  bool advance() {
    Value item = after.is_missing() ? fetch() : std::exchange(after, Value::missing());
    if (item.is_missing()) return false;
    ++index0;
    before = std::exchange(now, std::move(item));
    return true;
  }
  const Value& peek() {
    if (after.is_missing()) after = fetch();
    return after;
  }
  std::int64_t length() {
    if (known_length < 0) {
      if (condition) {
        std::vector<Value> rest;
        for (Value v = fetch(); !v.is_missing(); v = fetch()) rest.push_back(std::move(v));
        items = std::move(rest);
        next = 0;
        condition = nullptr;
        known_length = std::int64_t(items.size()) + index0 + 1 + (after.is_missing() ? 0 : 1);
      } else {
        known_length = std::int64_t(items.size());
      }
    }
    return known_length;
  }
};

namespace detail {
inline constexpr MethodEntry kLoopMethods[] = {
    {"changed",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       LoopObject& loop = self.get<LoopObject>();
       for (const Value& v : args.positional) note_child(loop, v);
       if (!check_depth(rt, loop)) return {};
       const bool same = loop.changed_before && rt.step(args.positional.size()) &&
                         equal_items(loop.last_changed, args.positional);
       loop.changed_before = true;
       loop.last_changed = args.positional;
       return Value::boolean(!same);
     }},
    {"cycle",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       if (args.positional.empty()) return type_error(rt, "no items for cycling given");
       return args.positional[std::size_t(self.get<LoopObject>().index0) % args.positional.size()];
     }},
};
}  // namespace detail

inline Value object_attribute(Runtime& rt, const Value& object, std::string_view name) {
  if (object.is(Kind::kMacro)) {
    if (name == "name") return make_string(rt, object.get<MacroObject>().definition->name);
    return name.starts_with("__") ? detail::unsafe_attribute(rt, object, name) : Value::missing();
  }
  LoopObject& loop = object.get<LoopObject>();
  if (name == "index") return Value::integer(loop.index0 + 1);
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(loop.peek().is_missing());
  if (name == "length") return Value::integer(loop.length());
  if (name == "revindex") return Value::integer(loop.length() - loop.index0);
  if (name == "revindex0") return Value::integer(loop.length() - loop.index0 - 1);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "previtem")
    return loop.index0 == 0 ? make_undefined(rt, "there is no previous item") : loop.before;
  if (name == "nextitem")
    return loop.peek().is_missing() ? make_undefined(rt, "there is no next item") : loop.peek();
  if (const MethodEntry* entry = detail::find_method_entry(detail::kLoopMethods, name))
    return make_method(rt, object, entry->name, entry->method);
  return name.starts_with("__") ? detail::unsafe_attribute(rt, object, name) : Value::missing();
}
inline std::string object_repr(Runtime&, const Value& v) {
  if (v.is(Kind::kMacro))
    return "<Macro " + string_repr(v.get<MacroObject>().definition->name) + ">";
  LoopObject& loop = v.get<LoopObject>();
  return "<LoopContext " + std::to_string(loop.index0 + 1) + "/" + std::to_string(loop.length()) +
         ">";
}

class Interpreter {
 public:
  Interpreter(Runtime& rt, const Value& context) : rt_(rt), context_(context) {}
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  // Closures and namespaces may hold each other in circles: taken apart here, one by one, without
  // recursion.
  ~Interpreter() {
    for (const auto& scope : kept_) {
      const auto variables = std::move(scope->variables);
      scope->variables.clear();
    }
    for (const auto& scope : kept_) scope->parent.reset();
  }

  // `own_names` (OwnNames) are undefined until assigned; they must outlive this.
  std::string run(const Body& body, const std::vector<std::string>& own_names) {
    auto root = std::make_shared<Scope>();
    for (const std::string& name : own_names)
      set(*root, name, make_undefined(rt_, string_repr(name) + " is undefined"));
    std::string out;
    out_ = &out;
    execute(body, root);
    keep(root);
    return out;
  }

 private:
  enum class Flow : std::uint8_t { kNormal, kBreak, kContinue };
  using ScopePtr = std::shared_ptr<Scope>;

  static ScopePtr inner(const ScopePtr& parent) {
    auto scope = std::make_shared<Scope>();
    scope->parent = parent;
    return scope;
  }
  // Holds a scope that a closure refers to, and those around it, until the end.
  void keep(ScopePtr scope) {
    for (; scope != nullptr && !scope->kept; scope = scope->parent) {
      scope->kept = true;
      kept_.push_back(scope);
      kept_bytes_.push_back(std::make_unique<Object>());
      if (!rt_.reserve(sizeof(Scope) + 128)) return;
      kept_bytes_.back()->charge(rt_.memory(), sizeof(Scope) + 128);
    }
  }
  static void set(Scope& scope, const std::string& name, Value v) {
    if (Value* there = scope.find(name))
      *there = std::move(v);
    else
      scope.variables.emplace_back(&name, std::move(v));
  }

  // ---- statements ----

  void write(std::string_view text) {
    if (!rt_.step(1 + text.size() / 256)) return;
    if (out_->size() + text.size() > rt_.limits().max_output) {
      rt_.limit("the output grows beyond " + std::to_string(rt_.limits().max_output) + " bytes");
      return;
    }
    out_->append(text);
  }
  // Output of a body as text.
  std::string capture(const Body& body, const ScopePtr& scope, Flow& flow) {
    std::string buffer;
    std::string* const outer = std::exchange(out_, &buffer);
    flow = execute(body, scope);
    out_ = outer;
    return buffer;
  }
  Flow execute(const Body& body, const ScopePtr& scope) {
    const Runtime::Depth depth(rt_);
    for (const auto& s : body) {
      if (!rt_.step()) break;
      rt_.set_line(s->line);
      const Flow flow = execute(*s, scope);
      if (flow != Flow::kNormal) return flow;
    }
    return Flow::kNormal;
  }
  Flow execute(const Statement& s, const ScopePtr& scope) {
    switch (s.what) {
      case Do::kText:
        write(s.text);
        return Flow::kNormal;
      case Do::kPrint:
        print(s, scope);
        return Flow::kNormal;
      case Do::kIf:
        for (const auto& [test, body] : s.branches)
          if (test == nullptr || truthy(evaluate(*test, scope)))
            return rt_.failed() ? Flow::kNormal : execute(body, scope);
        return Flow::kNormal;
      case Do::kFor:
        return for_loop(s, evaluate(*s.expressions[0], scope), scope, 0);
      case Do::kSet:
        assign(s.targets[0], evaluate(*s.expressions[0], scope), *scope, scope);
        return Flow::kNormal;
      case Do::kSetBlock:
        return set_block(s, scope);
      case Do::kMacro:
        set(*scope, s.macro->name, make_macro(s.macro, scope));
        return Flow::kNormal;
      case Do::kCall:
        call_block(s, scope);
        return Flow::kNormal;
      case Do::kFilter: {
        Flow flow = Flow::kNormal;
        std::string text = capture(s.body, inner(scope), flow);
        if (flow != Flow::kNormal) return flow;
        const Value out =
            apply_filters(*s.expressions[0], make_string(rt_, std::move(text)), scope);
        append(out);
        return Flow::kNormal;
      }
      case Do::kWith: {
        const ScopePtr block = inner(scope);
        for (std::size_t i = 0; i < s.targets.size(); ++i)
          assign(s.targets[i], evaluate(*s.expressions[i], scope), *block, block);
        return execute(s.body, block);
      }
      case Do::kScope:
        return execute(s.body, inner(scope));
      case Do::kBreak:
        return Flow::kBreak;
      case Do::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNormal;
  }
  void append(const Value& v) {
    if (v.is_string()) return write(v.text());
    if (!v.is_undefined()) write(str(rt_, v));
  }
  void print(const Statement& s, const ScopePtr& scope) {
    for (const ExpressionPtr& e : s.expressions) {
      const Value v = evaluate(*e, scope);
      if (!rt_.failed()) append(v);
    }
  }
  Flow set_block(const Statement& s, const ScopePtr& scope) {
    Flow flow = Flow::kNormal;
    std::string text = capture(s.body, inner(scope), flow);
    if (flow != Flow::kNormal) return flow;
    Value v = make_string(rt_, std::move(text));
    if (s.expressions[0] != nullptr) v = apply_filters(*s.expressions[0], std::move(v), scope);
    assign(s.targets[0], std::move(v), *scope, scope);
    return Flow::kNormal;
  }
  void assign(const Target& target, Value v, Scope& to, const ScopePtr& lookup_scope) {
    if (!rt_.step()) return;
    if (!target.attribute.empty()) return assign_attribute(target, std::move(v), lookup_scope);
    if (!target.is_tuple) return set(to, target.name, std::move(v));
    std::vector<Value> parts;
    if (!is_iterable(v))
      return void(
          type_error(rt_, std::string("cannot unpack non-iterable ") + type_name(v) + " object"));
    if (!collect(rt_, v, parts)) return;
    if (parts.size() != target.parts.size())
      return void(value_error(rt_, parts.size() > target.parts.size()
                                       ? "too many values to unpack"
                                       : "not enough values to unpack"));
    for (std::size_t i = 0; i < parts.size(); ++i)
      assign(target.parts[i], std::move(parts[i]), to, lookup_scope);
  }
  void assign_attribute(const Target& target, Value v, const ScopePtr& scope) {
    const Value space = lookup(target.name, scope);
    if (!space.is(Kind::kNamespace)) {
      rt_.fail(ErrorKind::kRuntime, "TemplateRuntimeError",
               "cannot assign attribute on non-namespace object");
      return;
    }
    NamespaceObject& object = space.get<NamespaceObject>();
    const std::size_t before = object.dict.size();
    object.dict.set(make_string(rt_, target.attribute), std::move(v));
    if (object.dict.size() != before) {
      if (!rt_.reserve(sizeof(Dict::Entry) + 16)) return;
      rt_.memory()->live += sizeof(Dict::Entry) + 16;
      object.bytes += sizeof(Dict::Entry) + 16;
    }
  }

  Flow for_loop(const Statement& s, const Value& iterable, const ScopePtr& scope,
                std::int64_t depth0) {
    auto loop = std::make_shared<LoopObject>();
    if (rt_.failed() || !collect(rt_, iterable, loop->items)) return Flow::kNormal;
    const std::size_t bytes = sizeof(LoopObject) + loop->items.size() * sizeof(Value);
    if (!rt_.reserve(bytes)) return Flow::kNormal;
    loop->charge(rt_.memory(), bytes);
    for (const Value& item : loop->items) detail::note_child(*loop, item);
    if (!detail::check_depth(rt_, *loop)) return Flow::kNormal;
    loop->depth0 = depth0;
    if (s.recursive) {
      loop->statement = &s;
      loop->scope = scope;
      keep(scope);
    }
    if (s.condition != nullptr) {
      keep(scope);
      loop->condition = [this, &s, scope](const Value& item) {
        const ScopePtr test = inner(scope);
        assign(s.targets[0], item, *test, test);
        return !rt_.failed() && truthy(evaluate(*s.condition, test));
      };
    }
    const Value loop_value = Value::object(Kind::kLoop, loop);
    bool any = false;
    while (!rt_.failed() && loop->advance()) {
      const ScopePtr body = inner(scope);
      set(*body, kLoopName, loop_value);
      assign(s.targets[0], loop->now, *body, body);
      const Flow flow = execute(s.body, body);
      if (flow == Flow::kBreak) break;
      any = any || flow == Flow::kNormal;  // jinja2 runs the else also when every round ended early
    }
    if (!any && !s.otherwise.empty() && !rt_.failed()) return execute(s.otherwise, inner(scope));
    return Flow::kNormal;
  }

  Value make_macro(const std::shared_ptr<MacroDefinition>& definition, const ScopePtr& scope) {
    if (!rt_.reserve(sizeof(MacroObject))) return {};
    auto object = std::make_shared<MacroObject>();
    object->definition = definition;
    object->scope = scope;
    object->charge(rt_.memory(), sizeof(MacroObject));
    keep(scope);
    return Value::object(Kind::kMacro, std::move(object));
  }
  void call_block(const Statement& s, const ScopePtr& scope) {
    const Value caller = make_macro(s.macro, scope);
    const Expression& call = *s.expressions[0];
    const Value callee = evaluate(*call.parts[0], scope);
    Args args = arguments(call.call.get(), scope);
    args.named.emplace_back("caller", caller);
    if (!rt_.failed()) append(invoke(callee, args));
  }

  // ---- calls ----

  Args arguments(const CallArguments* call, const ScopePtr& scope) {
    Args out;
    if (call == nullptr) return out;
    for (const ExpressionPtr& e : call->positional) out.positional.push_back(evaluate(*e, scope));
    for (const auto& [name, e] : call->named) out.named.emplace_back(name, evaluate(*e, scope));
    if (call->star != nullptr) {
      std::vector<Value> more;
      if (!collect(rt_, evaluate(*call->star, scope), more)) return out;
      out.positional.insert(out.positional.end(), more.begin(), more.end());
    }
    if (call->double_star != nullptr) {
      const Value v = evaluate(*call->double_star, scope);
      if (!v.is_dict()) return type_error(rt_, "argument after ** must be a mapping"), out;
      for (const Dict::Entry& e : v.get<DictObject>().dict.entries()) {
        if (!e.key.is_string()) return type_error(rt_, "keywords must be strings"), out;
        if (out.find(e.key.text()) != nullptr)
          return type_error(rt_, "got multiple values for keyword argument '" + e.key.text() + "'"),
                 out;
        out.named.emplace_back(e.key.text(), e.value);
      }
    }
    return out;
  }
  Value invoke(const Value& callee, Args& args) {
    const Runtime::Depth depth(rt_);
    if (!depth) return {};
    switch (callee.kind()) {
      case Kind::kUndefined:
        return undefined_error(rt_, callee);
      case Kind::kFunction:
        return callee.get<FunctionObject>().function(rt_, args);
      case Kind::kMethod:
        return callee.get<MethodObject>().method(rt_, callee.get<MethodObject>().self, args);
      case Kind::kMacro:
        return invoke_macro(callee.get<MacroObject>(), args);
      case Kind::kLoop:
        return invoke_loop(callee.get<LoopObject>(), args);
      case Kind::kJoiner: {
        JoinerObject& joiner = callee.get<JoinerObject>();
        if (std::exchange(joiner.used, true)) return joiner.separator;
        return make_string(rt_, "");
      }
      default:
        return type_error(rt_, std::string("'") + type_name(callee) + "' object is not callable");
    }
  }
  Value invoke_loop(const LoopObject& loop, Args& args) {
    if (loop.statement == nullptr)
      return type_error(rt_, "The loop must have the 'recursive' marker to be called recursively.");
    const auto a = bind(rt_, "loop", args, 1, {"iterable"});
    if (rt_.failed()) return {};
    std::string buffer;
    std::string* const outer = std::exchange(out_, &buffer);
    for_loop(*loop.statement, a[0], loop.scope, loop.depth0 + 1);
    out_ = outer;
    return make_string(rt_, std::move(buffer));
  }
  Value invoke_macro(const MacroObject& macro, Args& args) {
    const std::shared_ptr<MacroDefinition> definition = macro.definition;
    const MacroDefinition& m = *definition;
    const ScopePtr scope = inner(macro.scope);
    const auto take = [&](std::string_view name) {
      for (std::size_t i = 0; i < args.named.size(); ++i) {
        if (args.named[i].first != name) continue;
        Value v = std::move(args.named[i].second);
        args.named.erase(args.named.begin() + std::ptrdiff_t(i));
        return v;
      }
      return Value::missing();
    };
    bool explicit_caller = false;
    std::vector<Value> given;
    for (std::size_t i = 0; i < m.parameters.size(); ++i) {
      given.push_back(i < args.positional.size() ? args.positional[i] : take(m.parameters[i].name));
      explicit_caller = explicit_caller || m.parameters[i].name == "caller";
    }
    if (m.uses_caller && !explicit_caller) {
      Value caller = take("caller");
      if (caller.is_missing() || caller.is_none())
        caller = make_undefined(rt_, "No caller defined");
      set(*scope, kCallerName, std::move(caller));
    }
    if (m.uses_kwargs) {
      Dict rest;
      for (auto& [name, v] : args.named) rest.set(make_string(rt_, name), v);
      set(*scope, kKwargsName, make_dict(rt_, std::move(rest)));
    } else if (!args.named.empty()) {
      return type_error(rt_, "macro " + string_repr(m.name) + " takes no keyword argument " +
                                 string_repr(args.named[0].first));
    }
    if (m.uses_varargs) {
      const std::size_t used = std::min(args.positional.size(), m.parameters.size());
      set(*scope, kVarargsName,
          make_tuple(rt_, {args.positional.begin() + std::ptrdiff_t(used), args.positional.end()}));
    } else if (args.positional.size() > m.parameters.size()) {
      return type_error(rt_, "macro " + string_repr(m.name) + " takes not more than " +
                                 std::to_string(m.parameters.size()) + " argument(s)");
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Parameter& p = m.parameters[i];
      if (given[i].is_missing())
        given[i] =
            p.fallback != nullptr
                ? evaluate(*p.fallback, scope)
                : make_undefined(rt_, "parameter " + string_repr(p.name) + " was not provided");
      set(*scope, p.name, std::move(given[i]));
    }
    const int line = rt_.line();
    Flow flow = Flow::kNormal;
    std::string text = capture(m.body, scope, flow);
    if (!rt_.failed()) rt_.set_line(line);
    return make_string(rt_, std::move(text));
  }

  // ---- expressions ----

  Value lookup(const std::string& name, const ScopePtr& from) {
    for (Scope* scope = from.get(); scope != nullptr; scope = scope->parent.get()) {
      if (!rt_.step()) return {};
      if (const Value* v = scope->find(name)) return *v;
    }
    if (const Value* v = context_.get<DictObject>().dict.find(std::string_view(name))) return *v;
    if (const GlobalEntry* global = find_global(name))
      return make_function(global->name, global->function);
    return make_undefined(rt_, string_repr(name) + " is undefined");
  }
  Value evaluate(const Expression& e, const ScopePtr& scope) {
    const Runtime::Depth depth(rt_);
    if (!rt_.step()) return {};
    switch (e.op) {
      case Op::kConstant:
        return e.value;
      case Op::kName:
        return lookup(e.text, scope);
      case Op::kList:
        return make_list(rt_, all(e, scope));
      case Op::kTuple:
        return make_tuple(rt_, all(e, scope));
      case Op::kDict:
        return dict(e, scope);
      case Op::kNot:
        return Value::boolean(!truthy(evaluate(*e.parts[0], scope)));
      case Op::kAnd: {
        Value left = evaluate(*e.parts[0], scope);
        return truthy(left) ? evaluate(*e.parts[1], scope) : left;
      }
      case Op::kOr: {
        Value left = evaluate(*e.parts[0], scope);
        return truthy(left) ? left : evaluate(*e.parts[1], scope);
      }
      case Op::kConcat:
        return concat(e, scope);
      case Op::kCompare:
        return comparison(e, scope);
      case Op::kCondition:
        if (truthy(evaluate(*e.parts[0], scope))) return evaluate(*e.parts[1], scope);
        if (e.parts[2] != nullptr) return evaluate(*e.parts[2], scope);
        return make_undefined(rt_, "the inline if-expression on line " + std::to_string(e.line) +
                                       " evaluated to false and no else section was defined.");
      case Op::kAttribute: {
        const Value object = evaluate(*e.parts[0], scope);
        return at_line(e) ? get_attribute(rt_, object, e.text) : Value();
      }
      case Op::kItem: {
        const Value object = evaluate(*e.parts[0], scope), key = evaluate(*e.parts[1], scope);
        return at_line(e) ? get_item(rt_, object, key) : Value();
      }
      case Op::kSlice:
        return slice(e, scope);
      case Op::kCall:
        return call(e, scope);
      case Op::kFilter:
        return apply_filter(e, evaluate(*e.parts[0], scope), scope);
      case Op::kTest:
        return test(e, scope);
      default:
        return arithmetic(e, scope);
    }
  }
  // Errors from here on are of this expression's line. False once anything has failed.
  bool at_line(const Expression& e) {
    if (rt_.failed()) return false;
    rt_.set_line(e.line);
    return true;
  }
  std::vector<Value> all(const Expression& e, const ScopePtr& scope) {
    std::vector<Value> out;
    out.reserve(e.parts.size());
    for (const ExpressionPtr& part : e.parts) out.push_back(evaluate(*part, scope));
    return out;
  }
  Value dict(const Expression& e, const ScopePtr& scope) {
    Dict out;
    for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
      Value key = evaluate(*e.parts[i], scope), v = evaluate(*e.parts[i + 1], scope);
      if (rt_.failed() || !check_hashable(rt_, key)) return {};
      out.set(std::move(key), std::move(v));
    }
    return make_dict(rt_, std::move(out));
  }
  Value concat(const Expression& e, const ScopePtr& scope) {
    std::string out;
    for (const ExpressionPtr& part : e.parts) {
      append_str(rt_, evaluate(*part, scope), out);
      if (rt_.failed()) return {};
    }
    return make_string(rt_, std::move(out));
  }
  Value slice(const Expression& e, const ScopePtr& scope) {
    Value parts[4];
    for (std::size_t i = 0; i < 4; ++i)
      parts[i] = e.parts[i] == nullptr ? Value::missing() : evaluate(*e.parts[i], scope);
    return at_line(e) ? get_slice(rt_, parts[0], parts[1], parts[2], parts[3]) : Value();
  }
  Value call(const Expression& e, const ScopePtr& scope) {
    const Value callee = evaluate(*e.parts[0], scope);
    Args args = arguments(e.call.get(), scope);
    return at_line(e) ? invoke(callee, args) : Value();
  }
  Value apply_filter(const Expression& e, const Value& v, const ScopePtr& scope) {
    Args args = arguments(e.call.get(), scope);
    if (!at_line(e)) return {};
    if (e.filter == nullptr)
      return raise(rt_, "TemplateRuntimeError", "No filter named '" + e.text + "' found.");
    return e.filter->filter(rt_, v, args);
  }
  // A chain of filters whose innermost object is the body of a block.
  Value apply_filters(const Expression& e, Value body, const ScopePtr& scope) {
    if (e.parts[0] != nullptr) body = apply_filters(*e.parts[0], std::move(body), scope);
    return apply_filter(e, body, scope);
  }
  Value test(const Expression& e, const ScopePtr& scope) {
    const Value v = evaluate(*e.parts[0], scope);
    Args args = arguments(e.call.get(), scope);
    if (!at_line(e)) return {};
    if (e.test == nullptr)
      return raise(rt_, "TemplateRuntimeError", "No test named '" + e.text + "' found.");
    return Value::boolean(e.test->test(rt_, v, args));
  }
  Value comparison(const Expression& e, const ScopePtr& scope) {
    Value left = evaluate(*e.parts[0], scope);
    for (std::size_t i = 0; i < e.comparisons.size(); ++i) {
      Value right = evaluate(*e.parts[i + 1], scope);
      if (!at_line(e)) return {};
      if (!holds(e.comparisons[i], left, right)) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }
  bool holds(Comparison op, const Value& a, const Value& b) {
    switch (op) {
      case Comparison::kEqual:
        return equal_counted(rt_, a, b);
      case Comparison::kNotEqual:
        return !equal_counted(rt_, a, b);
      case Comparison::kLess:
        return compare(rt_, a, b, "<") == -1;
      case Comparison::kGreater:
        return compare(rt_, a, b, ">") == 1;
      case Comparison::kLessEqual: {
        const int c = compare(rt_, a, b, "<=");
        return c == -1 || c == 0;
      }
      case Comparison::kGreaterEqual: {
        const int c = compare(rt_, a, b, ">=");
        return c == 1 || c == 0;
      }
      case Comparison::kIn:
        return contains(rt_, b, a);
      case Comparison::kNotIn:
        return !contains(rt_, b, a);
    }
    return false;
  }
  Value arithmetic(const Expression& e, const ScopePtr& scope) {
    const Value a = evaluate(*e.parts[0], scope);
    if (e.op == Op::kNegate || e.op == Op::kPlus) {
      if (!at_line(e)) return {};
      if (e.op == Op::kNegate) return negate(rt_, a);
      if (a.is_integral()) return add(rt_, a, Value::integer(0));
      if (a.is_number()) return a;
      if (a.is_undefined()) return undefined_error(rt_, a);
      return type_error(rt_, std::string("bad operand type for unary +: '") + type_name(a) + "'");
    }
    const Value b = evaluate(*e.parts[1], scope);
    if (!at_line(e)) return {};
    switch (e.op) {
      case Op::kAdd:
        return add(rt_, a, b);
      case Op::kSubtract:
        return subtract(rt_, a, b);
      case Op::kMultiply:
        return multiply(rt_, a, b);
      case Op::kDivide:
        return divide(rt_, a, b);
      case Op::kFloorDivide:
        return floor_divide(rt_, a, b, false);
      case Op::kModulo:
        return modulo(rt_, a, b);
      default:
        return power(rt_, a, b);
    }
  }

  static inline const std::string kLoopName = "loop", kCallerName = "caller",
                                  kKwargsName = "kwargs", kVarargsName = "varargs";
  Runtime& rt_;
  const Value& context_;
  std::string* out_ = nullptr;
  std::vector<ScopePtr> kept_;
  std::vector<std::unique_ptr<Object>> kept_bytes_;
};

}  // namespace veloce::text::jinja
