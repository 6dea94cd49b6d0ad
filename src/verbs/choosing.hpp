// What adapter() decides, apart from where it looks.
#pragma once

#include <string>

#include "loom/verbs/functions.hpp"

namespace loom::verbs {

// `how` is a value of LOOM_HCA, `system_library` what counts as the system's. Throws as adapter() does.
[[nodiscard]] Adapter choose_adapter(const std::string& how, const std::string& system_library);

}  // namespace loom::verbs
