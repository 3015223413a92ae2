// 128 bits, which ISO C++ has no name for.
#pragma once

namespace isomer {

__extension__ typedef unsigned __int128 Uint128;

}  // namespace isomer
