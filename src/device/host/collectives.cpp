#include "device/host/collectives.hpp"

#include <algorithm>
#include <cstring>

#include "device/host/words.hpp"

namespace loom::device {

namespace {

// What a host tells the others; ranges follow when a window is made.
struct Header {
    std::uint32_t function = 0;
    std::int32_t argument = 0;
};

constexpr std::uint32_t none = 0xffffffffu;  // DCUDA_WIN_NONE

}  // namespace

void Collectives::ask(std::uint32_t rank, const Asked& what) {
    const std::uint32_t start = tables_.context().world_start;
    for (std::uint32_t other = 0; other < asked_.size(); ++other)
        if (asked_[other] && !asked_[other]->same(what))
            throw Error("rank " + std::to_string(start + rank) + " calls " + in_words(what) + " where rank " +
                        std::to_string(start + other) + " calls " + in_words(*asked_[other]));
    asked_[rank] = what;
    ++count_;
}

bool Collectives::is_world() const {
    const Asked& what = *asked_[0];
    if (what.function == Function::win_create) return what.argument == DCUDA_COMM_WORLD;
    if (what.function == Function::win_free) return what.argument % 2 == 0;
    return true;
}

std::vector<std::byte> Collectives::own_part() const {
    const Header header{static_cast<std::uint32_t>(asked_[0]->function), asked_[0]->argument};
    std::vector<WindowRange> ranges;
    if (asked_[0]->function == Function::win_create)
        for (const auto& each : asked_)
            ranges.push_back({each->size == 0 ? 0 : each->base - tables_.context().memory, each->size});
    std::vector<std::byte> part(sizeof header + ranges.size() * sizeof(WindowRange));
    std::memcpy(part.data(), &header, sizeof header);
    if (!ranges.empty()) std::memcpy(part.data() + sizeof header, ranges.data(), ranges.size() * sizeof(WindowRange));
    return part;
}

std::optional<std::uint32_t> Collectives::step(bool is_quiet) {
    if (count_ < asked_.size()) return {};
    if (asked_[0]->function == Function::finish && !is_quiet && !under_way_) return {};
    std::vector<std::vector<std::byte>> parts;
    if (is_world()) {
        if (!under_way_) network_.exchange(own_part());
        under_way_ = true;
        auto all = network_.exchanged();
        if (!all) return {};
        parts = std::move(*all);
    } else {
        parts.assign(starts_.size() - 1, {});
        parts[network_.process()] = own_part();
    }
    const std::uint32_t answer = settle(parts);
    under_way_ = false;
    count_ = 0;
    std::fill(asked_.begin(), asked_.end(), std::nullopt);
    return answer;
}

std::uint32_t Collectives::settle(const std::vector<std::vector<std::byte>>& parts) {
    const Asked what = *asked_[0];
    for (std::size_t process = 0; process < parts.size(); ++process) {
        if (parts[process].empty()) continue;
        const std::uint64_t ranges =
            what.function == Function::win_create ? starts_[process + 1] - starts_[process] : 0;
        Header header;
        if (parts[process].size() < sizeof header) throw Error("an exchange between hosts is too short");
        std::memcpy(&header, parts[process].data(), sizeof header);
        const Asked theirs{static_cast<Function>(header.function), header.argument, 0, 0};
        if (!theirs.same(what))
            throw Error("ranks of this device call " + in_words(what) + " where those from rank " +
                        std::to_string(starts_[process]) + " on call " + in_words(theirs));
        if (parts[process].size() != sizeof header + ranges * sizeof(WindowRange))
            throw Error("an exchange between hosts has the wrong length");
    }
    if (what.function == Function::win_create) return create(parts);
    if (what.function == Function::win_free)
        tables_.window(static_cast<std::uint32_t>(what.argument) % most_windows).id = -1;
    finished_ = what.function == Function::finish;
    return 0;
}

std::uint32_t Collectives::create(const std::vector<std::vector<std::byte>>& parts) {
    const std::int32_t communicator = asked_[0]->argument;
    std::int32_t& next = communicator == DCUDA_COMM_WORLD ? next_world_ : next_device_;
    // The next number whose slot is free; all hosts make and free windows of the world in the same order.
    std::uint32_t tried = 0;
    while (tables_.window(static_cast<std::uint32_t>(next) % most_windows).id >= 0) {
        if (++tried == most_windows / 2) return none;
        next += 2;
    }
    const std::int32_t id = next;
    next += 2;
    const std::uint32_t slot = static_cast<std::uint32_t>(id) % most_windows;
    for (std::size_t process = 0; process < parts.size(); ++process)
        for (std::uint32_t rank = starts_[process]; rank < starts_[process + 1]; ++rank) {
            WindowRange range{};
            if (!parts[process].empty())
                std::memcpy(&range, parts[process].data() + sizeof(Header) + (rank - starts_[process]) * sizeof range,
                            sizeof range);
            if (process == network_.process()) range.base += tables_.context().memory;
            tables_.range(slot, rank) = range;
        }
    tables_.window(slot) = {id, communicator};
    return static_cast<std::uint32_t>(id);
}

std::string Collectives::about(std::uint32_t window) const {
    const auto id = static_cast<std::int32_t>(window);
    const bool was = id >= 0 && id < (id % 2 == 0 ? next_world_ : next_device_);
    return "window " + std::to_string(id) + (was ? " was freed" : " was never created");
}

}  // namespace loom::device
