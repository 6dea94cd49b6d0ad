#include "twin/memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "loom/base/error.hpp"

namespace loom::twin {

namespace {

using Move = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

void move(Move how, pid_t process, std::byte* here, const std::byte* there, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const iovec local{here + done, bytes - done};
        const iovec remote{const_cast<std::byte*>(there) + done, bytes - done};
        const ssize_t moved = how(process, &local, 1, &remote, 1, 0);
        if (moved <= 0)
            throw Error("cannot reach " + std::to_string(bytes) + " bytes of process " + std::to_string(process) +
                        ": " + (moved < 0 ? std::strerror(errno) : "no such memory"));
        done += static_cast<std::size_t>(moved);
    }
}

}  // namespace

void Memory::read(const std::byte* from, std::span<std::byte> into) const {
    if (into.empty()) return;
    if (process_ == 0)
        std::memcpy(into.data(), from, into.size());
    else
        move(process_vm_readv, process_, into.data(), from, into.size());
}

void Memory::write(std::byte* to, std::span<const std::byte> data) const {
    if (data.empty()) return;
    if (process_ == 0)
        std::memcpy(to, data.data(), data.size());
    else
        move(process_vm_writev, process_, const_cast<std::byte*>(data.data()), to, data.size());
}

void copy(const Memory& source, const std::byte* from, const Memory& target, std::byte* to, std::uint64_t bytes) {
    constexpr std::uint64_t at_once = 1 << 20;
    static thread_local std::vector<std::byte> buffer;
    buffer.resize(std::max<std::size_t>(buffer.size(), std::min(bytes, at_once)));
    for (std::uint64_t done = 0; done < bytes; done += at_once) {
        const std::span part(buffer.data(), std::min(at_once, bytes - done));
        source.read(from + done, part);
        target.write(to + done, part);
    }
}

}  // namespace loom::twin
