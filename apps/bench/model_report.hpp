// The rows of veloce-bench model as a table for people or as JSON, JSON lines or CSV, printed as
// they come.
#pragma once

#include <string>

#include "bench/model_bench.hpp"

namespace veloce::bench {

class ModelReport {
 public:
  explicit ModelReport(std::string format) : format_(std::move(format)) {}
  void add(const ModelRow& row);
  void finish();

 private:
  void add_table(const ModelRow& row);

  std::string format_;
  int rows_ = 0;
};

}  // namespace veloce::bench
