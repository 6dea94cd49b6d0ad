#include "twin/plugin/client.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

namespace loom::twin {

namespace {

// The machine's, whatever the program's own clock says.
std::int64_t processor_nanoseconds() {
    timespec time{};
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[noreturn]] void fail_stopped(const Slot& slot) {
    if (slot.stopped.load(std::memory_order_relaxed) == Slot::killed)
        throw Error("a fault of the scenario has taken this rank");
    throw Error("the job came to no end, or its simulation failed: see what loom twin run says");
}

// Null when it is not what a launcher of this version makes.
void* map(const std::string& name) {
    const int file = open(name.c_str(), O_RDWR | O_CLOEXEC);
    struct stat found {};
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (fstat(file, &found) == 0 && found.st_size >= static_cast<off_t>(sizeof(SlotsHeader)))
        memory = mmap(nullptr, static_cast<std::size_t>(found.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return nullptr;
    const auto& header = *static_cast<const SlotsHeader*>(memory);
    const auto bytes = static_cast<std::uint64_t>(found.st_size);
    const bool fits = header.version == SlotsHeader::current_version && header.bytes == bytes &&
                      header.hosts_at <= bytes && header.slots_at <= bytes &&
                      header.ranks <= (bytes - header.slots_at) / sizeof(Slot);
    if (fits) return memory;
    munmap(memory, bytes);
    return nullptr;
}

Client* make(Client* (*with)(void*, Rank)) {
    const auto name = settings::read(Setting::twin);
    const auto number = settings::read(Setting::rank);
    if (!name || !number) return nullptr;
    std::uint32_t rank = 0;
    if (std::from_chars(number->data(), number->data() + number->size(), rank).ec != std::errc{}) return nullptr;
    void* const memory = map(*name);
    if (memory == nullptr || rank >= static_cast<const SlotsHeader*>(memory)->ranks) return nullptr;
    return with(memory, Rank{rank});
}

}  // namespace

// Never destroyed: clocks are read to the last.
Client* Client::get() {
    static Client* const client = make([](void* memory, Rank rank) { return new Client(memory, rank); });
    return client;
}

Client::Client(void* memory, Rank rank)
    : header_(static_cast<SlotsHeader*>(memory)),
      slot_(reinterpret_cast<Slot*>(static_cast<std::byte*>(memory) + header_->slots_at) + rank.value),
      rank_(rank),
      process_(getpid()) {}

std::span<const std::uint32_t> Client::hosts() const {
    const auto* const first = reinterpret_cast<const std::byte*>(header_) + header_->hosts_at;
    return {reinterpret_cast<const std::uint32_t*>(first), header_->ranks};
}

Time Client::now() {
    ahead_ += header_->look;
    return {slot_->now.load(std::memory_order_relaxed) + ahead_};
}

// What was begun before it goes first.
void Client::compute(Time duration) {
    if (duration <= Time{}) return;
    if (attached_ && !over_ && slot_->posted != 0) ask(Ask::compute);
    ahead_ += duration.ps;
}

void Client::sleep_until(Time when) {
    if (!attached_ || over_) {
        ahead_ = std::max(ahead_, when.ps - slot_->now.load(std::memory_order_relaxed));
        return;
    }
    ask(Ask::sleep, {static_cast<std::uint64_t>(std::max<std::int64_t>(0, when.ps))});
}

void Client::count_processor_time() {
    if (header_->processor <= 0) return;
    const std::int64_t now = processor_nanoseconds();
    if (processor_since_ != 0)
        ahead_ += static_cast<std::int64_t>(static_cast<double>(now - processor_since_) * 1000 * header_->processor);
    processor_since_ = now;
}

void Client::put(Question& question, Ask what, std::initializer_list<std::uint64_t> arguments) {
    question.ask = what;
    std::copy(arguments.begin(), arguments.end(), question.arguments);
}

void Client::post(Ask what, std::initializer_list<std::uint64_t> arguments) {
    // Where processor time counts, it counts before what it was spent on.
    if (slot_->posted == Slot::most_posted || header_->processor > 0) ask(Ask::compute);
    put(slot_->post[slot_->posted++], what, arguments);
}

const Slot& Client::ask(Ask what, std::initializer_list<std::uint64_t> arguments) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) throw UsageError("two threads of a rank use Loomband at once, which virtual time does not know");
    if (over_) throw Error("this rank has closed its world");
    if (getpid() != process_) throw UsageError("a process that a rank forked has no rank of its own");
    if (slot_->stopped.load(std::memory_order_acquire) != 0) fail_stopped(*slot_);
    count_processor_time();
    put(slot_->question, what, arguments);
    slot_->ahead = std::exchange(ahead_, 0);
    give_turn(*slot_, Turn::simulation);
    wait_for_turn(*slot_, Turn::program, 0);
    if (header_->processor > 0) processor_since_ = processor_nanoseconds();
    ends_.insert(ends_.end(), slot_->end, slot_->end + std::min(slot_->ends, Slot::most_ends));
    // Behind the last answer the simulation may be over.
    if (what != Ask::finished && slot_->stopped.load(std::memory_order_acquire) != 0) fail_stopped(*slot_);
    return *slot_;
}

void Client::attach() {
    if (attached_) return;
    ask(Ask::attach, {static_cast<std::uint64_t>(process_)});
    attached_ = true;
}

void Client::finished() {
    if (over_ || !attached_) return;
    ask(Ask::finished);
    over_ = true;
}

}  // namespace loom::twin
