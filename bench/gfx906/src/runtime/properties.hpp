// What a 32 GB MI50 reports of itself. One table feeds the property structures of both HIP releases
// and the attribute calls, so that they cannot disagree.
#pragma once

#include "hip_abi.hpp"

namespace gfx906::rt {

constexpr int kComputeUnits = 60;
constexpr int kClockKhz = 1725000;
constexpr int kMemoryClockKhz = 1000000;
constexpr int kWallClockKhz = 25000;
constexpr int kBusWidthBits = 4096;
constexpr int kL2Bytes = 4 << 20;
constexpr int kPciBusStep = 4;  // the first card is 0000:03:00.0, the next 0000:07:00.0 ...
constexpr const char* kCardName = "AMD Instinct MI60 / MI50";
constexpr const char* kArchName = "gfx906:sramecc+:xnack-";

int pci_bus(int card);
hipUUID uuid_of(int card);
void fill_properties(int card, DeviceProp5& p);
void fill_properties(int card, DeviceProp6& p);
// hipDeviceGetAttribute's numbers (the same in both releases). false: no such attribute on this
// card.
bool attribute_value(int card, int attribute, int& value);

}  // namespace gfx906::rt
