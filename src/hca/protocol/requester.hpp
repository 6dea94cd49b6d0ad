// The sending half of queue pairs: turns work requests into packets or direct copies, and answers into completions.
// The send queues are in the queue pairs; here is only which of those have a timer running.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <vector>

#include "hca/objects/objects.hpp"
#include "hca/protocol/packet.hpp"
#include "hca/wire/path.hpp"

namespace loom::hca {

class Requester {
public:
    explicit Requester(Engine& engine) : engine_(engine) {}

    void run(Qp& qp);  // sends what the send queue holds, as far as it goes
    // An unsignalled write inside the host bypasses the send queue when it is empty: that saves a cache miss. False: it
    // is not done, and has to go through the send queue.
    bool write_at_once(Qp& qp, const ibv_send_wr& request);
    void make_packet(Qp& qp, const SendWqe& wqe, std::uint32_t index, Packet& packet) const;

    // --- answers.cpp
    void on_answer(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload);
    void acknowledge_until(Qp& qp, Psn psn);
    void fail(Qp& qp, ibv_wc_status status);  // the oldest request failed: error state and flush
    void flush(Qp& qp);
    void look_if_drained(Qp& qp);
    [[nodiscard]] std::uint64_t far_bytes_acknowledged() const { return far_bytes_acknowledged_; }

    // --- timers.cpp
    void timed_out(Qp& qp, std::uint64_t now);
    void run_timers(std::uint64_t now);
    void look_at_timers();                              // now and then
    [[nodiscard]] std::uint64_t next_deadline() const;  // ns; 0: none
    [[nodiscard]] const std::vector<Qp*>& timed() const { return timed_; }
    void restart_timer(Qp& qp);  // if it runs
    // Sends the last packet again with a request for an acknowledgement, if no packet under way has requested one.
    // False: nothing was sent.
    bool ask_if_nobody_did(Qp& qp);
    void give_up(Qp& qp);  // on a peer that has left: its requests fail after as long as repeating them would take
    static bool waited_enough(Qp& qp);
    void forget(Qp& qp);

private:
    enum class Lost : std::uint8_t { perhaps, no };

    bool send_short(Qp& qp, SendWqe& wqe, std::uint32_t at);  // short sends inside the host; writes never
    bool begin(Qp& qp, SendWqe& wqe, std::uint32_t at);       // true: packets are to be sent
    void refuse(Qp& qp, ibv_wc_status status);
    bool can_reach(Qp& qp);
    ibv_wc_status translate(Qp& qp, SendWqe& wqe, ibv_sge* sges);
    bool copy(Qp& qp, SendWqe& wqe, std::uint32_t at);  // inside the host; true: packets are to be sent
    bool send_packets(Qp& qp, SendWqe& wqe, std::uint32_t at);
    bool send_questions(Qp& qp, SendWqe& wqe);
    bool send_references(Qp& qp, SendWqe& wqe, std::span<const ibv_sge> sges);
    bool send_message(Qp& qp, SendWqe& wqe, const Path& path, std::span<const ibv_sge> sges);
    // --- answers.cpp
    // Answers. True: the queue pair can go on.
    bool take_acknowledgement(Qp& qp, const Packet& packet);
    bool take_data(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload);
    bool take_part(Qp& qp, SendWqe& wqe, std::span<const ibv_sge> sges, const Packet& packet,
                   std::span<const std::uint8_t> payload);  // of a read
    void end_answer(Qp& qp, SendWqe& wqe, Psn psn);
    void resend(Qp& qp, Psn psn, Lost lost = Lost::perhaps);
    // --- timers.cpp
    void start_timer(Qp& qp, std::uint64_t& field, std::uint64_t at);

    Engine& engine_;
    std::vector<Qp*> timed_;  // with a timer running
    std::uint32_t since_timers_ = 0;
    std::uint64_t far_bytes_acknowledged_ = 0;
};

}  // namespace loom::hca
