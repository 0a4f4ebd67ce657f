# The pre-tokenizers are checked against PCRE2 (32-bit units), which nothing else uses; without it that test skips.
find_library(VELOCE_PCRE2_32 pcre2-32)
find_path(VELOCE_PCRE2_INCLUDE pcre2.h)
if(VELOCE_PCRE2_32 AND VELOCE_PCRE2_INCLUDE)
  target_link_libraries(test-text-pretokenize PRIVATE ${VELOCE_PCRE2_32})
  target_include_directories(test-text-pretokenize PRIVATE ${VELOCE_PCRE2_INCLUDE})
  target_compile_definitions(test-text-pretokenize PRIVATE VELOCE_HAVE_PCRE2)
endif()
