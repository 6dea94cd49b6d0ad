#include <algorithm>
#include <map>
#include <set>

#include "device/host/words.hpp"
#include "device/job_state.hpp"

namespace loom::device {

namespace {

using Waiter = Stall::Waiter;

std::uint32_t have(Device& device, std::uint32_t rank, std::uint32_t tag) {
    const RankMemory& memory = device.tables->rank(rank);
    return load_acquire(&memory.local[tag]) + load_acquire(&memory.remote[tag]);
}

bool is_notification(Function function) {
    return function == Function::wait_notifications || function == Function::test_notifications;
}

struct Blocked {
    Device* device;
    std::uint32_t block;
    Reason why;
    [[nodiscard]] std::uint32_t rank() const { return device->tables->context().world_start + block; }
};

std::vector<Blocked> all_blocked(Devices& devices) {
    std::vector<Blocked> found;
    for (Device& device : devices)
        for (std::uint32_t i = 0; i < device.blocks->size(); ++i)
            if (const auto why = (*device.blocks)[i].waits()) found.push_back({&device, i, *why});
    return found;
}

Waiter waiter_of(const Blocked& each) {
    Waiter waiter;
    const CpuBlock& block = (*each.device->blocks)[each.block];
    waiter.rank = each.rank();
    waiter.function = name_of(each.why.function);
    waiter.tag = each.why.tag;
    waiter.count = each.why.count;
    if (is_notification(each.why.function) && block.state != nullptr)
        waiter.there = have(*each.device, each.block, each.why.tag) - block.state->consumed[each.why.tag];
    waiter.place = in_words(block.place);
    return waiter;
}

std::string in_words(const Waiter& waiter) {
    std::string text = "rank " + std::to_string(waiter.rank) + " waits in " + waiter.function;
    if (waiter.function.ends_with("notifications"))
        text += " for " + std::to_string(waiter.count) + " of tag " + std::to_string(waiter.tag) + " and has " +
                std::to_string(waiter.there);
    if (!waiter.place.empty()) text += " (" + waiter.place + ")";
    return text;
}

// Who notifies whom while waiting ranks are let go.
class Watcher final : public Observer {
public:
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> senders;  // by rank and tag

    void access(std::uint32_t, const void*, std::uint64_t, bool, const Place&) override {}
    void local_put(std::uint32_t, std::uint32_t, const void*, const void*, std::uint64_t, const Place&) override {}
    void remote_put(std::uint32_t, std::uint32_t, std::int32_t, std::uint64_t, const void*, std::uint64_t,
                    const Place&) override {}
    void local_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) override {
        senders[{target, tag}].insert(rank);
    }
    void remote_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) override {
        senders[{target, tag}].insert(rank);
    }
    void consumed(std::uint32_t, std::uint32_t, std::uint32_t) override {}
    void barrier_entered(std::uint32_t, std::int32_t) override {}
    void barrier_left(std::uint32_t, std::int32_t) override {}
    void flushed(std::uint32_t, std::int32_t) override {}
    void issued(std::uint32_t, std::uint32_t, std::uint32_t) override {}
    void arrived(std::uint32_t, std::uint32_t) override {}
};

// True: every kernel came to its end.
bool let_go(Devices& devices, std::optional<std::uint64_t> seed, Watcher& watcher) {
    for (Device& device : devices)
        for (std::uint32_t i = 0; i < device.blocks->size(); ++i) (*device.blocks)[i].observer = &watcher;
    Turns turns(devices, seed);
    constexpr int most_releases = 4096, most_sweeps = 1 << 16;
    int sweeps = 0;
    for (int i = 0; i < most_releases; ++i) {
        const std::vector<Blocked> blocked = all_blocked(devices);
        const auto next = std::find_if(blocked.begin(), blocked.end(),
                                       [](const Blocked& each) { return is_notification(each.why.function); });
        if (next == blocked.end()) return blocked.empty();
        CpuBlock& block = (*next->device->blocks)[next->block];
        block.release();
        while (turns.sweep() && ++sweeps < most_sweeps) {
        }
        if (sweeps >= most_sweeps) return false;
        for (Device& device : devices)
            if (device.host->failed()) return false;
    }
    return false;
}

struct Balance {
    std::uint32_t rank, tag;
    std::int32_t over;  // notifications that nobody used up; below 0: that were never sent
};

std::vector<Balance> balances(Devices& devices) {
    std::vector<Balance> found;
    for (Device& device : devices)
        for (std::uint32_t i = 0; i < device.blocks->size(); ++i) {
            const CpuBlock& block = (*device.blocks)[i];
            const std::uint32_t* const used = block.finished           ? block.consumed
                                              : block.state != nullptr ? block.state->consumed
                                                                       : nullptr;
            for (std::uint32_t tag = 0; used != nullptr && tag < tag_count; ++tag)
                if (const auto over = static_cast<std::int32_t>(have(device, i, tag) - used[tag]); over != 0)
                    found.push_back({device.tables->context().world_start + i, tag, over});
        }
    return found;
}

