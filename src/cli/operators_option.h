// The option --operators FILE of several commands: operators of one's own, as text.
#pragma once

namespace CLI {
class App;
}

namespace isomer::cli {

// They are declared while the command line is read, before anything else is.
void add_operators_option(CLI::App& command);

}  // namespace isomer::cli
