// The receiving half of queue pairs: checks what arrives, puts it where it belongs, and owes answers.
// What is owed stands in the queue pairs; here is which of those owe something.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hca/objects/objects.hpp"
#include "hca/protocol/arrival.hpp"

namespace loom::hca {

enum class Acks : std::uint8_t { now, may_wait };

class Responder {
public:
    explicit Responder(Engine& engine) : engine_(engine) {}

    void on_packet(const Arrival& arrival);  // of either half

    // --- datagram.cpp
    void on_datagram(Qp& qp, const Arrival& arrival);

    // --- answering.cpp
    void owe(Qp& qp);        // notes that an acknowledgement or an answer is due
    void answer(Qp& qp);     // sends acknowledgements and answers that are due
    void settle(Acks acks);  // the same for all that owe some
    void settle_up(Qp& qp);  // the queue pair ends: on RoCE, acknowledges what has come, asked for or not
    [[nodiscard]] bool owes() const { return !owing_.empty(); }
    // The acknowledgement that is due, to be sent together with a packet of ours. False: none is due, or answers go
    // first.
    bool ride(Qp& qp, Packet& packet) const;
    void rode(Qp& qp);  // it was sent
    void flush(Qp& qp);
    void end(Qp& qp);  // nothing more is received
    void forget(Qp& qp);

    // Of messages from other hosts, for whoever judges when to look next.
    [[nodiscard]] std::uint64_t far_bytes() const { return far_bytes_; }
    [[nodiscard]] std::uint64_t least_missing_of_writes();  // bytes; 0: none is in the middle

private:
    void on_request(Qp& qp, const Arrival& arrival);
    // Steps of a request, in this order. False: it ends here, and what is to be answered is noted.
    bool goes_on(Qp& qp, const Packet& packet);
    bool begin_message(Qp& qp, const Arrival& arrival);
    bool begin_receive(Qp& qp, const Packet& packet);
    bool take_written(Qp& qp, const Arrival& arrival, std::uint32_t carried);
    bool take_sent(Qp& qp, const Arrival& arrival, std::uint32_t carried);
    void count(const Qp& qp, const Arrival& arrival, std::uint32_t carried);
    void end_message(Qp& qp, const Arrival& arrival);
    // Its bad ends.
    void not_ready(Qp& qp, const Packet& packet);
    void reject(Qp& qp, const Packet& packet, Nak code, ibv_event_type event);
    void fail_receive(Qp& qp, const Packet& packet, ibv_wc_status status, Nak code, ibv_event_type event);
    void serve_read_or_atomic(Qp& qp, const Packet& packet);
    void repeat(Qp& qp, const Packet& packet);
    // --- answering.cpp
    bool answer_read(Qp& qp, Answer& due, Packet& packet);
    void make_acknowledgement(const Qp& qp, Packet& packet) const;
    void owe_nak(Qp& qp, Psn psn, std::uint8_t syndrome);
    void refuse(Qp& qp, Psn psn, Nak code, ibv_event_type event);

    Engine& engine_;
    std::vector<Qp*> owing_;  // acknowledgements or answers to send
    std::uint64_t far_bytes_ = 0;
    std::vector<QpNumber> far_writes_;  // queue pairs in the middle of a write, or just after
};

}  // namespace loom::hca
