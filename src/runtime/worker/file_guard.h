// Landlock: from now on, this process writes, makes, renames and removes files below one folder only.
//
// What it may read is as before. Linux 5.13 and later; elsewhere nothing happens.
#pragma once

#include <string>

namespace isomer {

// True: it holds from now on, for all future threads and for good. Call it before the process has threads.
// Open files stay as they were opened.
bool keep_writes_below(const std::string& folder);

}  // namespace isomer
