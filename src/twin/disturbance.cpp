#include "twin/disturbance.hpp"

#include <algorithm>
#include <utility>

namespace loom::twin {

using transport::Message;
using transport::Notification;

namespace {

constexpr std::uint64_t shared_stream = 0x6f72646572000000u;  // of all ranks; the others are those of ranks
constexpr std::uint32_t halvings = 12;                        // from the longest to the shortest delays
constexpr Time most = seconds(86400.0);                       // of a delay: sums cannot overflow
constexpr std::size_t most_looked_at = 64;                    // notifications

}  // namespace

Disturbance::Disturbance(std::uint64_t seed, Time longest, Rank me)
    : seed_(random_stream(seed, me.value)()), random_(seed_) {
    longest = std::min(longest, most);
    left_ = longest * budget;
    Random shared = random_stream(seed, shared_stream);
    constexpr std::uint32_t one_computes = 8;
    constexpr std::uint32_t shares[] = {1, 1, 2, 8};
    way_ = shared.below(one_computes) == 0 ? Way::computation : static_cast<Way>(shared.below(3));
    one_at_a_time_ = shared.below(2) == 0;
    const std::uint32_t halved = shared.below(2) == 0 ? 0 : shared.below(halvings);
    size_ = Time{std::max<std::int64_t>(longest.ps >> halved, 1000)};
    one_in_ = shares[shared.below(std::size(shares))];
    if (way_ == Way::senders && random_.below(one_in_) == 0) of_sender_ = draw_delay(random_);
    if (way_ == Way::computation && random_.below(2) == 0) slower_ = 1 + 3 * random_.unit();
}

Time Disturbance::draw_delay(Random& random) const {
    return {static_cast<std::int64_t>(static_cast<double>(size_.ps) * random.unit())};
}

Disturbance::Pair& Disturbance::pair(Rank to) {
    const auto [at, is_new] = pairs_.try_emplace(to.value);
    if (is_new && way_ == Way::pairs) {
        Random random = random_stream(seed_, to.value);
        if (random.below(one_in_) == 0) at->second.constant = draw_delay(random);
    }
    return at->second;
}

Time Disturbance::delay(const Pair& pair) {
    Time wanted = of_sender_ + pair.constant;
    if (way_ == Way::messages && random_.below(one_in_) == 0) wanted = draw_delay(random_);
    if (wanted > left_) return {};
    left_ -= wanted;
    return wanted;
}

std::optional<Time> Disturbance::hold(Outgoing& outgoing, Rank to, Time now) {
    Pair& way = pair(to);
    way.due = std::max(way.due, now + delay(way));
    if (way.due == now && way.held == 0) return {};
    ++way.held;
    held_.emplace(way.due, Held{&outgoing, to});
    return way.due;
}

Outgoing* Disturbance::release(Time now) {
    if (held_.empty() || held_.begin()->first > now) return nullptr;
    const Held first = held_.begin()->second;
    held_.erase(held_.begin());
    --pair(first.to).held;
    return first.outgoing;
}

Time Disturbance::computation(Time duration) const {
    return slower_ == 1 ? duration : Time{static_cast<std::int64_t>(static_cast<double>(duration.ps) * slower_)};
}

std::vector<Message*> Disturbance::next(std::vector<Message*>& finished) {
    std::vector<Message*> result;
    if (one_at_a_time_ && !finished.empty()) {
        std::swap(finished[random_.below(static_cast<std::uint32_t>(finished.size()))], finished.back());
        result.push_back(finished.back());
        finished.pop_back();
    } else {
        result.swap(finished);
        random_.shuffle(std::span(result));
    }
    for (const Message* each : result) saw(each->tag.value * 0x10001 + each->peer.value);
    return result;
}

Notification Disturbance::next(std::deque<Notification>& notifications) {
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < std::min(notifications.size(), most_looked_at); ++i)
        if (std::none_of(firsts.begin(), firsts.end(),
                         [&](std::size_t first) { return notifications[first].from == notifications[i].from; }))
            firsts.push_back(i);
    const auto chosen = notifications.begin() +
                        static_cast<std::ptrdiff_t>(firsts[random_.below(static_cast<std::uint32_t>(firsts.size()))]);
    const Notification result = *chosen;
    notifications.erase(chosen);
    saw(~((std::uint64_t{result.from.value} << 32) + result.value));
    return result;
}

void Disturbance::saw(std::uint64_t what) {
    order_ = (order_ ^ what) * 0x9e3779b97f4a7c15u;
    order_ ^= order_ >> 29;
}

}  // namespace loom::twin
