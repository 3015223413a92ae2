// Sizes that are given several times: each a set of its own, to be judged at.
#pragma once

#include <string>
#include <vector>

namespace isomer {

// Arguments of --shape ("batch=8", "x=1x3x224x224") as sets of sizes. A name that comes again begins the next
// set, which has what it doesn't say from the one before: batch=1 seq=128 batch=8 are {batch=1, seq=128} and
// {batch=8, seq=128}. At least one, which is empty where nothing is said.
std::vector<std::vector<std::string>> size_sets(const std::vector<std::string>& arguments);

}  // namespace isomer
