// The same for tests. See ISOMER_PRECOMPILE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precompiled.h"
