// Last-resort messages for out-of-memory where no exception can be thrown or caught: before main, in a
// destructor, or inside GMP, which is C and would abort without a message.
#pragma once

namespace isomer {

// After this call such an end prints one line, "isomer: not enough memory", and exits with `no_memory`; any
// other uncaught exception is reported as an internal error and exits with `our_bug`. Call it before anything
// else, from a [[gnu::constructor(101)]].
void end_with_one_line(int no_memory, int our_bug);

}  // namespace isomer
