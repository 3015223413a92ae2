// A folder for the files that a runtime insists on writing; it is always removed.
#pragma once

#include <string>

namespace isomer {

// A file system in memory that only this process can see and that ends with it; "" where the kernel has none
// for us. To be called before the process has threads.
std::string private_scratch();

}  // namespace isomer
