// Templates and contexts that mean harm: each ends in a clear error within a second or two,
// whatever it tries.
#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "veloce/text/jinja.hpp"

using nlohmann::ordered_json;
using namespace veloce::text::jinja;

namespace {

std::string repeat(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}
RenderResult render(const std::string& source,
                    const ordered_json& context = ordered_json::object()) {
  RenderResult out;
  auto parsed = Template::parse(source, &out.error);
  if (parsed) out = (*parsed).render(context);
  return out;
}

}  // namespace

TEST_CASE("hostile templates end in an error, in time") {
  const std::string endless = "{% for a in range(99999) %}{% for b in range(99999) %}";
  const std::vector<std::string> sources = {
      // Syntax that nests or goes on.
      "{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}",
      "{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}",
      "{{ " + repeat("{1:", 100000) + " }}",
      "{{ " + repeat("-", 100000) + "1 }}",
      "{{ " + repeat("not ", 100000) + "1 }}",
      "{{ 1" + repeat(" + 1", 100000) + " }}",
      "{{ 1" + repeat(" ~ 1 | upper", 100000) + " | nosuch }}",
      "{{ x" + repeat(".a", 100000) + " }}",
      "{{ x" + repeat("[0]", 100000) + " }}",
      "{{ x" + repeat("()", 100000) + " }}",
      "{{ x" + repeat("|upper", 100000) + " }}",
      "{{ 1" + repeat(" if 1 else 1", 100000) + " }}",
      "{{ 1" + repeat(" if 1", 100000) + " }}",
      "{{ 1" + repeat(" and 1", 100000) + " }}",
      repeat("{% if true %}", 100000),
      repeat("{% for x in y %}", 100000),
      repeat("{% macro m() %}", 100000),
      repeat("{% call(x=1) m() %}", 100000),
      "{% set " + repeat("(", 100000) + "a" + repeat(")", 100000) + " = 1 %}",
      "{{ 'abc",
      "{# ",
      "{% raw %} ",
      "{{ 1" + repeat("0", 100000) + " }}",
      "\xff\xfe{{ 1 }}",
      "{{ '\\ud800' }}",
      // Loops and recursion.
      endless + "{% endfor %}{% endfor %}",
      endless + "x{% endfor %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(x) %}{% call m(1) %}{{ caller() }}{% endcall %}{% endmacro %}{{ m(1) }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% for x in [1, 1] recursive %}{{ loop([1, 1]) }}{% endfor %}",
      // Memory.
      "{{ 'x' * 10**9 }}",
      "{{ 'x' * 10**12 }}",
      "{{ [0] * 10**9 }}",
      "{{ ('x' * 10**8) | list }}",
      "{{ 'x' * 9223372036854775807 }}",
      "{{ range(10**9) | list }}",
      "{{ 10 ** 10 ** 1000 }}",
      "{{ 'x'.center(10**10) }}",
      "{{ '%0999999999d' % 1 }}",
      "{{ '{:999999999}'.format(1) }}",
      "{{ 'a'.zfill(10**10) }}",
      "{{ 'a\\tb'.expandtabs(10**10) }}",
      "{{ 'ab' | replace('', 'x' * 10**8) }}",
      "{{ ('x' * 10**6).replace('x', 'y' * 10**6) }}",
      "{{ ['x' * 10**6] * 10**5 | join }}",
      "{{ (['x' * 10**6] * 10**5) | join('y' * 1000) }}",
      "{{ (['x' * 10**6] * 10**5) | string }}",
      "{{ (['x' * 10**6] * 10**5) | tojson }}",
      "{{ [1] | batch(10**12, 'x') | list }}",
      "{{ [1] | slice(10**12) | list }}",
      "{{ 'a\\n' * 10**6 | indent(10**6) }}",
      "{{ ('a\\n' * 10**6) | indent(10**6) }}",
      "{{ 1 | round(10**9) }}{{ 1.5 | round(-10**9) }}{{ 'x' * 10**10 }}",
      "{% set ns = namespace(s='x') %}{% for i in range(99999) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(n=3) %}{% for i in range(99999) %}{% set ns.n = ns.n * ns.n %}{% "
      "endfor %}",
      "{% for i in range(99999) %}{{ 'x' * 100000 }}{% endfor %}",
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l + ['x' * "
      "100000] %}{% endfor %}",
      // Values that nest or hold themselves.
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor "
      "%}{{ ns.l }}",
      "{% set ns = namespace(l={}) %}{% for i in range(99999) %}{% set ns.l = {'a': ns.l.items()} "
      "%}{% endfor %}{{ ns.l }}",
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] | map('list') "
      "%}{% endfor %}",
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l.count] %}{% "
      "endfor %}",
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = cycler(ns.l) %}{% "
      "endfor %}",
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% for x in [ns.l] %}{% set ns.l = "
      "loop %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(150) %}{% set ns.l = [ns.l, ns.l] %}{% "
      "endfor %}{{ ns.l == [ns.l[0], ns.l[1]] }}{{ ns.l }}",
      "{% set ns = namespace(l=(1,)) %}{% for i in range(150) %}{% set ns.l = (ns.l, ns.l) %}{% "
      "endfor %}{{ {ns.l: 1} }}",
      "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
      "{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{{ ns }}",
      // Python's insides.
      "{{ ''.__class__.__mro__[1].__subclasses__() }}",
      "{{ [].append(1) }}",
      "{{ '{0.__class__.__mro__}'.format(1) }}",
      "{{ m.__globals__.x }}",
  };
  for (const std::string& source : sources) {
    INFO(source.substr(0, 160));
    const auto start = std::chrono::steady_clock::now();
    const RenderResult r = render(source);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK_FALSE(r.ok());
    CHECK(r.output.empty());
    CHECK_FALSE(r.error.message.empty());
    CHECK(r.error.message.size() < 400);
    CHECK(r.error.line >= 1);
    CHECK(seconds <
          20);  // a second or so alone on a machine; sanitizers and neighbours take their share
  }
}

