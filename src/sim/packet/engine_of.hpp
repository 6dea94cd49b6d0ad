// The functions of EngineOf, for the two files that make an engine of it. Each has a file of its own since the compiler
// inlines less where there are two engines: that cost a schedule's engine 2 % of its instructions.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/scheduling.hpp"
#include "sim/packet/engine.hpp"

namespace loom::sim::packet {

inline constexpr unsigned most_workers = 64;
inline constexpr unsigned blocks_a_worker = 64;
#ifdef NDEBUG
inline constexpr bool audits = false;
#else
inline constexpr bool audits = true;
#endif
// An audit looks at every buffer: where there are more, it comes as much more seldom.
inline constexpr unsigned windows_an_audit = 64;
inline constexpr std::size_t buffers_of_a_usual_audit = 16'384;
inline constexpr std::int64_t long_wait = 1'000'000'000;  // 1 ms: worth a look whether it will ever end

// All threads wait for the last one; a short while spinning, then asleep, since cores may be shared.
class Barrier {
public:
    explicit Barrier(unsigned threads) : threads_(threads) {}
    void wait() {
        const std::uint32_t round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            round_.notify_all();
            return;
        }
        for (unsigned spins = 0; spins < spin_limit; ++spins) {
            if (round_.load(std::memory_order_acquire) != round) return;
            pause_core();
        }
        while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
    }

private:
    static constexpr unsigned spin_limit = 4'000;  // some 50 us: longer than threads are apart on cores of their own
    unsigned threads_;
    std::atomic<unsigned> arrived_{0};
    std::atomic<std::uint32_t> round_{0};
};

// What PortXmitData counts: everything up to the variant CRC, which stays out.
inline std::uint64_t data_words(const Output& out) {
    return (out.bytes - variant_crc_bytes * out.packets) / 4;
}

// What a manager turns.
class Parameters final : public fabric::CongestionParameters {
public:
    Parameters(const Plant& plant, Ports& ports) : plant_(plant), ports_(ports) {}
    std::uint16_t marking_rate(PortIndex port) override { return marking(port).rate; }
    void set_marking_rate(PortIndex port, std::uint16_t rate) override { marking(port).rate = rate; }

private:
    Marking& marking(PortIndex port) {
        const Port p = port.value < plant_.port_of_fabric.size() ? plant_.port_of_fabric[port.value] : none;
        if (p == none || !plant_.is_switch_port(p)) throw Error("only switch ports have a marking rate");
        return ports_.marking[p];
    }
    const Plant& plant_;
    Ports& ports_;
};

inline std::uint32_t ranks_of(const traffic::Schedule& schedule) {
    return static_cast<std::uint32_t>(schedule.ranks());
}
inline std::uint32_t ranks_of(const LiveProgram::Source& source) {
    return source.ranks;
}
inline const traffic::Schedule* schedule_of(const traffic::Schedule& schedule) {
    return &schedule;
}
inline const traffic::Schedule* schedule_of(const LiveProgram::Source&) {
    return nullptr;
}

template <class Program>
EngineOf<Program>::EngineOf(const Network& network, const typename Program::Source& source, const Options& options)
    : options_(options),
      network_(network),
      plant_((check_options(options_.packet), network_), ranks_of(source), schedule_of(source), options_.packet),
      ports_(plant_, options_.packet),
      links_{plant_, ports_},
      program_(source, options_.local),
      switches_(plant_, ports_, links_),
      hosts_(plant_, ports_, links_, program_, options_) {
    part_entities(std::min({thread_count(options_.threads), most_workers, std::max(1u, plant_.entities)}));
    if (!ports_.marking.empty()) parameters_ = std::make_unique<Parameters>(plant_, ports_);
    for (std::uint32_t r = 0; r < plant_.rank_endpoint.size(); ++r) {
        const Endpoint endpoint = plant_.rank_endpoint[r];
        if (endpoint == none) continue;
        Packet packet{};
        packet.op = r;
        const Port port = plant_.endpoint[endpoint].port;
        Worker& worker = workers_[worker_of_[port]];
        worker.calendar.push(worker.id, -1, 0, Event::pack(What::start, port), packet);
    }
}