// "rank 0 waits for 1, 1 waits for 0"
std::string circle(const std::vector<Waiter>& waiters) {
    std::map<std::uint32_t, const Waiter*> by_rank;
    for (const Waiter& each : waiters) by_rank[each.rank] = &each;
    for (const Waiter& start : waiters) {
        std::vector<std::uint32_t> path;
        std::uint32_t at = start.rank;
        while (by_rank.contains(at) && std::find(path.begin(), path.end(), at) == path.end()) {
            path.push_back(at);
            const auto& senders = by_rank[at]->senders;
            const auto next = std::find_if(senders.begin(), senders.end(),
                                           [&](std::uint32_t each) { return by_rank.contains(each); });
            if (next == senders.end()) break;
            at = *next;
        }
        const auto again = std::find(path.begin(), path.end(), at);
        if (again == path.end() || (path.size() == 1 && by_rank[at]->senders != std::vector{at})) continue;
        std::string text;
        for (auto rank = again; rank != path.end(); ++rank) {
            const Waiter& waiter = *by_rank[*rank];
            const std::uint32_t from = rank + 1 == path.end() ? *again : *(rank + 1);
            text += (text.empty() ? "rank " : ", rank ") + std::to_string(*rank) + " waits for tag " +
                    std::to_string(waiter.tag) + " of rank " + std::to_string(from);
        }
        return text;
    }
    return "";
}

std::string in_list(const std::vector<Waiter>& waiters) {
    std::string text;
    for (const Waiter& each : waiters) {
        text += (text.empty() ? "" : "; ") + in_words(each);
        if (!each.senders.empty()) {
            text += ", which would come from rank";
            for (const std::uint32_t sender : each.senders) text += " " + std::to_string(sender);
        }
    }
    return text;
}

std::string idle_ranks(Devices& devices) {
    std::string text;
    for (Device& device : devices)
        for (std::uint32_t i = 0; i < device.blocks->size(); ++i)
            if ((*device.blocks)[i].ended() && !(*device.blocks)[i].finished)
                text += "; rank " + std::to_string(device.tables->context().world_start + i) +
                        " has returned without dcuda_gpu_finish";
    return text;
}

Stall lost(const std::vector<Balance>& over, std::vector<Waiter> waiters, const Balance& missing) {
    const auto name = [](const Balance& each) {
        return "tag " + std::to_string(each.tag) + " to rank " + std::to_string(each.rank);
    };
    const std::string list = in_list(waiters);
    const std::string text = "nothing moves: no rank sends " + name(missing);
    for (const Balance& each : over)
        if (each.over > 0 && each.rank == missing.rank)
            return {Stall::Kind::wrong_tag, std::move(waiters),
                    text + ", but " + name(each) + " was sent and never used; " + list};
    for (const Balance& each : over)
        if (each.over > 0 && each.tag == missing.tag)
            return {Stall::Kind::wrong_rank, std::move(waiters),
                    text + ", but " + name(each) + " was sent and never used; " + list};
    return {Stall::Kind::lost, std::move(waiters), text + "; " + list};
}

}  // namespace

std::string describe_waiting(Devices& devices) {
    std::vector<Waiter> waiters;
    for (const Blocked& each : all_blocked(devices)) waiters.push_back(waiter_of(each));
    return in_list(waiters) + idle_ranks(devices);
}

Stall diagnose(Devices& devices, std::optional<std::uint64_t> seed) {
    std::vector<Waiter> waiters, all;
    for (const Blocked& each : all_blocked(devices)) {
        all.push_back(waiter_of(each));
        if (is_notification(each.why.function)) waiters.push_back(all.back());
    }
    if (waiters.empty()) {
        const std::string text =
            "nothing moves: not all ranks make the same call; " + in_list(all) + idle_ranks(devices);
        return {Stall::Kind::collective, std::move(all), text};
    }
    Watcher watcher;
    const bool to_the_end = let_go(devices, seed, watcher);
    for (Waiter& each : waiters) {
        const auto& senders = watcher.senders[{each.rank, each.tag}];
        each.senders.assign(senders.begin(), senders.end());
    }
    const std::vector<Balance> over = balances(devices);
    // Those that waited are named before those that only would have; the last to be short first knows why.
    for (const Balance& each : over)
        if (to_the_end && each.over < 0) return lost(over, std::move(waiters), each);
    const auto orphan =
        std::find_if(waiters.begin(), waiters.end(), [](const Waiter& each) { return each.senders.empty(); });
    if (orphan != waiters.end() && !to_the_end) return lost(over, waiters, {orphan->rank, orphan->tag, -1});
    const std::string around = circle(waiters);
    const std::string text =
        "nothing moves: ranks wait for each other" + (around.empty() ? "" : ": " + around) + "; " + in_list(waiters);
    return {Stall::Kind::circular, std::move(waiters), text};
}

}  // namespace loom::device
