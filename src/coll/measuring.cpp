#include "coll/measuring.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "coll/page_vector.hpp"
#include "loom/base/clock.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::coll {

namespace {

using transport::Message;

std::span<const std::byte> bytes_of(const Command& command) {
    return std::as_bytes(std::span(&command, 1));
}

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
    PageVector<std::byte> own_;
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
    PageVector<std::byte> answer(command.bytes);
    for (std::uint32_t round = 0; round < command.rounds; ++round) {
        for (const Message& message : messages) talk.finish(message, Rank{0});
        // As algorithms do with what comes into their scratch memory: it has to come over to this core.
        if (command.shared != 0) std::memcpy(answer.data(), buffer.span().data(), command.bytes);
        if (round + 1 < command.rounds) post();
        talk.send(Rank{0}, Talk::About::answer, answer);
    }
}

class Meter final : public Trips {
public:
    Meter(Talk& talk, Rank partner) : talk_(talk), partner_(partner) {}

    [[nodiscard]] Trip trip(std::uint32_t count, std::uint64_t bytes, std::uint32_t most_rounds, bool shared) override {
        shared_ = shared;
        run(count, bytes, 2);  // caches, page tables and registrations
        const Time begin = now();
        run(count, bytes, 3);
        const double spent = (now() - begin).seconds();
        const double wanted = longest_phase / std::max(spent / 3, 1e-9);
        const auto rounds = static_cast<std::uint32_t>(std::clamp(wanted, 5.0, static_cast<double>(most_rounds)));
        run(count, bytes, rounds);
        return {typical(whole_), typical(first_), typical(rest_)};
    }

    [[nodiscard]] std::uint64_t eager_limit() override {
        std::uint64_t good = 0, bad = 0;
        for (std::uint64_t bytes = 64; bytes <= most_eager && bad == 0; bytes *= 2)
            (is_eager(bytes) ? good : bad) = bytes;
        if (bad == 0) return good;
        while (bad - good > std::max<std::uint64_t>(good / 16, 64)) {
            const std::uint64_t middle = good + (bad - good) / 2;
            (is_eager(middle) ? good : bad) = middle;
        }
        return good;
    }

private:
    static constexpr double longest_phase = 0.003;  // seconds
    static constexpr std::uint64_t most_eager = 64 * 1024;

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
            const Time begin = now();
            talk_.start_send(partner_, Talk::About::data, std::span(buffer_).first(bytes), messages[0]);
            const Time one = now();
            for (std::uint32_t i = 1; i < count; ++i)
                talk_.start_send(partner_, Talk::About::data, std::span(buffer_).first(bytes), messages[i]);
            const Time all = now();
            talk_.finish(answer, partner_);
            if (shared_) std::memcpy(buffer_.data(), answers.span().data(), bytes);
            const Time end = now();
            for (const Message& message : messages) talk_.finish(message, partner_);
            whole_.push_back(end - begin);
            first_.push_back(one - begin);
            rest_.push_back(count > 1 ? Time{(all - one).ps / (count - 1)} : Time{});
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
    PageVector<std::byte> buffer_;
    bool shared_ = false;
    std::vector<Time> whole_, first_, rest_;
};

Time clock_cost() {
    std::vector<Time> costs;
    for (int i = 0; i < 64; ++i) {
        const Time a = now();
        costs.push_back(now() - a);
    }
    return typical(costs);
}

// Costs of `work` on buffers that fit the second-level cache, a byte.
template <class Work>
std::int64_t cost_of(Work work, std::uint64_t bytes) {
    std::vector<Time> times;
    for (int i = 0; i < 9; ++i) {
        const Time begin = now();
        work();
        times.push_back(now() - begin);
    }
    return std::max<std::int64_t>(1, cost_of_byte(typical(times), bytes));
}

model::LocalCosts local_costs(std::size_t count) {
    PageVector<double> from(count, 1.0), to(count, 2.0);
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
    costs.step = model::assumed::step;
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

}  // namespace

Time typical(std::vector<Time>& times) {
    const auto quarter = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), quarter, times.end());
    return *quarter;
}

std::unique_ptr<Trips> make_meter(Talk& talk, Rank partner) {
    return std::make_unique<Meter>(talk, partner);
}

void tell_all(Talk& talk, std::string_view text) {
    const Command command{Command::Kind::end, 0, 0, 0, text.size()};
    for (std::uint32_t rank = 1; rank < talk.transport().size(); ++rank) {
        talk.send(Rank{rank}, Talk::About::command, std::as_bytes(std::span(&command, 1)));
        talk.send(Rank{rank}, Talk::About::content, std::as_bytes(std::span(text)));
    }
}

std::vector<std::byte> serve(Talk& talk) {
    PageVector<std::byte> buffer;
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
                Time least = meter.trip(1, 8, 17, false).whole;
                for (int again = 0; again < 3; ++again) least = std::min(least, meter.trip(1, 8, 17, false).whole);
                trips.push_back(least);
            }
            round_trip = Time{(trips[0] + trips[1] + trips[2]).ps / 3};
        }
        Meter meter(talk, Rank{near[near.size() / 2]});
        charges.way = costs_of_way(meter, {Way::near, crowded, clock_cost(), round_trip}, charges.free);
        charges.cold->large_byte = cost_of_byte(Time{meter.trip(1, cold_message, 3, false).whole.ps / 2}, cold_message);
        charges.cold->shared_byte =
            std::min(charges.cold->large_byte,
                     cost_of_byte(Time{meter.trip(1, cold_message, 3, true).whole.ps / 2}, cold_message));
    }
    if (!far.empty()) {
        Meter meter(talk, Rank{far[0]});
        std::uint32_t free = 1;
        charges.far = costs_of_way(meter, {Way::far, crowded, clock_cost(), {}}, free);
        charges.free = free;
        if (near.empty()) charges.way = *charges.far;
    }
    if (!near.empty() && !plausible(charges.way, Way::near, crowded)) return {};
    if (charges.far && !plausible(*charges.far, Way::far, crowded)) return {};
    return charges;
}

}  // namespace loom::coll
