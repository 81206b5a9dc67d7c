#include "oja_entry.hpp"

namespace nb26 {

NB26_OJA_INSTANCES(double)

}  // namespace nb26
