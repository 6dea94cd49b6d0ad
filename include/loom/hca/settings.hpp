// A check of the software HCA's settings, for command lines. The settings are those of loom/base/settings.hpp whose
// room is hca; libloom-verbs.so reads them when a program first asks for devices.
#pragma once

namespace loom::hca {

// Throws loom::UsageError when a variable of the environment has a value that the library would refuse.
void check_environment();

}  // namespace loom::hca
