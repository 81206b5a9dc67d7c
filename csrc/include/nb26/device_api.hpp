// What CUDA devices there are.
#pragma once

#include <string>

namespace nb26 {

// Usable devices; 0 where there is no driver, no device, or a driver older than the runtime.
int device_count();

// Why device_count() is 0, in the runtime's words; empty when it is not.
std::string device_reason();

}  // namespace nb26
