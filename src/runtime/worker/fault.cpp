#include "runtime/worker/fault.h"

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <thread>

namespace isomer {
namespace {

// Read through, so that no compiler proves what will happen.
volatile int zero = 0, hundred = 100;
int* volatile nowhere = nullptr;

void exhaust_memory() {
  for (;;) {
    char* block = new char[1 << 20];
    std::memset(block, 1, 1 << 20);
    *reinterpret_cast<char* volatile*>(block) = block;  // kept: nothing frees it
  }
}

void write_garbage(int socket) {
  std::array<unsigned char, 4096> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 167 + 13);
  (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// All threads at once: one that merely sleeps would harm no other.
[[noreturn]] void hang() {
  for (;;) (void)std::raise(SIGSTOP);
}

}  // namespace

bool commit_fault(const std::string& kind, std::chrono::microseconds delay, int socket) {
  const std::map<std::string, std::function<void()>> faults{
      {"segfault", [] { *nowhere = 1; }},
      {"abort", [] { std::abort(); }},
      {"divide", [] { zero = hundred / zero; }},
      {"memory", exhaust_memory},
      {"hang", hang},
      {"garbage", [socket] { write_garbage(socket); }},
      {"exit", [] { std::_Exit(0); }},
  };
  const auto fault = faults.find(kind);
  if (fault == faults.end()) return false;
  if (delay.count() == 0) {
    fault->second();
  } else {
    std::thread([act = fault->second, delay] {
      std::this_thread::sleep_for(delay);
      act();
    }).detach();
  }
  return true;
}

}  // namespace isomer
