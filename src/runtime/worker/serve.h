// The worker's side of the protocol: a loop that answers requests until the parent is gone.
#pragma once

namespace isomer {

void serve(int socket);

}  // namespace isomer
