// Makes the library the HIP 5 one: see hip_abi.hpp.
#include "hip_abi.hpp"
namespace gfx906::rt {
const int kHipMajor = 5;
}
