#include "properties.hpp"

#include <climits>
#include <cstdio>
#include <cstring>

#include "card.hpp"

namespace gfx906::rt {
namespace {

// hipDeviceArch_t: atomics, doubles, vote, ballot and shuffle (bits 0 to 10), system fence (12), 3D grids (15).
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

int pci_bus(int card) { return 3 + kPciBusStep * card; }

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

bool attribute_value(int index, int attribute, int& value) {
  DeviceProp6 p;
  fill_properties(index, p);
  switch (attribute) {
    case 0: value = p.ECCEnabled; break;
    case 2: value = p.asyncEngineCount; break;
    case 3: value = p.canMapHostMemory; break;
    case 4: value = p.canUseHostPointerForRegisteredMem; break;
    case 5: value = p.clockRate; break;
    case 6: value = p.computeMode; break;
    case 8: value = p.concurrentKernels; break;
    case 9: value = p.concurrentManagedAccess; break;
    case 10: value = p.cooperativeLaunch; break;
    case 11: value = p.cooperativeMultiDeviceLaunch; break;
    case 12: value = p.deviceOverlap; break;
    case 14: value = p.globalL1CacheSupported; break;
    case 19: value = p.l2CacheSize; break;
    case 20: value = p.localL1CacheSupported; break;
    case 23: value = p.major; break;
    case 24: value = p.managedMemory; break;
    case 25: value = p.maxBlocksPerMultiProcessor; break;
    case 26:
    case 27:
    case 28: value = p.maxThreadsDim[attribute - 26]; break;
    case 29:
    case 30:
    case 31: value = p.maxGridSize[attribute - 29]; break;
    case 32: value = p.maxSurface1D; break;
    case 34: value = p.maxSurface2D[0]; break;
    case 36: value = p.maxSurface3D[0]; break;
    case 39: value = p.maxTexture1D; break;
    case 41: value = p.maxTexture1DLinear; break;
    case 42: value = p.maxTexture1DMipmap; break;
    case 43:
    case 44: value = p.maxTexture2D[attribute - 43]; break;
    case 48: value = p.maxTexture2DMipmap[0]; break;
    case 49:
    case 50:
    case 51: value = p.maxTexture3D[attribute - 49]; break;
    case 55: value = p.maxThreadsDim[0]; break;
    case 56: value = p.maxThreadsPerBlock; break;
    case 57: value = p.maxThreadsPerMultiProcessor; break;
    case 58: value = static_cast<int>(p.memPitch); break;
    case 59: value = p.memoryBusWidth; break;
    case 60: value = p.memoryClockRate; break;
    case 61: value = p.minor; break;
    case 63: value = p.multiProcessorCount; break;
    case 67: value = p.pciBusID; break;
    case 68: value = p.pciDeviceID; break;
    case 69: value = p.pciDomainID; break;
    case 71: value = p.regsPerBlock; break;
    case 72: value = p.regsPerMultiprocessor; break;
    case 74: value = static_cast<int>(p.sharedMemPerBlock); break;
    case 75: value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    case 76: value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case 78: value = p.streamPrioritiesSupported; break;
    case 79: value = static_cast<int>(p.surfaceAlignment); break;
    case 81: value = static_cast<int>(p.textureAlignment); break;
    case 82: value = static_cast<int>(p.texturePitchAlignment); break;
    case 83: value = static_cast<int>(p.totalConstMem); break;
    case 84: value = INT_MAX; break;  // the memory in bytes does not fit an int
    case 85: value = p.unifiedAddressing; break;
    case 87: value = p.warpSize; break;
    case 88: value = p.memoryPoolsSupported; break;
    case 89: value = 1; break;
    case 90: value = p.hostRegisterSupported; break;
    case 91: value = 0; break;
    case 10000:
    case 10017: value = kWallClockKhz; break;
    case 10002: value = static_cast<int>(p.maxSharedMemoryPerMultiProcessor); break;
    case 10007:
    case 10008:
    case 10009:
    case 10010: value = 1; break;
    case 10011: value = p.isLargeBar; break;
    case 10012: value = p.asicRevision; break;
    case 10013: value = 1; break;
    case 10014: value = 0; break;  // no image instructions in the simulator
    case 10015: value = kComputeUnits; break;
    case 10016: value = 1; break;
    default:
      // The remaining numbers are features that the card lacks.
      value = 0;
      return (attribute >= 0 && attribute <= 91) || attribute == 10005 || attribute == 10006;
  }
  return true;
}

}  // namespace gfx906::rt
