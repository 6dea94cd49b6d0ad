// What sessions of other processes run: read from the files that they keep up to date.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loom/session/composition.hpp"

namespace loom::session {

struct Status {
    int process = 0;
    bool opener = false;
    std::string peer, text, reason;  // the composition in words, and why it became so
    std::uint32_t epoch = 0;
    Counters counters;
    bool alive = false;  // its process is still there
};

// All in the folder (LOOM_SESSION_STATUS), by process. Files that are none are passed over.
[[nodiscard]] std::vector<Status> read_statuses(const std::filesystem::path& folder);

}  // namespace loom::session
