// Memory: allocation kinds, copies in all shapes, fills, symbols, pointer queries. No kernel but
// one for symbols.
#include <cstring>

#include "check.hpp"

__constant__ int table[16];
__device__ int counters[4] = {1, 2, 3, 4};
__managed__ int shared_value = 77;

__global__ void use_symbols(int* out) {
  const int i = threadIdx.x;
  out[i] = table[i] + counters[i % 4];
  if (i == 0) shared_value += 1;
}

static void test_copies() {
  std::vector<int> host(1000);
  for (int i = 0; i < 1000; ++i) host[i] = i * 3 - 7;
  int* a = upload(host);
  int* b = device_array<int>(1000);
  HIP(hipMemcpy(b, a, 4000, hipMemcpyDeviceToDevice));
  TRUE_(download(b, 1000) == host);
  HIP(hipMemset(b, 0xab, 400));
  EQUAL(download(b, 100)[99], static_cast<int>(0xabababab));
  EQUAL(download(b + 100, 1)[0], host[100]);
  HIP(hipMemsetD32(b, 12345, 10));
  EQUAL(download(b, 10)[9], 12345);
  HIP(hipMemsetD16(b, 0x1234, 4));
  EQUAL(download(b, 2)[1], 0x12341234);
  HIP_FAILS(hipMemcpy(b, a, 4001, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(b, a, 4, static_cast<hipMemcpyKind>(9)), hipErrorInvalidMemcpyDirection);
  HIP_FAILS(hipMemcpy(nullptr, a, 4, hipMemcpyDefault), hipErrorInvalidValue);
  HIP(hipFree(a));
  HIP(hipFree(b));
  HIP(hipFree(nullptr));
}

static void test_pitched() {
  void* base = nullptr;
  size_t pitch = 0;
  HIP(hipMallocPitch(&base, &pitch, 100, 10));
  EQUAL(pitch % 256, 0);
  std::vector<unsigned char> host(1000), back(1000);
  for (size_t i = 0; i < 1000; ++i) host[i] = static_cast<unsigned char>(i * 7);
  HIP(hipMemcpy2D(base, pitch, host.data(), 100, 100, 10, hipMemcpyHostToDevice));
  HIP(hipMemset2D(base, pitch, 0x55, 50, 5));
  HIP(hipMemcpy2D(back.data(), 100, base, pitch, 100, 10, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < 1000; ++i)
    EQUAL(int(back[i]), i < 500 && i % 100 < 50 ? 0x55 : int(host[i]));
  HIP_FAILS(hipMemcpy2D(base, 99, host.data(), 100, 100, 10, hipMemcpyHostToDevice),
            hipErrorInvalidPitchValue);
  HIP(hipFree(base));

  hipPitchedPtr volume;
  HIP(hipMalloc3D(&volume, make_hipExtent(40, 5, 5)));
  HIP(hipMemset3D(volume, 0, make_hipExtent(40, 5, 5)));
  hipMemcpy3DParms p;
  std::memset(&p, 0, sizeof p);
  p.srcPtr = make_hipPitchedPtr(host.data(), 40, 40, 5);
  p.dstPtr = volume;
  p.dstPos = make_hipPos(4, 1, 2);
  p.extent = make_hipExtent(8, 3, 2);
  p.kind = hipMemcpyHostToDevice;
  HIP(hipMemcpy3D(&p));
  const size_t slice = volume.pitch * volume.ysize;
  const auto all = download(static_cast<unsigned char*>(volume.ptr), slice * 5);
  for (size_t z = 0; z < 5; ++z) {
    for (size_t y = 0; y < 5; ++y) {
      for (size_t x = 0; x < 40; ++x) {
        const bool inside = x >= 4 && x < 12 && y >= 1 && y < 4 && z >= 2 && z < 4;
        const int want = inside ? host[(z - 2) * 200 + (y - 1) * 40 + (x - 4)] : 0;
        EQUAL(int(all[z * slice + y * volume.pitch + x]), want);
      }
    }
  }
  HIP(hipFree(volume.ptr));
}

static void test_host_memory() {
  void* pinned = nullptr;
  HIP(hipHostMalloc(&pinned, 4096, hipHostMallocMapped));
  void* mapped = nullptr;
  HIP(hipHostGetDevicePointer(&mapped, pinned, 0));
  TRUE_(mapped != nullptr);
  unsigned flags = 0;
  HIP(hipHostGetFlags(&flags, pinned));
  EQUAL(flags, unsigned(hipHostMallocMapped));
  hipPointerAttribute_t a;
  HIP(hipPointerGetAttributes(&a, static_cast<char*>(pinned) + 100));
#if HIP_VERSION_MAJOR >= 6
  EQUAL(int(a.type), int(hipMemoryTypeHost));
#else
  EQUAL(int(a.memoryType), int(hipMemoryTypeHost));
#endif
  void* device = device_array<char>(100);
  HIP(hipPointerGetAttributes(&a, device));
#if HIP_VERSION_MAJOR >= 6
  EQUAL(int(a.type), int(hipMemoryTypeDevice));
#else
  EQUAL(int(a.memoryType), int(hipMemoryTypeDevice));
#endif
  EQUAL(a.device, 0);
  hipDeviceptr_t base;
  size_t bytes = 0;
  HIP(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(device) + 50));
  TRUE_(base == device);
  EQUAL(bytes, 100);
  HIP(hipFree(device));
  HIP(hipHostFree(pinned));
  std::vector<char> mine(8192);
  HIP(hipHostRegister(mine.data(), mine.size(), hipHostRegisterDefault));
  HIP_FAILS(hipHostRegister(mine.data(), mine.size(), hipHostRegisterDefault),
            hipErrorHostMemoryAlreadyRegistered);
  HIP(hipHostUnregister(mine.data()));
  HIP_FAILS(hipHostUnregister(mine.data()), hipErrorHostMemoryNotRegistered);
}

static void test_symbols() {
  std::vector<int> values(16);
  for (int i = 0; i < 16; ++i) values[i] = 100 + i;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), values.data(), 64));
  const int second = 1000;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(counters), &second, 4, 4));
  int* out = device_array<int>(16);
  use_symbols<<<1, 16>>>(out);
  HIP(hipGetLastError());
  const auto have = download(out, 16);
  const int counts[4] = {1, 1000, 3, 4};
  for (int i = 0; i < 16; ++i) EQUAL(have[i], 100 + i + counts[i % 4]);
  int back[4];
  HIP(hipMemcpyFromSymbol(back, HIP_SYMBOL(counters), 16));
  EQUAL(back[1], 1000);
  EQUAL(back[3], 4);
  void* address = nullptr;
  size_t bytes = 0;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));
  HIP(hipGetSymbolSize(&bytes, HIP_SYMBOL(counters)));
  EQUAL(bytes, 16);
  HIP_FAILS(hipMemcpyToSymbol(HIP_SYMBOL(counters), values.data(), 20), hipErrorInvalidValue);
  HIP(hipDeviceSynchronize());
  EQUAL(shared_value, 78);
  HIP(hipFree(out));
}

int main() {
  test_copies();
  test_pitched();
  test_host_memory();
  test_symbols();
  std::puts("ok");
}
