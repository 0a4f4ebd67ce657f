// Kernel launches: checking a configuration, laying out arguments as the kernel's metadata says,
// running it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hip_abi.hpp"
#include "module.hpp"
#include "stream.hpp"
#include "work.hpp"

namespace gfx906::rt {

// Storage of a cooperative launch's synchronisation; see launch.cpp.
struct MultiGridSync;

class KernelWork : public WorkOf<KernelWork, hipGraphNodeTypeKernel> {
 public:
  Function* function = nullptr;
  const void* handle = nullptr;  // what the program passed: host address or hipFunction_t
  LoadedKernel loaded;
  std::array<uint32_t, 3> grid{1, 1, 1};  // work-items
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_lds = 0;
  std::vector<uint8_t> kernarg;  // explicit arguments
  bool cooperative = false;
  bool wants_hostcall = false;  // it may print or call the host
  bool wants_heap = false;      // it may call device malloc
  std::shared_ptr<MultiGridSync> grid_sync, also_alive;
  int priority = 0;
  hipError_t run(WorkReport& report) override;

  // As the graph API shows it; the pointers stay valid as long as this object.
  hipKernelNodeParams params();

 private:
  std::vector<void*> argument_pointers_;
};

struct LaunchRequest {
  const void* handle = nullptr;
  uint32_t grid[3] = {1, 1, 1};  // work-groups, or work-items when in_items
  uint32_t block[3] = {1, 1, 1};
  bool in_items = false;
  size_t dynamic_lds = 0;
  void** arguments = nullptr;  // one pointer per explicit argument
  void** extra = nullptr;      // or the packed buffer (HIP_LAUNCH_PARAM_BUFFER_*)
  bool cooperative = false;
  int card = 0;
};

// Errors: hipErrorInvalidDeviceFunction, hipErrorNoBinaryForGpu, hipErrorInvalidConfiguration (a
// zero or too large size), hipErrorInvalidValue (LDS over 64 KiB, missing arguments),
// hipErrorCooperativeLaunchTooLarge.
hipError_t make_kernel_work(const LaunchRequest& request, std::shared_ptr<KernelWork>& work);
// Makes it and puts it into the stream.
hipError_t launch(LaunchRequest request, hipStream_t stream, hipEvent_t start = nullptr,
                  hipEvent_t stop = nullptr);

// One launch on each of several streams; cooperative ones can meet in a barrier across all of them.
hipError_t launch_on_all(const std::vector<LaunchRequest>& requests,
                         const std::vector<hipStream_t>& streams);

}  // namespace gfx906::rt
