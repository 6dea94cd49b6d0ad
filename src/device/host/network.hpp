// The network manager of a device's host: what 002 has twice, over verbs and over MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/device/options.hpp"

namespace loom::window {
class World;
}

namespace loom::device {

struct Arrival {
    std::uint32_t from = 0;  // a process
    std::uint32_t value = 0;
};

// A process is what serves one device. One thread at a time is inside. Puts and notifications to the same process
// arrive in the order in which they were started.
class Network {
public:
    virtual ~Network() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual std::uint32_t process() const = 0;
    [[nodiscard]] virtual std::uint32_t processes() const = 0;
    [[nodiscard]] virtual std::uint32_t node_of(std::uint32_t process) const = 0;

    // What others write into: this device's memory. Once, before all else.
    [[nodiscard]] virtual std::span<std::byte> allocate(std::uint64_t bytes) = 0;

    // Starts. `data` stays unchanged until `cookie` comes out of next_completion(): everything is there then.
    virtual void put(std::uint32_t to, std::uint64_t offset, std::span<const std::byte> data,
                     std::optional<std::uint32_t> value, std::uint64_t cookie) = 0;
    virtual void notify(std::uint32_t to, std::uint32_t value) = 0;
    [[nodiscard]] virtual std::optional<std::uint64_t> next_completion() = 0;
    [[nodiscard]] virtual std::optional<Arrival> next_notification() = 0;

    // Hosts among themselves: gives `mine` to all, one exchange after another; all parts by process once they are here.
    virtual void exchange(std::span<const std::byte> mine) = 0;
    [[nodiscard]] virtual std::optional<std::vector<std::vector<std::byte>>> exchanged() = 0;

    // True when anything moved.
    virtual bool progress() = 0;
    [[nodiscard]] virtual bool idle() const = 0;  // nothing that was started here is unfinished
    // Nothing moves by itself: what progress() of all devices of this process did not move never will.
    [[nodiscard]] virtual bool is_closed() const { return false; }
    // Between two fruitless looks. Of a thread that has nothing else to do: may sleep so long; not inside.
    virtual void pause() = 0;
    virtual void sleep(Time most) = 0;
    virtual void interrupt() {}  // from any thread
    virtual void set_events(bool /*on*/) {}
};

// Devices of one process among themselves.
class PeerHub;
[[nodiscard]] std::shared_ptr<PeerHub> make_hub(std::uint32_t devices);
[[nodiscard]] std::unique_ptr<Network> open_peer(std::shared_ptr<PeerHub> hub, std::uint32_t process);
// One device a rank of the world; verbs or mpi. Parts of exchanges have at most `most_exchanged` bytes. Collective.
[[nodiscard]] std::unique_ptr<Network> open_window(window::World& world, Manager manager, std::uint64_t most_exchanged);

}  // namespace loom::device
