#include "coll/measuring.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "loom/coll/parameters.hpp"

namespace loom::coll {

namespace {

using Clock = std::chrono::steady_clock;
using transport::Message;

Time between(Clock::time_point a, Clock::time_point b) {
    return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(b - a).count() * 1000};
}

// The lower quartile: others on the machine only ever make things slower.
Time typical(std::vector<Time>& times) {
    const auto quarter = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), quarter, times.end());
    return *quarter;
}

std::int64_t per_byte(Time time, std::uint64_t bytes) {
    return std::max<std::int64_t>(0, time.ps / static_cast<std::int64_t>(bytes));
}

std::span<const std::byte> bytes_of(const Command& command) {
    return std::as_bytes(std::span(&command, 1));
}

constexpr std::uint64_t large_1 = 64 * 1024, large_2 = 512 * 1024;

// Memory of the kind that was asked for.
class Memory {
public:
    Memory(transport::Transport& transport, std::uint64_t bytes, bool shared) : transport_(transport) {
        if (shared)
            shared_ = transport.allocate(std::max<std::uint64_t>(bytes, 1));
        else
            own_.resize(bytes);
        span_ = (shared ? shared_ : std::span(own_)).first(bytes);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
        if (!shared_.empty()) transport_.release(shared_);
    }
    [[nodiscard]] std::span<std::byte> span() const { return span_; }

private:
    transport::Transport& transport_;
    std::vector<std::byte> own_;
    std::span<std::byte> shared_, span_;
};

void serve_rounds(Talk& talk, const Command& command) {
    const Memory buffer(talk.transport(), command.bytes, command.shared != 0);
    std::vector<Message> messages(command.count);
    const auto post = [&] {
        for (Message& message : messages) talk.start_receive(Rank{0}, Talk::About::data, buffer.span(), message);
    };
    post();
    talk.send(Rank{0}, Talk::About::ready, {});
    // The next round's receives are posted before the answer leaves: rank 0 never waits for them.
    std::vector<std::byte> answer(command.bytes);
    for (std::uint32_t round = 0; round < command.rounds; ++round) {
        for (const Message& message : messages) talk.finish(message, Rank{0});
        // As algorithms do with what comes into their scratch memory: it has to come over to this core.
        if (command.shared != 0) std::memcpy(answer.data(), buffer.span().data(), command.bytes);
        if (round + 1 < command.rounds) post();
        talk.send(Rank{0}, Talk::About::answer, answer);
    }
}

// Typical ones over rounds.
struct Trip {
    Time whole;
    Time first;  // the call of the first send
    Time rest;   // of each other
};

class Meter {
public:
    Meter(Talk& talk, Rank partner) : talk_(talk), partner_(partner) {}

    [[nodiscard]] Trip trip(std::uint32_t count, std::uint64_t bytes, std::uint32_t most_rounds, bool shared = false) {
        shared_ = shared;
        run(count, bytes, 2);  // caches, page tables and registrations
        const Clock::time_point begin = Clock::now();
        run(count, bytes, 3);
        const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
        const double wanted = longest_phase / std::max(spent / 3, 1e-9);
        const auto rounds = static_cast<std::uint32_t>(std::clamp(wanted, 5.0, static_cast<double>(most_rounds)));
        run(count, bytes, rounds);
        return {typical(whole_), typical(first_), typical(rest_)};
    }

    // The largest message that a send is over with before it is received, to within 1/16.
    [[nodiscard]] std::uint64_t eager_limit() {
        std::uint64_t good = 0, bad = 0;
        for (std::uint64_t bytes = 64; bytes <= large_1 && bad == 0; bytes *= 2) (is_eager(bytes) ? good : bad) = bytes;
        if (bad == 0) return good;
        while (bad - good > std::max<std::uint64_t>(good / 16, 64)) {
            const std::uint64_t middle = good + (bad - good) / 2;
            (is_eager(middle) ? good : bad) = middle;
        }
        return good;
    }

private:
    static constexpr double longest_phase = 0.003;  // seconds

