// Command: one word after `isomer`. A command computes a Reply; only main.cpp prints it and ends the process,
// so that every command keeps the same contract of streams, JSON and exit codes.
//
// Adding a command: one file that defines `void add_NAME(CLI::App&, Chosen&)`, one line here and one in
// main.cpp.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace isomer::cli {

using Json = nlohmann::ordered_json;

// The exit codes. A contract: scripts depend on the numbers.
enum class Exit : int {
  Done = 0,
  Refuted = 1,    // the answer is no
  BadInput = 2,   // the request or a file is at fault
  Undecided = 3,  // no answer, for a reason that is said
  NoGain = 4,     // --require-gain, and there is none
  OurBug = 70,    // an ISOMER_CHECK failed (EX_SOFTWARE of sysexits.h)
  Stopped = 130,  // by Ctrl-C, before there was anything to answer with; what a shell says of a signal
};

struct Reply {
  Exit exit = Exit::Done;
  std::string text;  // for people: to stdout if Done or if there is a complaint, else one line to stderr
  Json json;         // for programs: to stdout under --json
  std::string complaint = {};   // one line to stderr beside a text that answers
  bool leaves_threads = false;  // the process ends at once: abandoned threads still run
};

// The command that the arguments chose: what to run, and whether to answer in JSON.
struct Chosen {
  std::function<Result<Reply>()> run;
  bool json = false;
};

void add_bench(CLI::App& app, Chosen& chosen);
void add_cache(CLI::App& app, Chosen& chosen);
void add_check(CLI::App& app, Chosen& chosen);
void add_compile(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_explore(CLI::App& app, Chosen& chosen);
void add_fleet(CLI::App& app, Chosen& chosen);
void add_gate(CLI::App& app, Chosen& chosen);
void add_inspect(CLI::App& app, Chosen& chosen);
void add_manual(CLI::App& app, Chosen& chosen);
void add_optimize(CLI::App& app, Chosen& chosen);
void add_plans(CLI::App& app, Chosen& chosen);
void add_propose(CLI::App& app, Chosen& chosen);
void add_prove(CLI::App& app, Chosen& chosen);
void add_report(CLI::App& app, Chosen& chosen);
void add_rules(CLI::App& app, Chosen& chosen);
void add_run(CLI::App& app, Chosen& chosen);
void add_scan(CLI::App& app, Chosen& chosen);
void add_simplify(CLI::App& app, Chosen& chosen);

}  // namespace isomer::cli
