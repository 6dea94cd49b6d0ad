// The flow level: a message is a stream of its bytes, at the rate that is fair on the links it crosses.
#include <algorithm>
#include <cassert>
#include <queue>

#include "loom/base/error.hpp"
#include "sim/engines.hpp"
#include "sim/executor.hpp"
#include "sim/fair_share.hpp"
#include "sim/indexed_heap.hpp"
#include "sim/live_program.hpp"
#include "sim/paths.hpp"

namespace loom::sim {
namespace {

// Links whose rate is unknown run at what Fabric::connect gives by default.
constexpr std::uint32_t usual_megabits = 32'000;

std::vector<Rate> capacities(const fabric::Fabric& fabric) {
    std::vector<Rate> result;
    result.reserve(fabric.port_count());
    for (const fabric::Port& port : fabric.all_ports()) {
        const std::uint32_t megabits = port.rate.megabits() == 0 ? usual_megabits : port.rate.megabits();
        result.push_back(Rate{megabits} * 1'000'000'000);
    }
    return result;
}

// A link has the number of the port that sends on it.
template <class Program>
class FlowSimulation : public Program::Interface {
public:
    FlowSimulation(const Network& network, const typename Program::Source& source, const Options& options)
        : network_(network),
          fabric_(&network.graph->fabric()),
          options_(options),
          program_(source, options.local),
          shares_(capacities(*fabric_)),
          packets_(fabric_->port_count()),
          next_send_(program_.per_op(OpIndex{no_index})),
          queues_(program_.template per_flow<Queue>()) {
        if constexpr (!Program::live) start();
    }

    using Program::Interface::work;
    [[nodiscard]] Level level() const override { return Level::flow; }
    [[nodiscard]] Time now() const override { return now_; }
    State advance(Time until) override;

    [[nodiscard]] std::vector<Flow> flows() const override;
    [[nodiscard]] std::vector<Time> rank_ends() const override { return program_.rank_ends(); }
    [[nodiscard]] fabric::PortCounters counters(PortIndex port) const override;
    [[nodiscard]] fabric::CongestionParameters* congestion_parameters() override { return nullptr; }
    [[nodiscard]] Simulation::Work work() const override { return work_; }
    [[nodiscard]] std::vector<std::string> trouble() const override {
        constexpr std::size_t most = 20;
        return state_ == State::stuck ? program_.open_operations(most) : std::vector<std::string>();
    }

    [[nodiscard]] Program& program() { return program_; }

    // What the program asks for.
    void prepare(FlowIndex flow) {
        if constexpr (Program::live) {
            if (failed_.empty())
                check_pair(network_, program_.flow_from(flow), program_.flow_to(flow), options_.flow.lids,
                           Answers::none);
            queues_.grow(flow);
        }
    }
    void begin_send(Rank rank, OpIndex send, Time now) {
        if constexpr (Program::live) next_send_.grow(send);
        later(now + options_.flow.host_delay, {Event::enters, rank, program_.peer(send), send, {}});
    }
    void wake_at(Rank rank, OpIndex op, Time at) { later(at, {Event::work, rank, rank, op, {}}); }
    // Also where nothing happened any more.
    void wake_between(Rank rank, OpIndex ticket, Time at) {
        wake_at(rank, ticket, at);
        state_ = State::running;
    }
    // As LiveSimulation.
    void fail_ports(std::span<const PortIndex> ports);
    void turn_to(const routing::Tables& tables);

private:
    struct Event {
        enum Kind : std::uint8_t {
            enters,        // a message is ready for the wire
            follows,       // the one before it has left
            copied,        // inside a host: its last byte has been copied
            arrives,       // its last byte is with the receiver
            acknowledged,  // and the sender knows
            work,          // local work is done
        };
        Kind kind;
        Rank from;
        Rank to;
        OpIndex op;
        Time way_back;  // of the acknowledgement
    };
    struct Queued {
        Time at;
        std::uint64_t number;  // events of one time happen in the order in which they were asked for
        Event event;
        friend bool operator<(const Queued& a, const Queued& b) {
            return a.at != b.at ? a.at > b.at : a.number > b.number;
        }
    };
    // A message under way, by its stream's number.
    struct Message {
        Rank from;
        OpIndex send = 0;
        Rate rate = 0;
        Time since;     // when `left` was counted
        Wide left = 0;  // Rate times picoseconds
    };

    // The sends of one rank to another go on the wire one after the other, as a queue pair's do.
    struct Queue {
        OpIndex head = no_index;  // on the wire
        OpIndex tail = no_index;
    };

    // A message that no way leads along any more.
    struct Stranded {
        Rank from;
        OpIndex send = 0;
        Wide left = 0;
    };

    [[nodiscard]] bool find_way(Rank from, OpIndex send);
    void enter(Rank from, OpIndex send, Wide left);
    void later(Time at, const Event& event) { events_.push({at, event_count_++, event}); }
    [[nodiscard]] Time next_time() const {
        Time next = events_.empty() ? never : events_.top().at;
        if (!ends_.empty()) next = std::min(next, ends_.top_time());
        return next;
    }
    void start() {
        for (std::uint32_t rank = 0; rank < program_.ranks(); ++rank) program_.start(Rank{rank}, now_, *this);
        started_ = true;
    }
    void handle(const Event& event);
    void line_up(Rank from, OpIndex send);
    void enter(Rank from, OpIndex send) {
        enter(from, send, Wide{parts_per_byte} * static_cast<Wide>(program_.amount(send)));
    }
    void next_in_line(Rank from, OpIndex send);
    void leave(Rank from, OpIndex send);
    void end(std::uint32_t stream);
    void solve();

    Network network_;
    const fabric::Fabric* fabric_;
    Options options_;
    Program program_;
    FairShare shares_;
    std::vector<std::uint64_t> packets_;                   // by link
    typename Program::template PerOp<OpIndex> next_send_;  // the send behind it in its queue
    typename Program::template PerFlow<Queue> queues_;
    std::priority_queue<Queued> events_;
    std::uint64_t event_count_ = 0;
    IndexedHeap ends_;  // of streams
    std::vector<Message> messages_;
    std::vector<std::uint8_t> failed_;  // by port, once one has
    std::vector<Stranded> stranded_;
    std::vector<PortIndex> path_;
    std::vector<FairShare::Link> links_;
    Simulation::Work work_;
    Time now_;
    bool started_ = false;
    State state_ = State::running;
};

// path_ holds the message's way.
template <class Program>
void FlowSimulation<Program>::leave(Rank from, OpIndex send) {
    const auto switches = static_cast<std::int64_t>(path_.size()) - 1;
    const Time way = options_.flow.cable_delay * static_cast<std::int64_t>(path_.size()) +
                     options_.flow.switch_delay * switches + options_.flow.host_delay;
    const std::uint32_t mtu = options_.packet.mtu;
    const std::uint64_t count = std::max<std::uint64_t>(1, (program_.amount(send) + mtu - 1) / mtu);
    for (const PortIndex port : path_) packets_[port.value] += count;
    later(now_ + way, {Event::arrives, from, program_.peer(send), send, way});
}

template <class Program>
void FlowSimulation<Program>::line_up(Rank from, OpIndex send) {
    Queue& queue = queues_[program_.flow(send)];
    if constexpr (Program::live) next_send_[send] = no_index;  // the number may have been another's
    if (queue.head == no_index) {
        queue.head = queue.tail = send;
        return enter(from, send);
    }
    next_send_[queue.tail] = send;
    queue.tail = send;
}

// The head of the line has left.
template <class Program>
void FlowSimulation<Program>::next_in_line(Rank from, OpIndex send) {
    Queue& queue = queues_[program_.flow(send)];
    queue.head = next_send_[send];
    if (queue.head != no_index) later(now_, {Event::follows, from, program_.peer(queue.head), queue.head, {}});
}

// Into path_. False: what failed is in the way, or tables that follow it lead nowhere.
template <class Program>
bool FlowSimulation<Program>::find_way(Rank rank, OpIndex send) {
    const PortIndex from = network_.placement.hosts[rank.value],
                    to = network_.placement.hosts[program_.peer(send).value];
    const Lid lid = destination_lid(fabric_->port(to), options_.flow.lids, rank, program_.peer(send));
    const bool arrives = walk(network_, from, to, lid, path_) == Walk::arrives;
    if (!failed_.empty())
        return arrives && std::none_of(path_.begin(), path_.end(), [&](PortIndex p) { return failed_[p.value] != 0; });
    if (!arrives) throw Error("the forwarding tables have changed");
    return true;
}

template <class Program>
void FlowSimulation<Program>::fail_ports(std::span<const PortIndex> ports) {
    failed_.resize(fabric_->port_count());
    for (const PortIndex port : ports) failed_[port.value] = 1;
    for (std::uint32_t stream = 0; stream < messages_.size(); ++stream) {
        Message& message = messages_[stream];
        if (message.left == 0) continue;
        const auto path = shares_.path(stream);
        if (std::none_of(path.begin(), path.end(), [&](FairShare::Link link) { return failed_[link] != 0; })) continue;
        const Wide left = message.left - Wide{message.rate} * (now_ - message.since).ps;
        stranded_.push_back({message.from, message.send, std::max<Wide>(left, 1)});
        ends_.remove(stream);
        shares_.remove(stream, now_);
        message.left = 0;
    }
    solve();
}

template <class Program>
void FlowSimulation<Program>::turn_to(const routing::Tables& tables) {
    network_.tables = &tables;
    failed_.resize(fabric_->port_count());
    std::vector<Stranded> stranded;
    stranded.swap(stranded_);
    for (const Stranded& each : stranded) enter(each.from, each.send, each.left);
    solve();
    if (stranded_.size() != stranded.size()) state_ = State::running;
}

template <class Program>
void FlowSimulation<Program>::enter(Rank rank, OpIndex send, Wide left) {
    const Rank peer = program_.peer(send);
    const std::uint64_t bytes = program_.amount(send);
    const auto& hosts = network_.placement.hosts;
    const PortIndex from = hosts[rank.value], to = hosts[peer.value];
    if (from == to) {  // inside the host
        const Time copying{static_cast<std::int64_t>(bytes) * options_.local.copy};
        return later(now_ + copying, {Event::copied, rank, peer, send, {}});
    }
    if (!find_way(rank, send)) {
        stranded_.push_back({rank, send, left});
        return;
    }
    if (bytes == 0) {
        leave(rank, send);
        return next_in_line(rank, send);
    }
    links_.clear();
    for (const PortIndex port : path_) links_.push_back(port.value);
    const FairShare::Stream stream = shares_.add(links_);
    if (stream >= messages_.size()) messages_.resize(stream + std::size_t{1});
    messages_[stream] = {rank, send, 0, now_, left};
}

template <class Program>
void FlowSimulation<Program>::end(std::uint32_t stream) {
    ends_.remove(stream);
    assert(messages_[stream].left <= Wide{messages_[stream].rate} * (now_ - messages_[stream].since).ps);
    path_.clear();
    for (const FairShare::Link link : shares_.path(stream)) path_.emplace_back(link);
    const Message& message = messages_[stream];
    leave(message.from, message.send);
    shares_.remove(stream, now_);
    messages_[stream].left = 0;
    next_in_line(message.from, message.send);
}

template <class Program>
void FlowSimulation<Program>::handle(const Event& event) {
    switch (event.kind) {
        case Event::enters:
            return line_up(event.from, event.op);
        case Event::follows:
            return enter(event.from, event.op);
        case Event::copied:
            later(now_ + options_.flow.host_delay, {Event::arrives, event.from, event.to, event.op, {}});
            return next_in_line(event.from, event.op);
        case Event::arrives: {
            const std::uint64_t bytes = program_.amount(event.op);
            work_.bytes += bytes;
            program_.delivered(program_.flow(event.op), bytes, now_);
            program_.message_arrived(event.to, event.from, event.op, now_, *this);
            later(now_ + event.way_back, {Event::acknowledged, event.from, event.to, event.op, {}});
            return;
        }
        case Event::acknowledged:
            return program_.send_done(event.from, event.op, now_, *this);
        case Event::work:
            return program_.work_done(event.from, event.op, now_, *this);
    }
}

template <class Program>
void FlowSimulation<Program>::solve() {
    for (const FairShare::Stream stream : shares_.solve(now_)) {
        Message& message = messages_[stream];
        message.left -= Wide{message.rate} * (now_ - message.since).ps;
        message.since = now_;
        message.rate = shares_.rate(stream);
        const Wide span = (message.left + message.rate - 1) / message.rate;
        if (span > never.ps / 2 - now_.ps) throw Error("a message would take longer than simulated time can tell");
        ends_.set(stream, now_ + Time{static_cast<std::int64_t>(span)});
    }
}

template <class Program>
State FlowSimulation<Program>::advance(Time until) {
    if constexpr (Program::live)
        if (!started_) start();
    while (state_ == State::running) {
        const Time next = next_time();
        if (next == never) {
            state_ = program_.finished() ? State::finished : State::stuck;
            break;
        }
        if (next > until) {
            now_ = std::max(now_, until);
            break;
        }
        now_ = next;
        while (next_time() == now_) {  // all that happens at one time, then the rates that follow
            ++work_.events;
            if (!ends_.empty() && ends_.top_time() == now_) {
                end(ends_.top());
                continue;
            }
            const Event event = events_.top().event;
            events_.pop();
            handle(event);
        }
        solve();
    }
    return state_;
}

template <class Program>
std::vector<Flow> FlowSimulation<Program>::flows() const {
    std::vector<Flow> flows = program_.flows();
    for (std::uint32_t stream = 0; stream < messages_.size(); ++stream) {
        const Message& message = messages_[stream];
        if (message.left == 0) continue;
        const Wide left = message.left - Wide{message.rate} * (now_ - message.since).ps;
        const auto missing = static_cast<std::uint64_t>((left + parts_per_byte - 1) / parts_per_byte);
        program_.flow_in(flows, program_.flow(message.send)).delivered += program_.amount(message.send) - missing;
    }
    for (const Stranded& each : stranded_) {
        const auto missing = static_cast<std::uint64_t>((each.left + parts_per_byte - 1) / parts_per_byte);
        program_.flow_in(flows, program_.flow(each.send)).delivered += program_.amount(each.send) - missing;
    }
    return flows;
}

template <class Program>
fabric::PortCounters FlowSimulation<Program>::counters(PortIndex port) const {
    constexpr std::int64_t parts_per_word = 4 * parts_per_byte;
    fabric::PortCounters result;
    const PortIndex peer = fabric_->port(port).peer;
    if (peer == no_port) return result;
    result.xmit_data = static_cast<std::uint64_t>(shares_.carried(port.value, now_) / parts_per_word);
    result.rcv_data = static_cast<std::uint64_t>(shares_.carried(peer.value, now_) / parts_per_word);
    result.xmit_pkts = packets_[port.value];
    result.rcv_pkts = packets_[peer.value];
    result.xmit_wait = static_cast<std::uint64_t>(shares_.waited(port.value, now_) / options_.packet.counter_tick);
    return result;
}

}  // namespace

std::unique_ptr<Simulation> make_flow_simulation(const Network& network, const traffic::Schedule& schedule,
                                                 const Options& options) {
    return std::make_unique<FlowSimulation<Executor>>(network, schedule, options);
}

std::unique_ptr<LiveSimulation> make_live_flow_simulation(const Network& network, std::uint32_t ranks,
                                                          Programs& programs, const Options& options) {
    return std::make_unique<Live<FlowSimulation<LiveProgram>>>(network, LiveProgram::Source{ranks, &programs}, options);
}

}  // namespace loom::sim