    void run(std::uint32_t count, std::uint64_t bytes, std::uint32_t rounds) {
        const Command command{Command::Kind::rounds, count, rounds, shared_ ? 1u : 0u, bytes};
        talk_.send(partner_, Talk::About::command, bytes_of(command));
        buffer_.resize(std::max<std::size_t>(buffer_.size(), std::max<std::uint64_t>(bytes, 1)));
        const Memory answers(talk_.transport(), bytes, shared_);
        whole_.clear();
        first_.clear();
        rest_.clear();
        std::vector<Message> messages(count);
        talk_.receive(partner_, Talk::About::ready, {});
        for (std::uint32_t round = 0; round < rounds; ++round) {
            Message answer;
            talk_.start_receive(partner_, Talk::About::answer, answers.span(), answer);
            const Clock::time_point begin = Clock::now();
            talk_.start_send(partner_, Talk::About::data, std::span(buffer_).first(bytes), messages[0]);
            const Clock::time_point one = Clock::now();
            for (std::uint32_t i = 1; i < count; ++i)
                talk_.start_send(partner_, Talk::About::data, std::span(buffer_).first(bytes), messages[i]);
            const Clock::time_point all = Clock::now();
            talk_.finish(answer, partner_);
            if (shared_) std::memcpy(buffer_.data(), answers.span().data(), bytes);
            const Clock::time_point end = Clock::now();
            for (const Message& message : messages) talk_.finish(message, partner_);
            whole_.push_back(between(begin, end));
            first_.push_back(between(begin, one));
            rest_.push_back(count > 1 ? Time{between(one, all).ps / (count - 1)} : Time{});
        }
    }
    bool is_eager(std::uint64_t bytes) {
        buffer_.resize(std::max<std::size_t>(buffer_.size(), bytes));
        Message message;
        const bool over = talk_.start_send(partner_, Talk::About::data, std::span(buffer_).first(bytes), message);
        const Command command{Command::Kind::take, 1, 1, 0, bytes};
        talk_.send(partner_, Talk::About::command, bytes_of(command));
        talk_.finish(message, partner_);
        return over;
    }

    Talk& talk_;
    Rank partner_;
    std::vector<std::byte> buffer_;
    bool shared_ = false;
    std::vector<Time> whole_, first_, rest_;
};

Time clock_cost() {
    std::vector<Time> costs;
    for (int i = 0; i < 64; ++i) {
        const Clock::time_point a = Clock::now();
        costs.push_back(between(a, Clock::now()));
    }
    return typical(costs);
}

// Costs of `work` on buffers that fit the second-level cache, a byte.
template <class Work>
std::int64_t cost_of(Work work, std::uint64_t bytes) {
    std::vector<Time> times;
    for (int i = 0; i < 9; ++i) {
        const Clock::time_point begin = Clock::now();
        work();
        times.push_back(between(begin, Clock::now()));
    }
    return std::max<std::int64_t>(1, per_byte(typical(times), bytes));
}

model::LocalCosts local_costs(std::size_t count) {
    std::vector<double> from(count, 1.0), to(count, 2.0);
    const std::uint64_t bytes = count * sizeof(double);
    model::LocalCosts costs;
    costs.copy = cost_of(
        [&] {
            std::memcpy(to.data(), from.data(), bytes);
            asm volatile("" ::: "memory");
        },
        bytes);
    costs.reduce = cost_of(
        [&] {
            for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
            asm volatile("" ::: "memory");
        },
        bytes);
    costs.step = nanoseconds(30);
    return costs;
}

constexpr std::uint64_t cold_message = 4 << 20;

// Bytes of a core's own cache and of the one it shares with others, where the system says.
std::uint64_t own_cache() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 1 << 20;
}
std::uint64_t common_cache() {
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<std::uint64_t>(bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0, 2 * own_cache(), 64 << 20);
}

