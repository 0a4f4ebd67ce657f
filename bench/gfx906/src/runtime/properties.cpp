#include "properties.hpp"

#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "card.hpp"

namespace gfx906::rt {
namespace {

// hipDeviceArch_t: atomics, doubles, vote, ballot and shuffle (bits 0 to 10), system fence (12), 3D
// grids (15).
constexpr unsigned kArchBits = 0x7ffu | 1u << 12 | 1u << 15;
constexpr int kTexture1D = 16384;

// The members that have the same name in both structures.
template <class Properties>
void fill_common(int index, Properties& p) {
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", kCardName);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", kArchName);
  p.totalGlobalMem = usable_card_memory();
  p.sharedMemPerBlock = 65536;
  p.regsPerBlock = 65536;
  p.warpSize = 64;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = p.maxThreadsDim[2] = 1024;
  p.maxGridSize[0] = INT_MAX;
  p.clockRate = kClockKhz;
  p.memoryClockRate = kMemoryClockKhz;
  p.memoryBusWidth = kBusWidthBits;
  p.totalConstMem = INT_MAX;
  p.major = 9;
  p.minor = 0;
  p.multiProcessorCount = kComputeUnits;
  p.l2CacheSize = kL2Bytes;
  p.maxThreadsPerMultiProcessor = 2560;
  p.clockInstructionRate = kWallClockKhz;
  p.arch = kArchBits;
  p.concurrentKernels = 1;
  p.pciBusID = pci_bus(index);
  p.maxSharedMemoryPerMultiProcessor = 65536;
  p.canMapHostMemory = 1;
  p.cooperativeLaunch = 1;
  p.cooperativeMultiDeviceLaunch = 1;
  p.maxTexture1DLinear = 268435456;
  p.maxTexture1D = kTexture1D;
  p.maxTexture2D[0] = p.maxTexture2D[1] = 16384;
  p.maxTexture3D[0] = p.maxTexture3D[1] = 16384;
  p.maxTexture3D[2] = 8192;
  p.memPitch = INT_MAX;
  p.textureAlignment = 256;
  p.texturePitchAlignment = 256;
  p.ECCEnabled = 0;
  p.cooperativeMultiDeviceUnmatchedFunc = 1;
  p.cooperativeMultiDeviceUnmatchedGridDim = 1;
  p.cooperativeMultiDeviceUnmatchedBlockDim = 1;
  p.cooperativeMultiDeviceUnmatchedSharedMem = 1;
  p.isLargeBar = 1;
  p.asicRevision = 1;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 0;
}

}  // namespace

int pci_bus(int card) {
  return 3 + kPciBusStep * card;
}

hipUUID uuid_of(int card) {
  hipUUID uuid{};
  char text[17];
  std::snprintf(text, sizeof text, "%016x", 0x90600000u + static_cast<unsigned>(card));
  std::memcpy(uuid.bytes, text, sizeof uuid.bytes);
  return uuid;
}

void fill_properties(int index, DeviceProp5& p) {
  fill_common(index, p);
  p.gcnArch = 906;
  p.maxGridSize[1] = p.maxGridSize[2] = INT_MAX;
}

void fill_properties(int index, DeviceProp6& p) {
  fill_common(index, p);
  p.uuid = uuid_of(index);
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.maxTexture1DMipmap = kTexture1D;
  p.maxTexture2DMipmap[0] = p.maxTexture2DMipmap[1] = 16384;
  p.maxSurface1D = kTexture1D;
  p.maxSurface2D[0] = p.maxSurface2D[1] = 16384;
  p.maxSurface3D[0] = p.maxSurface3D[1] = 16384;
  p.maxSurface3D[2] = 8192;
  p.deviceOverlap = 1;
  p.surfaceAlignment = 256;
  p.asyncEngineCount = 2;
  p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = 65536;
  p.regsPerMultiprocessor = 65536;
  p.canUseHostPointerForRegisteredMem = 1;
  p.sharedMemPerBlockOptin = 65536;
  p.maxBlocksPerMultiProcessor = 40;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.unifiedFunctionPointers = 1;
}

