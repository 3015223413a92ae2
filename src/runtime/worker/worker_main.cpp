// isomer-worker: the process in which runtimes run. Started by Worker, never by hand.
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/worker/sandbox.h"
#include "runtime/worker/serve.h"

int main(int argc, char** argv) {
  constexpr int kSocket = 3;  // where Worker puts it
  if (argc != 2 || !isomer::die_with(static_cast<pid_t>(std::atoi(argv[1])))) return 2;
  ::syscall(SYS_close_range, kSocket + 1, ~0u, 0);  // what a careless host left open
  isomer::serve(kSocket);
  // Not through static destructors of a runtime whose threads may still run.
  std::_Exit(0);
}
