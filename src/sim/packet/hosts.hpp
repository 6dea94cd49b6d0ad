// What host adapters do: cut messages into packets, send them in turn and no faster than congestion control allows,
// acknowledge what arrives.
#pragma once

#include <vector>

#include "loom/base/random.hpp"
#include "sim/packet/links.hpp"
#include "sim/program.hpp"

namespace loom::sim::packet {

template <class Program>
class Hosts {
public:
    Hosts(const Plant& plant, Ports& ports, Links& links, Program& program, const Options& options);

    void handle(Worker& worker, Endpoint endpoint, const Event& event, std::int64_t now);

    struct Notified {
        std::uint64_t fecn = 0;
        std::uint64_t becn = 0;
    };
    [[nodiscard]] const Notified& notified(Endpoint endpoint) const { return notified_[endpoint]; }
    // The index that throttles a flow's messages of a service level at `now`; for reports and tests.
    [[nodiscard]] unsigned throttle_index(FlowIndex flow, std::uint8_t sl, std::int64_t now) const;

private:
    // All messages of one rank to another, in order.
    struct QueuePair {
        std::uint64_t left = 0;    // bytes of the first message that are not sent
        std::int64_t allowed = 0;  // when congestion control lets the next packet go; inside a host: copies are done
        OpIndex first = no_index;  // messages waiting, linked by next_message_
        OpIndex last = no_index;
        FlowIndex next = no_index;  // behind it in the lane's list of those that may send
        std::uint16_t dlid = 0;
        std::uint16_t slid = 0;
        std::uint8_t lane = 0;
        bool listed = false;  // in a list, or throttled
    };
    // What a reliable queue pair keeps account of; only with PacketOptions::retries. What the sender knows of its
    // messages: those from `oldest` on, linked by next_message_, are not acknowledged.
    struct Sending {
        OpIndex oldest = no_index;
        std::uint32_t posted = 0;
        std::uint8_t epoch = 0;    // times that it has gone back, modulo 8
        std::uint8_t retries = 0;  // in a row
        bool over = false;         // so often in vain that it does not try again
    };
    // And the receiver: messages have come up to number `expected`, and in this epoch all in order up to `next`.
    struct Receiving {
        std::uint64_t got = 0;  // bytes of message number `next`
        std::uint32_t expected = 0;
        std::uint32_t next = 0;
        std::uint8_t epoch = 0;
        bool begun = false;
        bool broken = false;  // something is missing: nothing more counts in this epoch
    };
    struct HostLane {
        FlowIndex first = no_index;  // queue pairs that may send, in turn
        FlowIndex last = no_index;
        std::vector<Packet> control;  // acknowledgements and notifications go first
        std::size_t control_at = 0;
        [[nodiscard]] bool has_control() const { return control_at < control.size(); }
        [[nodiscard]] bool empty() const { return first == no_index && !has_control(); }
    };
    struct Throttled {
        std::int64_t allowed;
        FlowIndex flow;
    };
    struct Index {
        std::uint8_t value = 0;
        std::uint8_t sl = 0;     // of the notification that set it
        std::int64_t ticks = 0;  // of the timer when `value` was right
    };
    // What the program calls back.
    struct Callbacks {
        Hosts& hosts;
        Worker& worker;
        Endpoint endpoint;
        void prepare(FlowIndex flow) { hosts.prepare(flow); }
        void begin_send(Rank rank, OpIndex send, Time now);
        void wake_at(Rank rank, OpIndex op, Time at);
    };

    // The first message of a pair is about to be sent, and live programs need room for it. Throws Error where the
    // tables do not connect the two.
    void prepare(FlowIndex flow);
    void find_addresses(FlowIndex flow);

