#include "oja_entry.hpp"

namespace nb26 {

NB26_OJA_INSTANCES(float)

}  // namespace nb26