template <class Program>
void EngineOf<Program>::wake_between(Rank rank, OpIndex ticket, Time at) {
    Packet packet{};
    packet.op = ticket;
    packet.flow = rank.value;
    const Port port = plant_.endpoint[plant_.rank_endpoint[rank.value]].port;
    Worker& worker = workers_[worker_of_[port]];
    worker.calendar.push(worker.id, played_, at.ps, Event::pack(What::work, port), packet);
    state_ = State::running;
    trouble_.clear();
}

template <class Program>
void EngineOf<Program>::fail_ports(std::span<const PortIndex> ports) {
    if (!options_.packet.retries) throw UsageError("ports can fail where queue pairs send again: expected retries");
    ports_.failed.resize(plant_.ports);
    for (Worker& worker : workers_) worker.window = played_;
    for (const PortIndex index : ports) {
        const Port port = plant_.port_of_fabric[index.value];
        if (port == none || ports_.failed[port] != 0) continue;
        ports_.failed[port] = 1;
        if (plant_.is_switch_port(port)) switches_.lose_waiting(workers_[worker_of_[port]], port, now_);
    }
    state_ = State::running;
    trouble_.clear();
}

template <class Program>
void EngineOf<Program>::turn_to(const routing::Tables& tables) {
    const routing::Tables& old = *network_.tables;
    if (tables.switch_count() != old.switch_count() || tables.top_lid() != old.top_lid())
        throw UsageError("new tables must be of the same switches and LIDs");
    if (options_.packet.use_table_lanes && tables.lane_count() > plant_.lanes)
        throw Error("the new tables need more lanes than are in use");
    network_.tables = &tables;
    for (routing::SwitchIndex s = 0; s < plant_.switches; ++s) plant_.switch_info[s].row = tables.row(s).data();
    ports_.failed.resize(plant_.ports);
}

template <class Program>
void EngineOf<Program>::part_entities(unsigned workers) {
    workers_.resize(workers);
    worker_of_.assign(plant_.ports, 0);
    // Switches are numbered level by level, and levels differ in work: blocks of them are dealt out in turn. A switch's
    // hosts go with it.
    const std::uint32_t block = std::max(1u, plant_.switches / (workers * blocks_a_worker));
    std::vector<std::uint8_t> worker_of_entity(plant_.entities);
    for (Entity e = 0, s = 0; e < plant_.entities; ++e) {
        if (plant_.entity[e].is_switch) s = plant_.entity[e].index;
        worker_of_entity[e] = static_cast<std::uint8_t>(s / block % workers);
    }
    for (Port p = 0; p < plant_.ports; ++p) worker_of_[p] = worker_of_entity[plant_.port[p].entity];
    for (unsigned w = 0; w < workers; ++w) {
        Worker& worker = workers_[w];
        worker.id = w;
        worker.shift = plant_.window_shift;
        worker.worker_of = worker_of_.data();
        worker.calendar.prepare(workers, plant_.window_shift);
        worker.counts.resize(plant_.entities + 1);
    }
}

template <class Program>
void EngineOf<Program>::apply_credits(Worker& worker, Window window) {
    const std::int64_t start = window << plant_.window_shift;
    for (Worker& source : workers_) {
        std::vector<Credit>& credits = source.calendar.slot(worker.id, window).credits;
        for (const Credit& credit : credits) {
            ports_.credits[credit.slot] += credit.blocks;
            const Port port = ports_.port_of_slot(credit.slot);
            Output& output = ports_.out[port];
            if (!output.waiting() || output.wake_at == start) continue;
            output.wake_at = start;
            worker.gathered.push_back({0, Event::pack(What::wake, port), {}});
        }
        credits.clear();
    }
}

template <class Program>
void EngineOf<Program>::sort_by_entity(Worker& worker) {
    auto& events = worker.gathered;
    const std::size_t size = events.size();
    worker.sorted.resize(size);
    const auto entity = [&](const Event& event) { return plant_.port[event.port()].entity; };
    if (size * 8 < plant_.entities) {  // too few to be worth counting
        worker.sorted.swap(events);
        std::sort(worker.sorted.begin(), worker.sorted.end(),
                  [&](const Event& a, const Event& b) { return entity(a) < entity(b); });
        return;
    }
    auto& counts = worker.counts;
    std::fill(counts.begin(), counts.end(), 0);
    for (const Event& event : events) ++counts[entity(event) + 1];
    for (std::size_t e = 1; e < counts.size(); ++e) counts[e] += counts[e - 1];
    for (const Event& event : events) worker.sorted[counts[entity(event)]++] = event;
}

