// A process that outlives the launcher by a moment: when the launcher is killed it kills what the ranks have started.
// (The ranks themselves die of PR_SET_PDEATHSIG, their children would not.)
#pragma once

#include <sys/types.h>

#include "loom/base/descriptor.hpp"

namespace loom::transport::launching {

class Guard {
public:
    Guard();  // throws IoError
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    void watch(pid_t group);
    void forget(pid_t group);
    [[nodiscard]] int descriptor() const { return ours_.number(); }

private:
    void tell(pid_t group) const;

    Descriptor ours_;
    pid_t pid_ = -1;
};

}  // namespace loom::transport::launching
