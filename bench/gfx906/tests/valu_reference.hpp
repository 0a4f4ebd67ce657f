// What each VALU operation computes, one lane at a time, written from the ISA's description and
// independent of the simulator's lane loops: integers by wide arithmetic, floats by a wider type
// and one explicit rounding.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace gfx906_test {

struct Lane {
  uint64_t a = 0, b = 0, c = 0;  // sources as the instruction reads them
  uint64_t old = 0;              // the destination before
  bool in = false;               // carry in, selector
  bool clamp = false;
  bool ieee = true;
};
struct Want {
  uint64_t value = 0;
  bool out = false;      // carry out or comparison
  double tolerance = 0;  // relative; 0: all bits must agree
};
using Reference = std::function<Want(const Lane&)>;

// By mnemonic without encoding suffix ("v_add_f32").
const std::map<std::string, Reference>& references();

// Adds the integer and packed operations; the packed f16 ones build on the plain ones in the table.
void add_integer_references(std::map<std::string, Reference>& table);

float as_f32(uint64_t v);
double as_f64(uint64_t v);
double as_f16(uint64_t v);
uint16_t round_f16(__float128 v);  // nearest even

}  // namespace gfx906_test
