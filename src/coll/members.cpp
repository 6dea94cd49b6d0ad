#include "coll/members.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace loom::coll {

namespace {

using Order = std::shared_ptr<const std::vector<Rank>>;

// Of those who have it, the same; kept by nobody else.
Order shared_order(std::vector<Rank> ranks) {
    static std::mutex mutex;
    static std::map<std::size_t, std::weak_ptr<const std::vector<Rank>>> known;  // by length
    const std::lock_guard lock(mutex);
    const std::size_t count = ranks.size();
    if (const auto found = known.find(count); found != known.end())
        if (Order order = found->second.lock()) return order;
    std::erase_if(known, [](const auto& each) { return each.second.expired(); });
    auto order = std::make_shared<const std::vector<Rank>>(std::move(ranks));
    known.emplace(count, order);
    return order;
}

bool are_0_1_2(std::span<const Rank> ranks) {
    for (std::uint32_t i = 0; i < ranks.size(); ++i)
        if (ranks[i] != Rank{i}) return false;
    return true;
}

bool are_numbered(std::span<const std::uint32_t> hosts) {
    std::uint32_t next = 0;
    return std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
        if (host == next) ++next;
        return host < next;
    });
}

}  // namespace

Members::Members(std::vector<Rank> ranks) : are_first_(are_0_1_2(ranks)) {
    owner_ = are_first_ ? shared_order(std::move(ranks)) : std::make_shared<const std::vector<Rank>>(std::move(ranks));
    ranks_ = *owner_;
}

std::span<const std::uint32_t> hosts_of(const Members& members, std::span<const std::uint32_t> hosts,
                                        std::vector<std::uint32_t>& own) {
    if (members.are_first() && members.size() <= hosts.size() && are_numbered(hosts.first(members.size())))
        return hosts.first(members.size());
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    own.clear();
    for (const Rank member : members) {
        const auto next = static_cast<std::uint32_t>(numbers.size());
        own.push_back(numbers.emplace(hosts[member.value], next).first->second);
    }
    return own;
}

}  // namespace loom::coll
