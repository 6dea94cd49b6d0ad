// The physical layer over UDP: segments leave in batches, cut by the kernel or the adapter where it can (GSO), and come
// in batches (GRO).
#pragma once

#include <deque>

#include "loom/base/descriptor.hpp"
#include "loom/session/physical.hpp"
#include "session/control/socket.hpp"
#include "session/stack/mail.hpp"

namespace loom::session {

class Ethernet final : public Physical {
public:
    // A socket at this address, at a port of its own. Throws IoError.
    explicit Ethernet(SocketAddress own);
    // Only the peer's datagrams come in from now on.
    void connect(const SocketAddress& peer, std::size_t segment_bytes);

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] int number() const { return socket_.number(); }
    [[nodiscard]] bool wants_to_write() const { return blocked_; }

    [[nodiscard]] std::span<std::byte> block() override;
    void push(std::size_t bytes) override;
    void flush() override;
    [[nodiscard]] std::span<std::byte> pop() override;
    [[nodiscard]] const std::string& failure() const override { return failure_; }

private:
    static constexpr std::size_t blocks = 64;    // of a batch
    static constexpr std::size_t datagrams = 8;  // read at once, each of up to 64 KiB of segments
    static constexpr std::size_t most_at_once = 65'000;

    [[nodiscard]] std::size_t send_run(std::size_t first, std::size_t count);
    void fill();

    Descriptor socket_;
    std::size_t segment_bytes_ = 0;
    Bytes out_;                        // blocks one behind another
    std::deque<std::size_t> lengths_;  // of those that wait to leave
    std::size_t first_ = 0;            // the block of the first of these
    bool gso_ = true, blocked_ = false;

    struct Datagram {
        std::size_t at = 0, end = 0, piece = 0;
    };
    Bytes in_;
    std::deque<Datagram> arrived_;
    std::string failure_;
};

}  // namespace loom::session
