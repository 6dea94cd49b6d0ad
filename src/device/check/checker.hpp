// Finds accesses to the devices' memory that nothing orders: by vector clocks over puts, notifications and barriers.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "device/check/clocks.hpp"
#include "device/check/shadow.hpp"
#include "loom/device/block.hpp"
#include "loom/device/error.hpp"

namespace loom::device {

// Of all devices of a process, whose blocks and hosts take turns in one thread.
//
// What is ordered: what a rank does, one after another; a put and a notification that the same rank sent to the same
// rank behind it; a notification and who used it up (of several alike the oldest first); a barrier. A remote put reads
// its buffer and writes its target at any time between the call and a flush, or a notification behind it.
class Checker final : public Observer {
public:
    struct Words {
        // "byte 24 of rank 1 in window 0", of a byte of a device's memory.
        std::function<std::string(std::uint32_t device, std::uint64_t offset)> where;
    };
    // Throws UsageError for more than 64 ranks.
    Checker(std::vector<std::uint32_t> starts, std::vector<std::span<const std::byte>> memories, Words words,
            std::function<void(Race)> found);

    void access(std::uint32_t rank, const void* memory, std::uint64_t bytes, bool write, const Place& at) override;
    void local_put(std::uint32_t rank, std::uint32_t target, const void* to, const void* from, std::uint64_t bytes,
                   const Place& at) override;
    void remote_put(std::uint32_t rank, std::uint32_t target, std::int32_t window, std::uint64_t offset,
                    const void* from, std::uint64_t bytes, const Place& at) override;
    void local_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) override;
    void remote_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) override;
    void consumed(std::uint32_t rank, std::uint32_t tag, std::uint32_t count) override;
    void barrier_entered(std::uint32_t rank, std::int32_t communicator) override;
    void barrier_left(std::uint32_t rank, std::int32_t communicator) override;
    void flushed(std::uint32_t rank, std::int32_t window) override;
    void issued(std::uint32_t rank, std::uint32_t from, std::uint32_t to) override;
    void arrived(std::uint32_t from, std::uint32_t to) override;

private:
    enum class Kind : std::uint8_t { read, write, put_read, put_write };
    struct Site {
        Kind kind;
        std::uint32_t rank, target;
        std::uint64_t bytes;
        const char* file;
        int line;
        Function function;
        auto operator<=>(const Site&) const = default;
    };
    struct Sent {
        VectorClock clock;
        std::uint32_t target, tag;
    };
    struct Barrier {
        VectorClock clock;
        std::uint32_t left = 0;
    };

    [[nodiscard]] std::uint32_t way(std::uint32_t source, std::uint32_t target) const {
        return ranks_ + source * ranks_ + target;
    }
    [[nodiscard]] std::uint32_t device_of(std::uint32_t rank) const;
    [[nodiscard]] std::uint32_t site(const Site& site);
    [[nodiscard]] Race::Access in_words(const Site& site) const;
    void touch(std::uint32_t device, std::uint64_t offset, std::uint64_t bytes, Touch touch, const VectorClock& seen);
    // Of memory of the rank's own device.
    void touch_own(const void* memory, std::uint64_t bytes, const Touch& how, const VectorClock& seen);
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> barrier_of(std::uint32_t rank, std::int32_t communicator);

    std::vector<std::uint32_t> starts_;
    std::vector<std::span<const std::byte>> memories_;
    Words words_;
    std::function<void(Race)> found_;
    bool done_ = false;
    std::uint32_t ranks_;
    std::vector<VectorClock> clocks_;                                                            // by rank
    std::vector<std::uint32_t> puts_;                                                            // remote, of each way
    std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, std::uint32_t> last_puts_;  // rank, window, target
    std::vector<std::deque<Sent>> called_;                                                       // by rank, not issued
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Sent>> under_way_;              // by devices
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<VectorClock>> there_;           // by rank and tag
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> generations_;               // by barrier and rank
    std::map<std::pair<std::uint32_t, std::uint32_t>, Barrier> barriers_;  // by barrier and generation
    Shadow shadow_;
    std::map<Site, std::uint32_t> numbers_;
    std::vector<Site> sites_;
};

}  // namespace loom::device
