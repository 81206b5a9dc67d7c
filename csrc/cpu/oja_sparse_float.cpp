#include "oja_sparse_entry.hpp"

namespace nb26 {

NB26_OJA_SPARSE_INSTANCES(float)

}  // namespace nb26
