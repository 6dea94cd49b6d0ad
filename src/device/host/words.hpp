// Calls, faults and places for people.
#pragma once

#include <string>

#include "loom/device/block.hpp"

namespace loom::device {

struct Asked;

[[nodiscard]] const char* name_of(Function function);  // "dcuda_put"
[[nodiscard]] std::string in_words(const Asked& call);
[[nodiscard]] std::string in_words(const Place& place);  // "halo.cpp:31", empty where it is not known
// Why the call was refused; `entry` and `numbers` are the two entries of the command. `window` says what the window is.
[[nodiscard]] std::string fault_in_words(const Entry& entry, const Entry& numbers, const std::string& window);

}  // namespace loom::device
