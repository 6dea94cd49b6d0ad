#include "device/check/checker.hpp"

#include <algorithm>

#include "device/host/words.hpp"

namespace loom::device {

namespace {

constexpr std::uint32_t most_ranks = 64;
constexpr int device_shift = 48;  // of an address: the device above, the offset in its memory below

}  // namespace

Checker::Checker(std::vector<std::uint32_t> starts, std::vector<std::span<const std::byte>> memories, Words words,
                 std::function<void(Race)> found)
    : starts_(std::move(starts)),
      memories_(std::move(memories)),
      words_(std::move(words)),
      found_(std::move(found)),
      ranks_(starts_.back()),
      called_(ranks_) {
    if (ranks_ > most_ranks)
        throw UsageError("races are looked for among at most " + std::to_string(most_ranks) + " ranks, not " +
                         std::to_string(ranks_));
    const std::size_t components = ranks_ + std::size_t{ranks_} * ranks_;
    clocks_.assign(ranks_, VectorClock(components));
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) clocks_[rank].set(rank, 1);
    puts_.assign(components, 0);
}

std::uint32_t Checker::device_of(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(std::upper_bound(starts_.begin(), starts_.end(), rank) - starts_.begin() - 1);
}

std::uint32_t Checker::site(const Site& site) {
    const auto [at, fresh] = numbers_.try_emplace(site, static_cast<std::uint32_t>(sites_.size()));
    if (fresh) sites_.push_back(site);
    return at->second;
}

Race::Access Checker::in_words(const Site& site) const {
    const std::string bytes = std::to_string(site.bytes) + " bytes";
    Race::Access access{site.rank, "", device::in_words(Place{site.function, site.file, site.line})};
    switch (site.kind) {
        case Kind::read:
            access.what = "read of " + bytes;
            break;
        case Kind::write:
            access.what = "write of " + bytes;
            break;
        case Kind::put_read:
            access.what = std::string(name_of(site.function)) + " reading its buffer of " + bytes + " for rank " +
                          std::to_string(site.target);
            break;
        case Kind::put_write:
            access.what =
                std::string(name_of(site.function)) + " of " + bytes + " to rank " + std::to_string(site.target);
            break;
    }
    return access;
}

void Checker::touch(std::uint32_t device, std::uint64_t offset, std::uint64_t bytes, Touch how,
                    const VectorClock& seen) {
    if (done_ || bytes == 0) return;
    const std::uint64_t address = static_cast<std::uint64_t>(device) << device_shift | offset;
    const auto other = shadow_.touch(address, bytes, how, seen);
    if (!other) return;
    done_ = true;
    const Race::Access first = in_words(sites_[*other]), second = in_words(sites_[how.site]);
    const auto text = [](const Race::Access& access) {
        return "rank " + std::to_string(access.rank) + ": " + access.what +
               (access.place.empty() ? "" : " (" + access.place + ")");
    };
    found_(Race(first, second,
                "race at " + words_.where(device, offset) + ": " + text(first) + " and " + text(second) +
                    ", which nothing orders"));
}

void Checker::touch_own(const void* memory, std::uint64_t bytes, const Touch& how, const VectorClock& seen) {
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    for (std::uint32_t device = 0; device < memories_.size(); ++device) {
        const auto base = reinterpret_cast<std::uint64_t>(memories_[device].data());
        if (at - base < memories_[device].size()) return touch(device, at - base, bytes, how, seen);
    }
}

void Checker::access(std::uint32_t rank, const void* memory, std::uint64_t bytes, bool write, const Place& at) {
    const std::uint32_t number =
        site({write ? Kind::write : Kind::read, rank, rank, bytes, at.file, at.line, at.function});
    touch_own(memory, bytes, {rank, clocks_[rank][rank], write, number}, clocks_[rank]);
}

