// A file that says what a session runs, for whoever watches.
#pragma once

#include <filesystem>
#include <string>

#include "loom/session/composition.hpp"

namespace loom::session {

// Written whole at each change, and gone when the session is.
class StatusFile {
public:
    StatusFile(const std::string& folder, std::string peer, bool opener);
    ~StatusFile();
    StatusFile(const StatusFile&) = delete;
    StatusFile& operator=(const StatusFile&) = delete;

    // Does not throw: a full disk must not end a session.
    void write(const Composition& composition, const Counters& counters, const std::string& reason);

private:
    std::filesystem::path path_;
    std::string peer_;
    bool opener_;
};

}  // namespace loom::session
