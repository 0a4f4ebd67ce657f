// gfx906-cost-figures: the cost model against published figures, as a table.
#include <cstdio>

#include "cost_figures.hpp"

int main() {
  const auto figures = gfx906_test::cost_figures();
  if (figures.empty()) {
    std::fprintf(stderr, "no kernels (cost.co)\n");
    return 1;
  }
  std::printf("%-42s %-16s %17s %10s %6s  %-8s %s\n", "figure", "source", "published", "estimate",
              "ratio", "limit", "");
  for (const auto& f : figures) {
    char published[40];
    if (f.low == f.high) {
      std::snprintf(published, sizeof published, "%g %s", f.low, f.unit.c_str());
    } else {
      std::snprintf(published, sizeof published, "%g-%g %s", f.low, f.high, f.unit.c_str());
    }
    std::printf("%-42s %-16s %17s %10.4g %6.2f  %-8s %s\n", f.what.c_str(), f.source.c_str(),
                published, f.estimate, f.ratio(), f.limit.c_str(), f.fitted ? "fitted" : "judged");
  }
  return 0;
}
