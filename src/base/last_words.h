// What a program of ours says where no exception can tell that memory is out, or arrive where it is caught:
// before main, in a destructor, or inside of GMP, which is C and would abort without a word.
#pragma once

namespace isomer {

// From here on such an end is one line, "isomer: not enough memory", and the exit code `no_memory`; any other
// exception that nobody caught is called an internal error, with the exit code `our_bug`. To be called before
// anything else, by a [[gnu::constructor(101)]].
void end_with_one_line(int no_memory, int our_bug);

}  // namespace isomer
