// Landlock: from now on, this process writes, makes, renames and removes files below one folder only.
//
// What it may read is as before. Linux 5.13 and later; elsewhere nothing happens.
#pragma once

#include <string>

namespace isomer {

// True: it holds from now on, for all threads that are yet to come and for good. To be called before the
// process has threads. What is open already stays as it was opened.
bool keep_writes_below(const std::string& folder);

}  // namespace isomer
