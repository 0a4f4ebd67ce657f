// Tools of the weight quantizers: rounding, the search for the extreme value, and the scale-and-min
// fit of the K-quants (specs/quants.md section 9). Every sum is a sequential binary32 sum in
// element order, because the bytes of a file depend on it.
//
// All tools are defined for every input: a row with an infinity or a NaN gives a block that
// F::valid refuses or whose codes are arbitrary but in range, never undefined behaviour.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace veloce::detail {

// Nearest integer, ties to even, as binary32 addition of 1.5 * 2^23 gives it: exact for |f| <=
// 4194303, some other value in [-2^22, 2^22) beyond.
inline int round_even(float f) {
  const float shifted = f + 12582912.0f;
  return int(std::bit_cast<std::uint32_t>(shifted) & 0x7FFFFFu) - 0x400000;
}

inline int clamp_int(int v, int low, int high) {
  return v < low ? low : v > high ? high : v;
}

// round_even, then clamped.
inline int round_even_clamped(float f, int low, int high) {
  return clamp_int(round_even(f), low, high);
}

// Towards zero, limited to low..high; a NaN gives low.
inline int trunc_clamped(float f, int low, int high) {
  if (f >= float(high)) return high;
  return f > float(low) ? int(f) : low;
}

// Half away from zero, limited to low..high; a NaN gives low.
inline int round_away_clamped(float f, int low, int high) {
  return trunc_clamped(std::round(f), low, high);
}

inline float inverse_or_zero(float d) {
  return d != 0.0f ? 1.0f / d : 0.0f;
}

// The value of largest magnitude, with its sign; the first one of several. 0 if all are 0 or NaN.
inline float largest_signed(const float* x, int n) {
  float largest = 0.0f, magnitude = 0.0f;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > magnitude) {
      magnitude = std::fabs(x[i]);
      largest = x[i];
    }
  }
  return largest;
}

inline float largest_magnitude(const float* x, int n) {
  return std::fabs(largest_signed(x, n));
}

struct Range {
  float min, max;
};

inline Range value_range(const float* x, int n) {
  Range r{x[0], x[0]};
  for (int i = 1; i < n; ++i) {
    if (x[i] < r.min) r.min = x[i];
    if (x[i] > r.max) r.max = x[i];
  }
  return r;
}

// Below this magnitude a group of the K- and IQ4 quantizers counts as zero.
inline constexpr float kGroupEpsilon = 1e-15f;

struct ScaleMin {
  float scale;
  float min;  // what is subtracted: never negative
};

// Parameters of fit_scale_min: steps of the inverse scale around its first guess, and how the error
// counts.
struct FitSteps {
  float first;
  float delta;
  int count;
  bool absolute_error;
};

inline float fit_error(const float* x, const float* weight, const std::uint8_t* code, int n,
                       float scale, float min, bool absolute) {
  float error = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float difference = scale * float(code[i]) + min - x[i];
    const float e = absolute ? std::fabs(difference) : difference * difference;
    error += weight[i] * e;
  }
  return error;
}

// Weighted least squares of x against fixed codes, with the min kept at or below 0. False if the
// codes are all equal.
inline bool solve_scale_min(const float* x, const float* weight, const std::uint8_t* code, int n,
                            float* scale, float* min) {
  float sw = 0, sx = 0, sl = 0, sl2 = 0, sxl = 0;
  for (int i = 0; i < n; ++i) {
    const float w = weight[i], l = float(code[i]);
    sw += w;
    sx += w * x[i];
    sl += w * l;
    sl2 += w * l * l;
    sxl += w * l * x[i];
  }
  const float determinant = sw * sl2 - sl * sl;
  if (!(determinant > 0.0f)) return false;
  *scale = (sw * sxl - sx * sl) / determinant;
  *min = (sl2 * sx - sl * sxl) / determinant;
  if (*min > 0.0f) {
    *min = 0.0f;
    *scale = sxl / sl2;
  }
  return true;
}

// Codes 0..max_code and a scale and min such that scale * code - min is near x. N values, N
// weights.
template <int N>
ScaleMin fit_scale_min(const float* x, const float* weight, int max_code, FitSteps steps,
                       std::uint8_t* code) {
  const auto [lowest, max] = value_range(x, N);
  float min = lowest > 0.0f ? 0.0f : lowest;
  if (max == min) {
    for (int i = 0; i < N; ++i) code[i] = 0;
    return {0.0f, -min};
  }
  float inverse = float(max_code) / (max - min);
  float scale = 1.0f / inverse;
  for (int i = 0; i < N; ++i) {
    code[i] = std::uint8_t(round_even_clamped(inverse * (x[i] - min), 0, max_code));
  }
  float best = fit_error(x, weight, code, N, scale, min, steps.absolute_error);
  std::uint8_t trial[N];
  for (int step = 0; step <= steps.count; ++step) {
    inverse = (steps.first + steps.delta * float(step) + float(max_code)) / (max - min);
    for (int i = 0; i < N; ++i) {
      trial[i] = std::uint8_t(round_even_clamped(inverse * (x[i] - min), 0, max_code));
    }
    float trial_scale, trial_min;
    if (!solve_scale_min(x, weight, trial, N, &trial_scale, &trial_min)) continue;
    const float error =
        fit_error(x, weight, trial, N, trial_scale, trial_min, steps.absolute_error);
    if (error < best) {
      best = error;
      scale = trial_scale;
      min = trial_min;
      for (int i = 0; i < N; ++i) code[i] = trial[i];
    }
  }
  return {scale, -min};
}

}  // namespace veloce::detail
