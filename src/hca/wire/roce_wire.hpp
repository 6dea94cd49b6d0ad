// The wire between hosts: RoCEv2 packets on UDP, with a window and a rate for each queue pair. Has the sockets, one for
// each address of an HCA, and the list of queue pairs that wait for their time or for room.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hca/device/config.hpp"
#include "hca/objects/objects.hpp"
#include "hca/roce/rate.hpp"
#include "hca/roce/socket.hpp"
#include "hca/roce/window.hpp"
#include "hca/wire/path.hpp"
#include "hca/wire/wire.hpp"

namespace loom::hca {

// What a queue pair that talks RoCE keeps besides (Qp::flow).
struct RoceFlow {
    roce::RateControl rate;
    roce::Window window;
    static constexpr std::uint64_t first_probe_ns = 4'000'000;
    std::uint64_t probe_ns = first_probe_ns;  // until a packet without an answer is sent again
    std::uint64_t gap_ns = 0;                 // the longest wait for an answer of late, which slowly fades
    bool probed = false;                      // something was sent again: answers to that tell nothing about waits
    Psn probed_psn;                           // the first such packet
    std::uint64_t moved_at = 0;               // when something was acknowledged last, or an answer asked for first
    bool heard = false;                       // of the peer, since the timer was last started
    std::uint32_t deferred = 0;               // times that it was started again for that
    bool asked = false;                       // an answer is on its way, to all before asked_end
    Psn asked_end;
    bool stalled = false;  // listed: waits for its time or for room in the socket
    std::uint64_t ready_at = 0;
    std::uint64_t wakes_at = 0;  // the same for whoever sleeps, and hears of room
};

class RoceWire final : public Wire, public roce::Sink {
public:
    using Wire::Put;

    explicit RoceWire(Engine& engine) : Wire(engine, true) {}

    // Whether the address belongs to this host, in this network namespace.
    static bool is_local(const Gid& gid);

    // The endpoint of the HCA's address is there, or is made. False: the address or port cannot be had.
    bool open(const HcaConfig& hca);
    // Why the last open() was refused, on standard error, once: to the program it is a peer that does not answer.
    void tell_refusal();
    bool join(const HcaConfig& hca, const Gid& group);
    [[nodiscard]] bool has(const HcaConfig& hca) const;

    [[nodiscard]] Way counted_as(Way) const override { return Way::roce; }
    [[nodiscard]] std::uint32_t read_chunk() const override { return 128 * 1024; }
    [[nodiscard]] std::uint32_t read_window() const override { return 512 * 1024; }
    Put put(Qp& qp, const Path& path, const Packet& packet, const Load& load) override;
    std::uint32_t send_run(Qp& qp, const SendWqe& wqe, std::span<const ibv_sge> sges) override;
    std::uint32_t send_response(Qp& qp, const Answer& due, const std::uint8_t* memory) override;
    std::uint32_t allowance(Qp& qp) override;
    void progressed(Qp& qp, std::uint32_t packets) override;
    bool asks(Qp& qp, const SendWqe& wqe) override;
    bool unasked(Qp& qp) override;
    bool awaits_answer(Qp& qp) override { return flow(qp).asked; }
    void lost(Qp& qp) override;
    void await_room(const Qp& qp, int most_ms) override;
    std::uint64_t retry_time(Qp& qp) override;
    Overdue overdue(Qp& qp, std::uint64_t now) override;

    void forget(Qp& qp);
    RoceFlow& flow(Qp& qp);

    void listen(bool on);              // whether packets wake whoever serves
    void has_room(std::uint32_t hca);  // its socket, which was full
    [[nodiscard]] bool active() const { return !endpoints_.empty(); }
    // Packets that came. may_skip: whoever looks again and again need not each time.
    std::size_t poll(bool may_skip = false);
    void drain();                                       // takes all that came, within reason
    [[nodiscard]] std::uint64_t next_deadline() const;  // ns; 0: none
    void close_descriptors();
    // A message of another process that received datagrams for us. False: it is none.
    bool accept_forwarded(std::span<const std::uint8_t> message);

private:
    struct Place {
        const HcaConfig* hca;
        roce::Endpoint endpoint;
        std::vector<int> descriptors;
        bool full = false;  // the socket refused something, and we hear of it when there is room
    };
    Place* place(const HcaConfig& hca);
    void stall(Qp& qp, std::uint64_t until, std::uint64_t wakes_at);
    void wait_for_room(Place& at, Qp& qp);
    void hear(const Place& at);
    void note_asked(Qp& qp, Psn end, std::uint64_t now);  // by the packet before `end`
    void lost_by_fault(Qp& qp, const Packet& packet) override;
    void arrived(const roce::Arrival& arrival) override;
    void foreign(std::uint32_t slot, const roce::Datagrams& datagrams) override;

    std::vector<std::unique_ptr<Place>> endpoints_;
    Place* receiving_ = nullptr;
    bool listening_ = true;
    std::uint64_t found_nothing_at_ = 0;  // ns
    std::vector<Qp*> stalled_;
    std::size_t turn_ = 0;
    roce::NotificationPacer notifications_;
    std::string refusal_;
    bool told_ = false;
};

}  // namespace loom::hca
