#include "device/host/host.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "device/host/words.hpp"
#include "loom/device/error.hpp"

namespace loom::device {

namespace {

// An immediate: the tag in the low 8 bits, the rank of the target's device above. All ones: the sender's kernel failed.
constexpr std::uint32_t failure_value = 0xffffffffu;
constexpr std::uint32_t tag_bits = 8;

std::string shortest(double value) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

bool has_second(Function function) {
    return function == Function::put || function == Function::put_notify || function == Function::win_create;
}

}  // namespace

std::uint32_t Shape::process_of(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(std::upper_bound(starts.begin(), starts.end(), rank) - starts.begin() - 1);
}

Host::Host(const Options& options, Network& network, Tables& tables, const Shape& shape, Bell& bell, Observer* observer)
    : options_(options),
      network_(network),
      tables_(tables),
      shape_(shape),
      bell_(bell),
      observer_(observer),
      collectives_(tables, network, shape.starts),
      first_(tables.size()),
      flushes_(tables.size()),
      logs_(tables.size()) {}

template <class What>
void Host::put_off(Later<What>& list, Time from, Time delay, What what) {
    list.add(options_.delays.any() ? from : Time{}, options_.delays.any() ? delay : Time{}, std::move(what));
    delayed_.fetch_add(1);
}

void Host::fail(std::exception_ptr why) {
    {
        const std::scoped_lock lock(failure_mutex_);
        if (failure_ == nullptr) failure_ = std::move(why);
    }
    failed_.store(true);
    tables_.end();
    bell_.ring();
    network_.interrupt();
}

std::exception_ptr Host::failure() const {
    const std::scoped_lock lock(failure_mutex_);
    return failure_;
}

bool Host::is_quiet() const {
    return outgoing_.empty() && started_ == completed_ && network_.idle();
}

bool Host::main_step() try {
    const std::scoped_lock lock(network_mutex_);
    bool moved = false;
    on_the_bus_.store(false);
    for (std::uint32_t rank = 0; rank < tables_.size(); ++rank)
        while (take_command(rank)) moved = true;
    moved |= outgoing_.take_due([&](const Outgoing& operation) {
        issue(operation);
        delayed_.fetch_sub(1);
    });
    moved |= network_.progress();
    moved |= complete();
    moved |= settle();
    if (tables_.is_to_end() && !failed() && thrown) {
        fail(thrown());
        moved = true;
    }
    if (failed() && !told_.load()) {
        told_.store(true);
        moved = true;
        for (std::uint32_t process = 0; process < network_.processes(); ++process)
            if (process != network_.process()) network_.notify(process, failure_value);
        network_.progress();
    }
    return moved;
} catch (...) {
    fail(std::current_exception());
    return true;
}

bool Host::take_command(std::uint32_t rank) {
    BlockManager& manager = tables_.manager(rank);
    const Ring& ring = tables_.rank(rank).commands;
    if (!has_entry(ring, manager.commands)) return false;
    const Time written = Tables::written(ring, manager.commands);
    if (options_.delays.bus.ps != 0 && now() < written + options_.delays.bus) {
        on_the_bus_.store(true);
        return false;
    }
    const Time when = options_.delays.any() ? written + options_.delays.bus : Time{};
    const Entry entry = pop(ring, manager.commands);
    if (first_[rank]) {
        const Entry first = *first_[rank];
        first_[rank].reset();
        handle(rank, first, &entry, when);
    } else if (has_second(static_cast<Function>(entry.word[0] & 0xff)) || entry.word[0] >> fault_shift != 0) {
        first_[rank] = entry;
    } else {
        handle(rank, entry, nullptr, when);
    }
    return true;
}

void Host::handle(std::uint32_t rank, const Entry& first, const Entry* second, Time when) {
    const auto function = static_cast<Function>(first.word[0] & 0xff);
    if (first.word[0] >> fault_shift != 0) return handle_fault(rank, first, *second);
    switch (function) {
        case Function::put:
        case Function::put_notify:
            return handle_put(rank, first, *second, when);
        case Function::notify: {
            const std::uint32_t to = shape_.process_of(first.word[2]);
            return put_off(
                outgoing_, when, options_.delays.wire,
                Outgoing{
                    function, rank, 0, to, 0, {}, first.word[3] | (first.word[2] - shape_.starts[to]) << tag_bits});
        }
        case Function::win_create:
            return collectives_.ask(
                rank, {function, static_cast<std::int32_t>(first.word[1]), wide(*second, 0), wide(*second, 2)});
        case Function::win_free:
            return collectives_.ask(rank, {function, static_cast<std::int32_t>(first.word[1]), 0, 0});
        case Function::init:
        case Function::finish:
        case Function::barrier:
            return collectives_.ask(rank, {function, 0, 0, 0});
        case Function::start_timer:
            timer_ = now();
            return;
        case Function::stop_timer:
            if (timer_) timings_.push_back((now() - *timer_).microseconds() / 1000);
            return;
        default:
            throw Error("a block sent a command that nobody knows: " + std::to_string(first.word[0]));
    }
}

void Host::handle_put(std::uint32_t rank, const Entry& first, const Entry& second, Time when) {
    const std::uint32_t slot = first.word[1] % most_windows, target = first.word[2];
    const std::uint32_t to = shape_.process_of(target);
    const auto* const source = reinterpret_cast<const std::byte*>(wide(second, 0));
    const std::uint64_t bytes = wide(second, 4);
    std::optional<std::uint32_t> value;
    if (static_cast<Function>(first.word[0]) == Function::put_notify)
        value = first.word[3] | (target - shape_.starts[to]) << tag_bits;
    ++started_;
    put_off(outgoing_, when, options_.delays.wire + options_.delays.of_payload(bytes),
            Outgoing{static_cast<Function>(first.word[0]),
                     rank,
                     first.word[4],
                     to,
                     tables_.range(slot, target).base + wide(second, 2),
                     {source, bytes},
                     value});
}

void Host::handle_fault(std::uint32_t rank, const Entry& first, const Entry& second) {
    const auto function = static_cast<Function>(first.word[0] & 0xff);
    std::string why = fault_in_words(first, second, collectives_.about(first.word[1]));
    if (place_of) {
        const std::string place = place_of(rank);
        if (!place.empty()) why += " (" + place + ")";
    }
    fail(std::make_exception_ptr(DeviceError(tables_.context().world_start + rank, name_of(function), why)));
}

void Host::issue(const Outgoing& operation) {
    if (observer_ != nullptr && operation.value)
        observer_->issued(tables_.context().world_start + operation.rank, network_.process(), operation.to);
    if (operation.function == Function::notify)
        network_.notify(operation.to, *operation.value);
    else
        network_.put(operation.to, operation.offset, operation.data, operation.value,
                     static_cast<std::uint64_t>(operation.rank) << 32 | operation.number);
}

bool Host::complete() {
    bool moved = false;
    while (const auto cookie = network_.next_completion()) {
        const auto rank = static_cast<std::uint32_t>(*cookie >> 32);
        ++completed_;
        moved = true;
        const std::uint32_t before = flushes_[rank].done();
        flushes_[rank].complete(static_cast<std::uint32_t>(*cookie));
        if (flushes_[rank].done() != before)
            put_off(main_writes_, now(), options_.delays.bus, Write{tables_.rank(rank).flushed, flushes_[rank].done()});
    }
    moved |= main_writes_.take_due([&](const Write& write) {
        store_release(write.to, write.value);
        delayed_.fetch_sub(1);
        bell_.ring();
    });
    return moved;
}

bool Host::settle() {
    if (const auto answer = collectives_.step(is_quiet())) put_off(acks_, now(), options_.delays.bus, *answer);
    return acks_.take_due([&](std::uint32_t answer) {
        for (std::uint32_t rank = 0; rank < tables_.size(); ++rank)
            push(tables_.rank(rank).acks, tables_.manager(rank).acks, Entry{{answer}, 0});
        delayed_.fetch_sub(1);
        bell_.ring();
    });
}

bool Host::receive_step() try {
    bool moved = false;
    {
        const std::scoped_lock lock(network_mutex_);
        while (const auto arrival = network_.next_notification()) {
            moved = true;
            if (arrival->value == failure_value) {
                fail(
                    std::make_exception_ptr(FailedElsewhere("the kernel failed on the device of ranks " +
                                                            std::to_string(shape_.starts[arrival->from]) + " and up")));
                continue;
            }
            const std::uint32_t rank = arrival->value >> tag_bits, tag = arrival->value % tag_count;
            if (rank >= tables_.size()) throw Error("a notification for a rank that is not there");
            if (observer_ != nullptr) observer_->arrived(arrival->from, network_.process());
            put_off(received_, now(), options_.delays.bus, Write{tables_.rank(rank).remote + tag, 1});
        }
    }
    moved |= received_.take_due([&](const Write& write) {
        store_release(write.to, *write.to + write.value);  // nobody else writes it
        delayed_.fetch_sub(1);
        bell_.ring();
    });
    return moved;
} catch (...) {
    fail(std::current_exception());
    return true;
}

bool Host::log_step() {
    bool moved = false;
    for (std::uint32_t rank = 0; rank < tables_.size(); ++rank)
        while (log_entry(rank)) moved = true;
    return moved;
}

bool Host::log_entry(std::uint32_t rank) {
    BlockManager& manager = tables_.manager(rank);
    const Ring& ring = tables_.rank(rank).logs;
    if (!has_entry(ring, manager.logs)) return false;
    const Entry entry = pop(ring, manager.logs);
    bell_.ring();  // whoever found the ring full
    const std::uint32_t bytes = std::min(entry.word[0] >> 8, log_bytes);
    const auto read = [&](auto value) {
        std::memcpy(&value, &entry.word[1], sizeof value);
        return value;
    };
    std::string& line = logs_[rank].line;
    switch (static_cast<LogPiece>(entry.word[0] & 0xff)) {
        case LogPiece::text:
            line.append(reinterpret_cast<const char*>(&entry.word[1]), bytes);
            break;
        case LogPiece::integer:
            line += std::to_string(read(0LL));
            break;
        case LogPiece::unsigned_integer:
            line += std::to_string(read(0ULL));
            break;
        case LogPiece::real:
            line += shortest(read(0.0));
            break;
        case LogPiece::flush:
            print(rank);
            break;
    }
    return true;
}

void Host::print(std::uint32_t rank) {
    const std::string line =
        "[" + std::to_string(tables_.context().world_start + rank) + "] " + std::exchange(logs_[rank].line, {});
    if (options_.print)
        options_.print(line);
    else
        std::fputs((line + "\n").c_str(), stdout), std::fflush(stdout);
}

}  // namespace loom::device