TEST_CASE("circles and chains of closures are given back without harm") {
  for (const char* source : {
           "{% set ns = namespace() %}{% set ns.a = ns %}ok",
           "{% set ns = namespace(p=none) %}{% for i in range(50000) %}{% set n2 = "
           "namespace(p=ns.p) %}{% set ns.p = n2 %}{% endfor %}ok",
           "{% set ns = namespace() %}{% macro f() %}{{ ns }}{% endmacro %}{% set ns.f = f %}ok",
           "{% set ns = namespace(f=none) %}{% for i in range(2000) %}{% set g = ns.f %}{% macro "
           "m() %}{{ g }}{% endmacro %}"
           "{% set ns.f = m %}{% endfor %}ok",
           "{% macro start() %}{% macro m() %}{% macro k() %}{% endmacro %}{% set ns.f = k %}{% "
           "endmacro %}{% set ns.f = m %}"
           "{% endmacro %}{% set ns = namespace() %}{{ start() }}{{ ns.f() }}{{ ns.f() }}ok",
       }) {
    INFO(source);
    const RenderResult r = render(source);
    CHECK(r.ok());
    CHECK(r.output == "ok");
  }
}

TEST_CASE("hostile contexts") {
  ordered_json deep = 1;
  for (int i = 0; i < 5000; ++i) deep = ordered_json::array({std::move(deep)});
  const RenderResult r = render("{{ x }}", {{"x", std::move(deep)}});
  CHECK_FALSE(r.ok());
  CHECK(r.error.kind == ErrorKind::kRuntime);
  CHECK_FALSE(render("x", ordered_json::array()).ok());
  CHECK(render("{{ x }}", {{"x", "\xff"}}).output == "\xEF\xBF\xBD");
}

TEST_CASE("errors say which line") {
  CHECK(render("a\nb\n{{ 1 + }}").error.line == 3);
  CHECK(render("a\n{% if x %}\n{{ nope.x }}\n{% endif %}", {{"x", 1}}).error.line == 3);
  CHECK(render("{% macro m() %}\n\n{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}").error.line == 3);
  CHECK(render("\n\n{{ raise_exception('no') }}").error.line == 3);
  for (const char* message : {"''", "undefined_name", "'' ~ none_such"}) {
    const auto raised = render(std::string("{{ raise_exception(") + message + ") }}");
    CHECK(raised.error.kind == ErrorKind::kRaise);
    CHECK_FALSE(raised.error.message.empty());
  }
  CHECK(render("{% for x in l %}\n{% endfor").error.line == 2);
}

TEST_CASE("one template renders in several threads at once") {
  auto parsed = Template::parse("{% for x in l %}{{ x ~ 'a' }}{{ {'k': x} | tojson }}{% endfor %}");
  REQUIRE(parsed.ok());
  std::vector<std::string> out(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k)
        out[std::size_t(i)] = (*parsed).render({{"l", {1, "b", i}}}).output;
    });
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    CHECK(out[std::size_t(i)] == "1a{\"k\": 1}ba{\"k\": \"b\"}" + n + "a{\"k\": " + n + "}");
  }
}