template <class Program>
void EngineOf<Program>::play_entity(Worker& worker, Event* first, Event* last) {
    // A handful of events, nearly in order.
    const auto before = [](const Event& a, const Event& b) { return a.before(b); };
    if (last - first > 24) {
        std::sort(first, last, before);
    } else {
        for (Event* at = first + 1; at < last; ++at) {
            if (!at->before(at[-1])) continue;
            const Event moved = *at;
            Event* hole = at;
            do {
                *hole = hole[-1];
                --hole;
            } while (hole > first && moved.before(hole[-1]));
            *hole = moved;
        }
    }
    const std::int64_t start = worker.window << plant_.window_shift;
    const Plant::EntityInfo& entity = plant_.entity[plant_.port[first->port()].entity];
    while (first != last || !worker.late.empty()) {
        Event event;
        if (worker.late.empty() || (first != last && first->before(worker.late.back()))) {
            event = *first++;
        } else {
            event = worker.late.back();
            worker.late.pop_back();
        }
        ++worker.events;
        const std::int64_t now = start + event.offset;
        if (entity.is_switch)
            switches_.handle(worker, entity.index, event, now);
        else
            hosts_.handle(worker, entity.index, event, now);
    }
}

template <class Program>
void EngineOf<Program>::play(Worker& worker, Window window) {
    worker.window = window;
    worker.gathered.clear();
    apply_credits(worker, window);
    for (Worker& source : workers_) {
        std::vector<Event>& events = source.calendar.slot(worker.id, window).events;
        worker.gathered.insert(worker.gathered.end(), events.begin(), events.end());
        events.clear();
    }
    sort_by_entity(worker);
    Event* const end = worker.sorted.data() + worker.sorted.size();
    for (Event* first = worker.sorted.data(); first != end;) {
        const Entity entity = plant_.port[first->port()].entity;
        Event* last = first + 1;
        while (last != end && plant_.port[last->port()].entity == entity) ++last;
        play_entity(worker, first, last);
        first = last;
    }
}

template <class Program>
bool EngineOf<Program>::is_time_to_audit(unsigned windows) const {
    const auto scale = static_cast<unsigned>(ports_.credits.size() / buffers_of_a_usual_audit) + 1;
    return audits && windows % (windows_an_audit * scale) == 0;
}

template <class Program>
void EngineOf<Program>::assert_audit() const {
    if (const std::string broken = audit(); !broken.empty()) throw Error("packet level: " + broken);
}

template <class Program>
void EngineOf<Program>::run_alone(Window end) {
    Worker& worker = workers_.front();
    for (unsigned count = 1;; ++count) {
        const Window window = worker.calendar.next(played_);
        if (window >= end) return;
        worker.calendar.bring_near(window);
        worker.calendar.enter(window);
        played_ = window;
        play(worker, window);
        if (is_time_to_audit(count)) assert_audit();
    }
}