namespace {

// Attributes that are a field of the properties.
constexpr std::pair<int, int DeviceProp6::*> kFields[] = {
    {0, &DeviceProp6::ECCEnabled},
    {2, &DeviceProp6::asyncEngineCount},
    {3, &DeviceProp6::canMapHostMemory},
    {4, &DeviceProp6::canUseHostPointerForRegisteredMem},
    {5, &DeviceProp6::clockRate},
    {6, &DeviceProp6::computeMode},
    {8, &DeviceProp6::concurrentKernels},
    {9, &DeviceProp6::concurrentManagedAccess},
    {10, &DeviceProp6::cooperativeLaunch},
    {11, &DeviceProp6::cooperativeMultiDeviceLaunch},
    {12, &DeviceProp6::deviceOverlap},
    {14, &DeviceProp6::globalL1CacheSupported},
    {19, &DeviceProp6::l2CacheSize},
    {20, &DeviceProp6::localL1CacheSupported},
    {23, &DeviceProp6::major},
    {24, &DeviceProp6::managedMemory},
    {25, &DeviceProp6::maxBlocksPerMultiProcessor},
    {32, &DeviceProp6::maxSurface1D},
    {39, &DeviceProp6::maxTexture1D},
    {41, &DeviceProp6::maxTexture1DLinear},
    {42, &DeviceProp6::maxTexture1DMipmap},
    {56, &DeviceProp6::maxThreadsPerBlock},
    {57, &DeviceProp6::maxThreadsPerMultiProcessor},
    {59, &DeviceProp6::memoryBusWidth},
    {60, &DeviceProp6::memoryClockRate},
    {61, &DeviceProp6::minor},
    {63, &DeviceProp6::multiProcessorCount},
    {67, &DeviceProp6::pciBusID},
    {68, &DeviceProp6::pciDeviceID},
    {69, &DeviceProp6::pciDomainID},
    {71, &DeviceProp6::regsPerBlock},
    {72, &DeviceProp6::regsPerMultiprocessor},
    {78, &DeviceProp6::streamPrioritiesSupported},
    {85, &DeviceProp6::unifiedAddressing},
    {87, &DeviceProp6::warpSize},
    {88, &DeviceProp6::memoryPoolsSupported},
    {90, &DeviceProp6::hostRegisterSupported},
    {10011, &DeviceProp6::isLargeBar},
    {10012, &DeviceProp6::asicRevision},
};
constexpr std::pair<int, size_t DeviceProp6::*> kSizes[] = {
    {58, &DeviceProp6::memPitch},
    {74, &DeviceProp6::sharedMemPerBlock},
    {75, &DeviceProp6::sharedMemPerBlockOptin},
    {76, &DeviceProp6::sharedMemPerMultiprocessor},
    {79, &DeviceProp6::surfaceAlignment},
    {81, &DeviceProp6::textureAlignment},
    {82, &DeviceProp6::texturePitchAlignment},
    {83, &DeviceProp6::totalConstMem},
    {10002, &DeviceProp6::maxSharedMemoryPerMultiProcessor},
};
// And those that are the same on every card. 84, the memory in bytes, does not fit an int; 10014:
// no image instructions in the simulator.
constexpr std::pair<int, int> kConstants[] = {
    {84, INT_MAX},
    {89, 1},
    {91, 0},
    {10000, kWallClockKhz},
    {10017, kWallClockKhz},
    {10007, 1},
    {10008, 1},
    {10009, 1},
    {10010, 1},
    {10013, 1},
    {10014, 0},
    {10015, kComputeUnits},
    {10016, 1},
};

}  // namespace

bool attribute_value(int index, int attribute, int& value) {
  DeviceProp6 p;
  fill_properties(index, p);
  for (const auto& [number, field] : kFields) {
    if (number == attribute) return value = p.*field, true;
  }
  for (const auto& [number, field] : kSizes) {
    if (number == attribute) return value = static_cast<int>(p.*field), true;
  }
  for (const auto& [number, constant] : kConstants) {
    if (number == attribute) return value = constant, true;
  }
  switch (attribute) {
    case 26:
    case 27:
    case 28:
      value = p.maxThreadsDim[attribute - 26];
      break;
    case 29:
    case 30:
    case 31:
      value = p.maxGridSize[attribute - 29];
      break;
    case 34:
      value = p.maxSurface2D[0];
      break;
    case 36:
      value = p.maxSurface3D[0];
      break;
    case 43:
    case 44:
      value = p.maxTexture2D[attribute - 43];
      break;
    case 48:
      value = p.maxTexture2DMipmap[0];
      break;
    case 49:
    case 50:
    case 51:
      value = p.maxTexture3D[attribute - 49];
      break;
    case 55:
      value = p.maxThreadsDim[0];
      break;
    default:
      // The remaining numbers are features that the card lacks.
      value = 0;
      return (attribute >= 0 && attribute <= 91) || attribute == 10005 || attribute == 10006;
  }
  return true;
}

}  // namespace gfx906::rt
