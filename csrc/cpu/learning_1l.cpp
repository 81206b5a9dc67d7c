// One layer, lanes side by side.

#include "learning_lanes.hpp"

namespace nb26 {

const LearnPieces* learn_pieces_1l(const LearnModel& model, int problems) {
  switch (model.d) {
    case 2:
      return learn_kind<LearnCurve::kLine, false, 0, 2>(model, problems);
    case 3:
      return learn_kind<LearnCurve::kLine, false, 0, 3>(model, problems);
    case 4:
      return learn_kind<LearnCurve::kLine, false, 0, 4>(model, problems);
    default:
      return nullptr;
  }
}

}  // namespace nb26
