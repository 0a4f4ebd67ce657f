find_package(CLI11 REQUIRED)
target_sources(test-bench-make_model PRIVATE ${PROJECT_SOURCE_DIR}/apps/bench/make_model.cpp
               ${PROJECT_SOURCE_DIR}/apps/bench/random_weights.cpp ${PROJECT_SOURCE_DIR}/apps/bench/type_mix.cpp)
target_include_directories(test-bench-make_model PRIVATE ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(test-bench-make_model PRIVATE CLI11::CLI11)