void Checker::local_put(std::uint32_t rank, std::uint32_t target, const void* to, const void* from, std::uint64_t bytes,
                        const Place& at) {
    const VectorClock& seen = clocks_[rank];
    const std::uint32_t read = site({Kind::put_read, rank, target, bytes, at.file, at.line, at.function});
    const std::uint32_t written = site({Kind::put_write, rank, target, bytes, at.file, at.line, at.function});
    touch_own(from, bytes, {rank, seen[rank], false, read}, seen);
    touch_own(to, bytes, {rank, seen[rank], true, written}, seen);
}

void Checker::remote_put(std::uint32_t rank, std::uint32_t target, std::int32_t window, std::uint64_t offset,
                         const void* from, std::uint64_t bytes, const Place& at) {
    const std::uint32_t component = way(rank, target), number = ++puts_[component];
    last_puts_[{rank, window, target}] = number;
    const VectorClock& seen = clocks_[rank];
    const std::uint32_t read = site({Kind::put_read, rank, target, bytes, at.file, at.line, at.function});
    const std::uint32_t written = site({Kind::put_write, rank, target, bytes, at.file, at.line, at.function});
    touch_own(from, bytes, {component, number, false, read}, seen);
    touch(device_of(target), offset, bytes, {component, number, true, written}, seen);
}

void Checker::local_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) {
    there_[{target, tag}].push_back(clocks_[rank]);
    clocks_[rank].set(rank, clocks_[rank][rank] + 1);
}

void Checker::remote_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) {
    Sent sent{clocks_[rank], target, tag};
    sent.clock.set(way(rank, target), puts_[way(rank, target)]);
    called_[rank].push_back(std::move(sent));
    clocks_[rank].set(rank, clocks_[rank][rank] + 1);
}

void Checker::issued(std::uint32_t rank, std::uint32_t from, std::uint32_t to) {
    if (called_[rank].empty()) return;  // of a run that is over
    under_way_[{from, to}].push_back(std::move(called_[rank].front()));
    called_[rank].pop_front();
}

void Checker::arrived(std::uint32_t from, std::uint32_t to) {
    auto& under_way = under_way_[{from, to}];
    if (under_way.empty()) return;
    Sent& sent = under_way.front();
    there_[{sent.target, sent.tag}].push_back(std::move(sent.clock));
    under_way.pop_front();
}

void Checker::consumed(std::uint32_t rank, std::uint32_t tag, std::uint32_t count) {
    auto& there = there_[{rank, tag}];
    for (; count != 0 && !there.empty(); --count) {
        clocks_[rank].join(there.front());
        there.pop_front();
    }
}

std::pair<std::uint32_t, std::uint32_t> Checker::barrier_of(std::uint32_t rank, std::int32_t communicator) {
    const std::uint32_t which = communicator == 0 ? 0 : 1 + device_of(rank);
    return {which, generations_[{which, rank}]};
}

void Checker::barrier_entered(std::uint32_t rank, std::int32_t communicator) {
    Barrier& barrier =
        barriers_.try_emplace(barrier_of(rank, communicator), Barrier{VectorClock(puts_.size()), 0}).first->second;
    barrier.clock.join(clocks_[rank]);
    clocks_[rank].set(rank, clocks_[rank][rank] + 1);
}

void Checker::barrier_left(std::uint32_t rank, std::int32_t communicator) {
    const auto which = barrier_of(rank, communicator);
    const std::uint32_t device = device_of(rank);
    const std::uint32_t members = communicator == 0 ? ranks_ : starts_[device + 1] - starts_[device];
    Barrier& barrier = barriers_.at(which);
    clocks_[rank].join(barrier.clock);
    ++generations_[{which.first, rank}];
    if (++barrier.left == members) barriers_.erase(which);
}

void Checker::flushed(std::uint32_t rank, std::int32_t window) {
    const auto first = last_puts_.lower_bound({rank, window, 0});
    for (auto at = first; at != last_puts_.end() && std::get<0>(at->first) == rank && std::get<1>(at->first) == window;
         ++at)
        clocks_[rank].set(way(rank, std::get<2>(at->first)), at->second);
}

}  // namespace loom::device
