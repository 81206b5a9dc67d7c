// Two linear layers, lanes side by side.

#include "learning_lanes.hpp"

namespace nb26 {

const LearnPieces* learn_pieces_2l(const LearnModel& model, int problems) {
  return learn_deep<LearnCurve::kLine>(model, problems);
}

}  // namespace nb26
