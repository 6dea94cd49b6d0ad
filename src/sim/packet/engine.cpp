#include "sim/packet/engine.hpp"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/scheduling.hpp"
#include "sim/engines.hpp"

namespace loom::sim::packet {

namespace {

constexpr unsigned most_workers = 64;
constexpr unsigned blocks_a_worker = 64;
#ifdef NDEBUG
constexpr bool audits = false;
#else
constexpr bool audits = true;
#endif
// An audit looks at every buffer: where there are more, it comes as much more seldom.
constexpr unsigned windows_an_audit = 64;
constexpr std::size_t buffers_of_a_usual_audit = 16'384;
constexpr std::int64_t long_wait = 1'000'000'000;  // 1 ms: worth a look whether it will ever end

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
std::uint64_t data_words(const Output& out) {
    return (out.bytes - variant_crc_bytes * out.packets) / 4;
}

}  // namespace

void check_options(const PacketOptions& options) {
    const std::uint32_t mtu = options.mtu;
    if (mtu != 256 && mtu != 512 && mtu != 1024 && mtu != 2048 && mtu != 4096)
        throw UsageError(fmt::format("an MTU of {}: expected 256, 512, 1024, 2048 or 4096", mtu));
    if (options.buffer_bytes < 2 * (mtu + block_bytes))
        throw UsageError(
            fmt::format("a buffer of {} bytes does not hold two packets of {}", options.buffer_bytes, mtu));
    if (options.buffer_bytes > 1u << 30) throw UsageError("a buffer of more than 1 GiB");
    if (options.cable_delay.ps < 0 || options.switch_delay.ps < 0 || options.host_delay.ps < 0)
        throw UsageError("a delay below zero");
    if (std::max({options.cable_delay, options.switch_delay, options.host_delay}) > seconds(1))
        throw UsageError("a delay of more than a second");
    if (options.counter_tick.ps <= 0) throw UsageError("a counter tick must be longer than nothing");
    for (const std::uint8_t lane : options.sl_to_vl)
        if (lane >= max_lanes)
            throw UsageError(fmt::format("lane {} is not a data lane (0 to {})", lane, max_lanes - 1));
    const CongestionControl& control = options.congestion;
    if (control.switches.threshold > 15) throw UsageError("a threshold is 0 to 15");
    if (control.table.size() > 256) throw UsageError("a congestion control table has at most 256 entries");
    for (const double delay : control.table)
        if (!(delay >= 0 && delay <= 16'383)) throw UsageError("a congestion control table entry is 0 to 16,383");
    if (!(control.jitter >= 0 && control.jitter <= 1)) throw UsageError("a jitter of injection delays is 0 to 1");
    if (options.paths == PathChoice::adaptive && options.buffer_use == BufferUse::per_output)
        throw UsageError("adaptive paths need a shared buffer: where a packet will go is not known in advance");
}

// What a manager turns.
class Engine::Parameters final : public fabric::CongestionParameters {
public:
    explicit Parameters(Engine& engine) : engine_(engine) {}
    std::uint16_t marking_rate(PortIndex port) override { return marking(port).rate; }
    void set_marking_rate(PortIndex port, std::uint16_t rate) override { marking(port).rate = rate; }

private:
    Marking& marking(PortIndex port) {
        const Port p =
            port.value < engine_.plant_.port_of_fabric.size() ? engine_.plant_.port_of_fabric[port.value] : none;
        if (p == none || !engine_.plant_.is_switch_port(p)) throw Error("only switch ports have a marking rate");
        return engine_.ports_.marking[p];
    }
    Engine& engine_;
};

Engine::Engine(const Network& network, const traffic::Schedule& schedule, const Options& options)
    : options_(options),
      network_(network),
      plant_((check_options(options_.packet), network_), schedule, options_.packet),
      ports_(plant_, options_.packet),
      links_{plant_, ports_},
      executor_(schedule, options_.local),
      switches_(plant_, ports_, links_),
      hosts_(plant_, ports_, links_, executor_, options_) {
    part_entities(std::min({thread_count(options_.threads), most_workers, std::max(1u, plant_.entities)}));
    if (!ports_.marking.empty()) parameters_ = std::make_unique<Parameters>(*this);
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const Endpoint endpoint = plant_.rank_endpoint[r];
        if (endpoint == none) continue;
        Packet packet{};
        packet.op = r;
        const Port port = plant_.endpoint[endpoint].port;
        Worker& worker = workers_[worker_of_[port]];
        worker.calendar.push(worker.id, -1, 0, Event::pack(What::start, port), packet);
    }
}

Engine::~Engine() = default;

void Engine::part_entities(unsigned workers) {
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

void Engine::apply_credits(Worker& worker, Window window) {
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

void Engine::sort_by_entity(Worker& worker) {
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

void Engine::play_entity(Worker& worker, Event* first, Event* last) {
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

void Engine::play(Worker& worker, Window window) {
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

bool Engine::is_time_to_audit(unsigned windows) const {
    const auto scale = static_cast<unsigned>(ports_.credits.size() / buffers_of_a_usual_audit) + 1;
    return audits && windows % (windows_an_audit * scale) == 0;
}

void Engine::assert_audit() const {
    if (const std::string broken = audit(); !broken.empty()) throw Error("packet level: " + broken);
}

void Engine::run_alone(Window end) {
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

void Engine::run_together(Window end) {
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

State Engine::advance(Time until) {
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
bool Engine::worth_a_look() {
    if (ports_.lanes > 1 && now_ - looked_ > long_wait) {
        looked_ = now_;
        return true;
    }
    return std::any_of(ports_.out.begin(), ports_.out.end(),
                       [&](const Output& out) { return out.waiting() && now_ - out.wait_since > long_wait; });
}

State Engine::judge() {
    if (executor_.finished()) return State::finished;
    trouble_ = find_deadlock();
    if (!trouble_.empty()) return State::deadlocked;
    trouble_ = executor_.open_operations(20);
    return State::stuck;
}

Simulation::Work Engine::work() const {
    Work work;
    for (const Worker& worker : workers_) {
        work.events += worker.events;
        work.packets += worker.packets;
        work.bytes += worker.bytes;
    }
    return work;
}

fabric::PortCounters Engine::counters(PortIndex index) const {
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

fabric::CongestionParameters* Engine::congestion_parameters() {
    return parameters_.get();
}

}  // namespace loom::sim::packet

namespace loom::sim {

std::unique_ptr<Simulation> make_packet_simulation(const Network& network, const traffic::Schedule& schedule,
                                                   const Options& options) {
    // Threads meet at the end of every window: with less than this to do in between, one is faster.
    constexpr std::size_t ranks_a_thread = 64;
    Options chosen = options;
    chosen.threads = static_cast<unsigned>(
        std::clamp<std::size_t>(schedule.ranks() / ranks_a_thread, 1, thread_count(options.threads)));
    return std::make_unique<packet::Engine>(network, schedule, chosen);
}

}  // namespace loom::sim
