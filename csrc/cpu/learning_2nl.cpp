// Two layers with a sigmoid between, lanes side by side.

#include "learning_lanes.hpp"

namespace nb26 {

const LearnPieces* learn_pieces_2nl(const LearnModel& model, int problems) {
  return learn_deep<LearnCurve::kSigmoid>(model, problems);
}

}  // namespace nb26
