// The option --operators FILE of several commands: custom operators, as text.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace isomer::cli {

// `text`: what the file says, for api::LoadOptions.
void add_operators_option(CLI::App& command, std::string& text);

}  // namespace isomer::cli
