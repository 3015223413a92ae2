// Equal models, mixed: of each segment between borders that they share, the one that is the cheapest, by
// whichever engine. Whether the mixture is equal to them is not decided here: it is proved, as any other.
#pragma once

#include <vector>

#include "compiler/cover/compile_cover.h"

namespace isomer {

// Some segments of one of the models.
struct MixPart {
  std::size_t model = 0, first = 0, count = 0;
};
struct Mix {
  std::vector<MixPart> parts;
  double ns = 0;
};
// The first model has all borders, those of the others name them (Segment::border); all were timed and have
// one layer each.
Mix cheapest_mix(const std::vector<const CoverMaker*>& models);

// Error: values that don't fit together.
Result<Model> mixed_model(const std::vector<const CoverMaker*>& models, const std::vector<MixPart>& parts);

}  // namespace isomer
