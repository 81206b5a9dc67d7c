// Two linear layers, lanes side by side.

#include "learning_lanes.hpp"

namespace nb26 {

const LearnPieces* learn_pieces_2l(const LearnModel& model) {
  return learn_deep<LearnCurve::kLine>(model);
}

}  // namespace nb26
