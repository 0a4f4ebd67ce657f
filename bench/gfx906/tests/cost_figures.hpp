// Published speeds of real MI50 cards beside the cost model's estimates of kernels that do the
// same.
#pragma once

#include <string>
#include <vector>

namespace gfx906_test {

struct Figure {
  std::string what, source, unit;
  double low = 0, high = 0;  // published; equal when it is one number
  bool fitted = false;  // a parameter of the model was chosen by it; the others judge the model
  double estimate = 0;
  std::string limit;  // that the model names
  // Estimate over the nearest published value; 1 inside the range.
  double ratio() const {
    return estimate < low ? estimate / low : estimate > high ? estimate / high : 1;
  }
};

// Runs all kernels of data/cost.co under the model. Empty when that file is missing.
std::vector<Figure> cost_figures();

}  // namespace gfx906_test
