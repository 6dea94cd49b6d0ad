// Where a rank's data lies: in this process, or in the one that the rank is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace loom::twin {

class Memory {
public:
    // 0: this process.
    void set_process(pid_t process) { process_ = process; }
    [[nodiscard]] pid_t process() const { return process_; }

    // Throw Error when the process is gone or has no such memory: an address comes from a program.
    void read(const std::byte* from, std::span<std::byte> into) const;
    void write(std::byte* to, std::span<const std::byte> data) const;

private:
    pid_t process_ = 0;
};

// Through a buffer, unless both lie here.
void copy(const Memory& source, const std::byte* from, const Memory& target, std::byte* to, std::uint64_t bytes);

}  // namespace loom::twin
