#include "base/last_words.h"

#include <gmp.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace isomer {
namespace {

int no_memory_exit = 0;
int our_bug_exit = 0;

// Nothing here may allocate.
void say(const char* words) {
  if (::write(STDERR_FILENO, words, std::strlen(words)) < 0) return;  // no reader is left
}

[[noreturn]] void end_without_memory() {
  say("isomer: not enough memory\n");
  std::_Exit(no_memory_exit);
}

void terminated() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    say("isomer: internal error\n");
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& bug) {
    say("isomer: internal error: ");
    say(bug.what());
    say("\n");
  } catch (...) {
    say("isomer: internal error\n");
  }
  std::_Exit(our_bug_exit);
}

void* allocated(void* memory) {
  if (!memory) end_without_memory();
  return memory;
}

void* allocate(std::size_t size) { return allocated(std::malloc(size)); }
void* grow(void* memory, std::size_t, std::size_t size) { return allocated(std::realloc(memory, size)); }
void release(void* memory, std::size_t) { std::free(memory); }

}  // namespace

void end_with_one_line(int no_memory, int our_bug) {
  no_memory_exit = no_memory;
  our_bug_exit = our_bug;
  std::set_terminate(terminated);
  ::mp_set_memory_functions(allocate, grow, release);
}

}  // namespace isomer