// Near: cores copy, and what the slower end takes is its own work. Far: what limits is the adapter or the wire.
enum class Way { near, far };

model::WayCosts measure_way(Meter& meter, Way way, bool crowded, Time round_trip, std::uint32_t& free) {
    const Time clock = clock_cost();
    const auto own = [&](Time time) { return Time{std::max<std::int64_t>(time.ps - clock.ps, 0)}; };
    const Trip one = meter.trip(1, 8, 33);
    const Trip many = meter.trip(16, 8, 17);
    const std::uint64_t limit = meter.eager_limit();
    if (round_trip == Time{}) round_trip = one.whole;

    model::WayCosts costs;
    model::MessageCosts& small = costs.small;
    const Time half{round_trip.ps / 2};
    const Time slope{std::max<std::int64_t>((many.whole - one.whole).ps / 15, 0)};
    small.send = std::min(many.rest, half);
    small.send_first = std::min(Time{std::max<std::int64_t>((own(one.first) - small.send).ps, 0)}, half - small.send);
    // With a core for each the two ends work at once, and the slower one is seen; on one core they take turns.
    const Time other = crowded ? Time{std::max<std::int64_t>((slope - small.send).ps, 0)} : slope;
    small.take = std::min(way == Way::far ? std::min(other, small.send) : other, half - small.send - small.send_first);
    small.latency = half - small.send - small.send_first - small.take;
    free = 16;
    if (way == Way::far && slope.ps > small.send.ps * 5 / 4) {
        small.gap = slope;
        free = 1;
        for (const std::uint32_t n : {2u, 4u, 8u}) {
            const Trip few = meter.trip(n, 8, 9);
            if ((few.whole - one.whole).ps > (n - 1) * small.send.ps * 3 / 2 + slope.ps) break;
            free = n;
        }
    }

    costs.limit = limit;
    if (limit >= 512) {
        const std::uint64_t bytes = std::min<std::uint64_t>(limit, 8192);
        const Trip eager = meter.trip(1, bytes, 17);
        const std::int64_t total = per_byte(Time{(eager.whole - one.whole).ps / 2}, bytes);
        // The call of a send is the time of one core, with nobody's turns in it; the other end copies as much.
        small.send_byte = per_byte(eager.first - one.first, bytes);
        if (way == Way::far)
            small.gap_byte = std::max<std::int64_t>(total - small.send_byte, 0);
        else
            small.take_byte = small.send_byte;
    }

    const std::uint64_t shorter = limit < large_1 ? large_1 : 2 * large_1;  // the way of large ones
    const Trip large = meter.trip(1, shorter, 9), larger = meter.trip(1, large_2, 7);
    const std::int64_t byte = per_byte(Time{(larger.whole - large.whole).ps / 2}, large_2 - shorter);
    // One wire carries both: what it lets pass in a burst is not its rate.
    if (way == Way::far) small.gap_byte = std::max(small.gap_byte, byte);
    costs.large = small;
    costs.large.send_byte = way == Way::near ? byte : 0;
    costs.large.gap_byte = way == Way::far ? byte : 0;
    costs.large.take_byte = 0;
    const Time rest = Time{large.whole.ps / 2} - Time{byte * static_cast<std::int64_t>(shorter)};
    costs.large.latency = std::max(small.latency, rest - small.send - small.send_first - small.take);
    // Ranks that take turns lend in advance.
    costs.ready = way == Way::near && crowded ? Time{} : half;
    if (way == Way::near) {
        const Trip shared = meter.trip(1, large_1, 9, true), longer = meter.trip(1, large_2, 7, true);
        costs.shared_byte = std::min(per_byte(Time{(longer.whole - shared.whole).ps / 2}, large_2 - large_1), byte);
        costs.copying = model::Copying::by_fewer;
        // Two copies, each of which touches memory that another core wrote last.
        small.send_byte = std::max(small.send_byte, costs.shared_byte);
        small.take_byte = std::max(small.take_byte, costs.shared_byte);
    }
    return costs;
}

