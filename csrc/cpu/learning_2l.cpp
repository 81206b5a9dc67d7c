// Two linear layers, lanes side by side.

#include "learning_lanes.hpp"

namespace nb26 {

const LearnPieces* learn_pieces_2l(const LearnModel& model, bool few) {
  return learn_deep<LearnCurve::kLine>(model, few);
}

}  // namespace nb26