    void post(Worker& worker, Endpoint endpoint, OpIndex op, std::int64_t now);
    void enqueue(FlowIndex flow, OpIndex op);
    void go_back(Worker& worker, Endpoint endpoint, const Packet& lost, std::int64_t now);
    [[nodiscard]] bool is_next_ack(Worker& worker, const Packet& packet, std::int64_t now);
    // Whether a data packet counts; acknowledges what has come a second time.
    [[nodiscard]] bool is_in_order(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now);
    void begin_epoch(Worker& worker, const Packet& packet, std::int64_t now);
    void receive(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now);
    void message_complete(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now);
    void deliver_locally(Worker& worker, Endpoint endpoint, OpIndex op, std::int64_t now);
    void answer(Worker& worker, Endpoint endpoint, const Packet& to, Packet::Kind kind, std::uint8_t flags,
                std::int64_t now);
    void throttle(Endpoint endpoint, FlowIndex flow, OpIndex op, std::int64_t now);

    // Behind the others of its lane, or among the throttled: then they join the lane when their time has come and the
    // port is free.
    void list(Endpoint endpoint, FlowIndex flow, std::int64_t now);
    [[nodiscard]] auto later() const {  // for a heap with the earliest in front
        return [this](const Throttled& a, const Throttled& b) {
            return a.allowed != b.allowed ? a.allowed > b.allowed : program_.flow_before(b.flow, a.flow);
        };
    }
    void wake_when_free(Worker& worker, Endpoint endpoint);
    void try_send(Worker& worker, Endpoint endpoint, std::int64_t now);
    [[nodiscard]] Packet next_packet(Endpoint endpoint, unsigned lane) const;
    void take_packet(Endpoint endpoint, unsigned lane, const Packet& packet, std::int64_t now);

    [[nodiscard]] HostLane& lane(Endpoint endpoint, unsigned v) {
        return lanes_[std::size_t{endpoint} * ports_.lanes + v];
    }
    [[nodiscard]] const HostLane& lane(Endpoint endpoint, unsigned v) const {
        return lanes_[std::size_t{endpoint} * ports_.lanes + v];
    }
    [[nodiscard]] std::int64_t timer_ticks(Endpoint endpoint, const HostControl& control, std::int64_t now) const;
    [[nodiscard]] unsigned index_now(const Index& index, Endpoint endpoint, std::uint8_t sl, std::int64_t now) const;
    [[nodiscard]] Index& index_of(FlowIndex flow, Endpoint endpoint, std::uint8_t sl) {
        return by_pair_ ? pair_indices_[flow] : level_indices_[std::size_t{endpoint} * service_levels + sl];
    }
    [[nodiscard]] const Index& index_of(FlowIndex flow, Endpoint endpoint, std::uint8_t sl) const {
        return by_pair_ ? pair_indices_[flow] : level_indices_[std::size_t{endpoint} * service_levels + sl];
    }

    const Plant& plant_;
    Ports& ports_;
    Links& links_;
    Program& program_;
    LocalCosts costs_;
    const CongestionControl& control_;
    bool throttling_;
    bool by_pair_;  // an index for each queue pair, not for each service level
    typename Program::template PerFlow<QueuePair> pairs_;
    typename Program::template PerOp<OpIndex> next_message_;
    std::vector<HostLane> lanes_;                                 // by endpoint x lane
    std::vector<std::vector<Throttled>> throttled_;               // by endpoint, a heap
    std::vector<Random> jitter_;                                  // by endpoint
    typename Program::template PerFlow<Index> pair_indices_;      // one of the two, where there is throttling
    std::vector<Index> level_indices_;                            // by endpoint x service level
    typename Program::template PerFlow<std::uint8_t> owes_becn_;  // with Notify::ack
    typename Program::template PerOp<std::uint32_t> arrived_;     // packets, where they may overtake each other
    std::vector<Notified> notified_;                              // by endpoint
    bool reliable_;
    typename Program::template PerFlow<Sending> sending_;  // these only if it is
    typename Program::template PerFlow<Receiving> receiving_;
    typename Program::template PerOp<std::uint32_t> sequence_;  // number of a message among those of its pair
};

}  // namespace loom::sim::packet
