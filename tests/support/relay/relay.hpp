// The bad wire: joins two interfaces over packet sockets and treats what passes as Faults say. One thread, a few
// hundred thousand frames a second. Offloads of the interfaces (and of those they are cabled to) must be off. Needs
// CAP_NET_RAW.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "support/relay/faults.hpp"

namespace loom::test {

struct RelayCounters {
    std::uint64_t arrived = 0;
    std::uint64_t arrived_bytes = 0;
    std::uint64_t lost = 0;        // by dice
    std::uint64_t overflowed = 0;  // no room while waiting for the rate
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;  // the kernel would not send: too long, or the interface is gone
    std::uint64_t missed = 0;   // the kernel dropped before we could read: the relay was too slow
};

struct RelayReport {
    RelayCounters left_to_right;
    RelayCounters right_to_left;
};

class Relay {
public:
    // Both interfaces are in the calling thread's namespace; the sockets stay there. Throws Error.
    Relay(const std::string& left, const std::string& right, const Faults& faults);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    // Frames read so far from either side; a sender that does not run far ahead of it loses none to full queues of the
    // kernel.
    [[nodiscard]] std::uint64_t arrived() const;

    // Ends relaying; what has arrived is sent first when it is due within a second. The counters are final.
    RelayReport stop();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

// One JSON object with both directions.
[[nodiscard]] std::string to_json(const RelayReport& report);

}  // namespace loom::test