// A machine busy with something else gives numbers that say nothing about this one.
bool plausible(const model::WayCosts& way, bool crowded, bool far) {
    const Time most = far ? milliseconds(5) : crowded ? microseconds(200) : microseconds(20);
    const std::int64_t byte = way.large.send_byte + way.large.gap_byte;
    return way.small.latency < most && byte > 0 && byte < (far ? 1'000'000 : 5'000) && way.small.send_byte < 10'000;
}

}  // namespace

std::vector<std::byte> serve(Talk& talk) {
    std::vector<std::byte> buffer;
    for (;;) {
        Command command;
        talk.receive(Rank{0}, Talk::About::command, std::as_writable_bytes(std::span(&command, 1)));
        if (command.kind == Command::Kind::rounds) {
            serve_rounds(talk, command);
        } else if (command.kind == Command::Kind::take) {
            buffer.resize(std::max<std::size_t>(buffer.size(), command.bytes));
            talk.receive(Rank{0}, Talk::About::data, std::span(buffer).first(command.bytes));
        } else {
            std::vector<std::byte> content(command.bytes);
            talk.receive(Rank{0}, Talk::About::content, content);
            return content;
        }
    }
}

std::optional<model::Charges> measure(Talk& talk) {
    const std::span<const std::uint32_t> hosts = talk.transport().hosts();
    std::vector<std::uint32_t> near, far;
    for (std::uint32_t rank = 1; rank < hosts.size(); ++rank) (hosts[rank] == hosts[0] ? near : far).push_back(rank);
    const std::uint32_t cores = talk.transport().cores();
    const bool crowded = talk.transport().waiting() == transport::Waiting::yield;

    model::Charges charges;
    charges.waits_for = model::Large::ready;
    constexpr std::size_t warm_doubles = 16 * 1024;
    charges.local = local_costs(warm_doubles);
    const model::LocalCosts cold = local_costs(common_cache() / 2 / sizeof(double));
    charges.cold = {own_cache(), common_cache(), cold.copy, cold.reduce, 0, 0};
    if (crowded) charges.host_cores = cores;
    if (!near.empty()) {
        // Where ranks take turns, a partner may come right after us in them or right before.
        Time round_trip{};
        if (crowded) {
            std::vector<Time> trips;
            for (const std::size_t i : {std::size_t{0}, near.size() / 2, near.size() - 1}) {
                // Others may still be on their way to where they wait.
                Meter meter(talk, Rank{near[i]});
                Time least = meter.trip(1, 8, 17).whole;
                for (int again = 0; again < 3; ++again) least = std::min(least, meter.trip(1, 8, 17).whole);
                trips.push_back(least);
            }
            round_trip = Time{(trips[0] + trips[1] + trips[2]).ps / 3};
        }
        Meter meter(talk, Rank{near[near.size() / 2]});
        charges.way = measure_way(meter, Way::near, crowded, round_trip, charges.free);
        charges.cold->large_byte = per_byte(Time{meter.trip(1, cold_message, 3).whole.ps / 2}, cold_message);
        charges.cold->shared_byte = std::min(
            charges.cold->large_byte, per_byte(Time{meter.trip(1, cold_message, 3, true).whole.ps / 2}, cold_message));
    }
    if (!far.empty()) {
        Meter meter(talk, Rank{far[0]});
        std::uint32_t free = 1;
        charges.far = measure_way(meter, Way::far, crowded, {}, free);
        charges.free = free;
        if (near.empty()) charges.way = *charges.far;
    }
    if (!near.empty() && !plausible(charges.way, crowded, false)) return {};
    if (charges.far && !plausible(*charges.far, crowded, true)) return {};
    return charges;
}

}  // namespace loom::coll
