// Makes the library the HIP 6 one: see hip_abi.hpp.
#include "hip_abi.hpp"
namespace gfx906::rt {
const int kHipMajor = 6;
}
