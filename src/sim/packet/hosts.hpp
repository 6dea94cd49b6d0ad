// What host adapters do: cut messages into packets, send them in turn and no faster than congestion control allows,
// acknowledge what arrives.
#pragma once

#include <vector>

#include "loom/base/random.hpp"
#include "sim/executor.hpp"
#include "sim/packet/links.hpp"

namespace loom::sim::packet {

class Hosts {
public:
    using OpIndex = traffic::OpIndex;

    Hosts(const Plant& plant, Ports& ports, Links& links, Executor& executor, const Options& options);

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
        friend bool operator<(const Throttled& a, const Throttled& b) {
            return a.allowed != b.allowed ? a.allowed > b.allowed
                                          : a.flow > b.flow;  // for a heap with the earliest in front
        }
    };
    struct Index {
        std::uint8_t value = 0;
        std::uint8_t sl = 0;     // of the notification that set it
        std::int64_t ticks = 0;  // of the timer when `value` was right
    };
    // What the executor calls back.
    struct Callbacks {
        Hosts& hosts;
        Worker& worker;
        Endpoint endpoint;
        void begin_send(Rank rank, OpIndex send, Time now);
        void wake_at(Rank rank, OpIndex op, Time at);
    };

    void post(Worker& worker, Endpoint endpoint, OpIndex op, std::int64_t now);
    void receive(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now);
    void message_complete(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now);
    void deliver_locally(Worker& worker, Endpoint endpoint, OpIndex op, FlowIndex flow, std::int64_t now);
    void answer(Worker& worker, Endpoint endpoint, const Packet& to, Packet::Kind kind, std::uint8_t flags,
                std::int64_t now);
    void throttle(Endpoint endpoint, FlowIndex flow, OpIndex op, std::int64_t now);

    // Behind the others of its lane, or among the throttled: then they join the lane when their time has come and the
    // port is free.
    void list(Endpoint endpoint, FlowIndex flow, std::int64_t now);
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
    [[nodiscard]] std::size_t index_of(FlowIndex flow, Endpoint endpoint, std::uint8_t sl) const;

    const Plant& plant_;
    Ports& ports_;
    Links& links_;
    Executor& executor_;
    LocalCosts costs_;
    const CongestionControl& control_;
    bool throttling_;
    std::vector<QueuePair> pairs_;                   // by flow
    std::vector<std::uint32_t> flow_from_;           // rank, by flow
    std::vector<OpIndex> next_message_;              // by operation
    std::vector<HostLane> lanes_;                    // by endpoint x lane
    std::vector<std::vector<Throttled>> throttled_;  // by endpoint, a heap
    std::vector<Random> jitter_;                     // by endpoint
    std::vector<Index> indices_;                     // by flow, or by endpoint x service level
    std::vector<std::uint8_t> owes_becn_;            // by flow; with Notify::ack
    std::vector<std::uint32_t> arrived_;  // packets of a message, by operation; where they may overtake each other
    std::vector<Notified> notified_;      // by endpoint
};

}  // namespace loom::sim::packet