template <class Program>
void EngineOf<Program>::run_together(Window end) {
    const auto count = static_cast<unsigned>(workers_.size());
    Barrier barrier(count);
    // What each says before a barrier, and all read behind it; a failure is said in the same way, so that all stop in
    // the same round.
    struct alignas(64) Next {
        Window window[2];
    };
    constexpr Window failed = INT64_MIN;
    std::vector<Next> next(count);
    std::vector<std::exception_ptr> failures(count);
    const auto loop = [&](unsigned id) {
        Worker& worker = workers_[id];
        Window window = played_;
        for (unsigned number = 1;; ++number) {
            const unsigned round = number % 2;
            next[id].window[round] = failures[id] ? failed : worker.calendar.next(window);
            barrier.wait();
            Window earliest = no_window;
            for (const Next& other : next) earliest = std::min(earliest, other.window[round]);
            if (earliest >= end || earliest == failed) return window;
            if (earliest - window >= Calendar::ring) {
                worker.calendar.bring_near(earliest);
                barrier.wait();  // others read what was brought
            }
            window = earliest;
            worker.calendar.enter(window);
            try {
                play(worker, window);
                worker.calendar.bring_near(window);
            } catch (...) {
                failures[id] = std::current_exception();
            }
            if (!is_time_to_audit(number)) continue;
            barrier.wait();  // all stand still while one looks
            try {
                if (id == 0) assert_audit();
            } catch (...) {
                failures[id] = std::current_exception();
            }
            barrier.wait();
        }
    };
    std::vector<std::jthread> others;
    for (unsigned id = 1; id < count; ++id) others.emplace_back(loop, id);
    played_ = loop(0);
    others.clear();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

template <class Program>
State EngineOf<Program>::advance(Time until) {
    if (state_ != State::running) return state_;
    const std::int64_t step = std::int64_t{1} << plant_.window_shift;
    const Window end = until.ps > never.ps - step ? no_window : (until.ps + step - 1) >> plant_.window_shift;
    if (workers_.size() == 1)
        run_alone(end);
    else
        run_together(end);
    const bool more =
        std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return !w.calendar.empty(); });
    if (more) {
        now_ = std::max(now_, end << plant_.window_shift);
        if (worth_a_look()) trouble_ = find_deadlock();
        if (!trouble_.empty()) state_ = State::deadlocked;
        return state_;
    }
    now_ = std::max(now_, (played_ + 1) << plant_.window_shift);
    state_ = judge();
    return state_;
}

// Has some port been without credits for long? Where lanes share ports, one may be dead while another keeps its port
// busy: then from time to time in any case.
template <class Program>
bool EngineOf<Program>::worth_a_look() {
    if (ports_.lanes > 1 && now_ - looked_ > long_wait) {
        looked_ = now_;
        return true;
    }
    return std::any_of(ports_.out.begin(), ports_.out.end(),
                       [&](const Output& out) { return out.waiting() && now_ - out.wait_since > long_wait; });
}

template <class Program>
State EngineOf<Program>::judge() {
    if (program_.finished()) return State::finished;
    trouble_ = find_deadlock();
    if (!trouble_.empty()) return State::deadlocked;
    trouble_ = program_.open_operations(20);
    return State::stuck;
}

template <class Program>
Simulation::Work EngineOf<Program>::work() const {
    Simulation::Work work;
    for (const Worker& worker : workers_) {
        work.events += worker.events;
        work.packets += worker.packets;
        work.bytes += worker.bytes;
    }
    return work;
}

template <class Program>
fabric::PortCounters EngineOf<Program>::counters(PortIndex index) const {
    fabric::PortCounters counters;
    const Port port = index.value < plant_.port_of_fabric.size() ? plant_.port_of_fabric[index.value] : none;
    if (port == none || plant_.port[port].peer == none) return counters;
    const Output& out = ports_.out[port];
    const Output& in = ports_.out[plant_.port[port].peer];
    const std::int64_t tick = options_.packet.counter_tick.ps;
    counters.xmit_data = data_words(out);
    counters.xmit_pkts = out.packets;
    counters.rcv_data = data_words(in);
    counters.rcv_pkts = in.packets;
    const std::int64_t waiting = out.waiting() ? std::max<std::int64_t>(0, now_ - out.wait_since) : 0;
    counters.xmit_wait = static_cast<std::uint64_t>((out.waited + waiting) / tick);
    if (!ports_.marking.empty()) {
        const Marking& marking = ports_.marking[port];
        const std::int64_t congested = marking.congested ? std::max<std::int64_t>(0, now_ - marking.since) : 0;
        counters.xmit_cong_time = static_cast<std::uint64_t>((marking.total + congested) / tick);
        counters.marked_fecn = marking.marked;
    }
    if (!plant_.is_switch_port(port)) {
        counters.rcv_fecn = hosts_.notified(port - plant_.switch_ports).fecn;
        counters.rcv_becn = hosts_.notified(port - plant_.switch_ports).becn;
    }
    return counters;
}

}  // namespace loom::sim::packet
