// Whether a sanitizer is watching: it makes a program many times slower and keeps memory that was
// freed, so bounds on time are wider and counts of cases smaller there. What is checked stays the
// same.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VELOCE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VELOCE_TEST_SANITIZED 1
#endif
#endif

namespace veloce::test {

#if defined(VELOCE_TEST_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// What a bound on time is multiplied with.
inline constexpr double kSlowdown = kSanitized ? 20 : 1;

}  // namespace veloce::test
