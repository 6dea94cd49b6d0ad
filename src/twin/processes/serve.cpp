#include "twin/processes/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "loom/base/error.hpp"

namespace loom::twin {

using transport::LocalWork;
using transport::Message;
using transport::RemoteMemory;
using transport::Tag;

namespace {

// How often we look whether the process is still there, in milliseconds of the machine.
constexpr unsigned patience = 50;
// Of the messages of a fence; no other has them.
constexpr std::uint64_t fence_tag = ~std::uint64_t{0} - 0x10000;

std::byte* address(std::uint64_t value) {
    return reinterpret_cast<std::byte*>(value);
}

std::uint64_t bit_of(bool value) {
    return value ? 1 : 0;
}

}  // namespace

// Waits for the next question; false when the process has ended.
bool Server::next() {
    while (!wait_for_turn(slot_, Turn::simulation, patience))
        if (gone_(endpoint_.rank())) return wait_for_turn(slot_, Turn::simulation, 1);
    return true;
}

void Server::run() {
    try {
        while (next()) {
            if (slot_.ahead < 0)
                throw Error(fmt::format("rank {} says it has computed a negative time", endpoint_.rank().value));
            endpoint_.compute(Time{std::exchange(slot_.ahead, 0)});
            const std::uint32_t posted = std::min(std::exchange(slot_.posted, 0u), Slot::most_posted);
            for (std::uint32_t i = 0; i < posted; ++i) begin(slot_.post[i]);
            serve(slot_.question);
            give_ends();
            if (const auto first = endpoint_.lost()) {
                slot_.any_lost = 1;
                slot_.first_lost = first->value;
            }
            slot_.now.store(endpoint_.time().ps, std::memory_order_relaxed);
            give_turn(slot_, Turn::program);
            if (finished_) return;
        }
    } catch (const Stopped&) {
        slot_.stopped.store(1, std::memory_order_release);
        give_turn(slot_, Turn::program);
        throw;
    }
    if (!attached_) return;  // a program that opens no world
    throw transport::RankLost(endpoint_.rank(), fmt::format("rank {} is gone: it ended", endpoint_.rank().value));
}

Rank Server::rank_of(std::uint64_t number) const {
    if (number >= endpoint_.size())
        throw Error(fmt::format("rank {} names rank {} of {}", endpoint_.rank().value, number, endpoint_.size()));
    return Rank{static_cast<std::uint32_t>(number)};
}

void Server::serve(const Question& question) {
    const auto& arguments = question.arguments;
    switch (question.ask) {
        case Ask::attach:
            endpoint_.memory().set_process(static_cast<pid_t>(arguments[0]));
            attached_ = true;
            return;
        case Ask::compute:
            return;
        case Ask::progress:
            if (ended_.empty()) (void)endpoint_.progress();
            return;
        case Ask::rest:
            if (ended_.empty()) endpoint_.rest();
            return;
        case Ask::sleep_for:
            if (ended_.empty()) endpoint_.sleep(std::chrono::microseconds(arguments[0]));
            return;
        case Ask::sleep:
            return endpoint_.sleep_until(Time{static_cast<std::int64_t>(arguments[0])});
        case Ask::expose:
            slot_.answers[0] = endpoint_.expose({address(arguments[0]), arguments[1]}).key;
            return;
        case Ask::unexpose:
            return endpoint_.unexpose({0, 0, arguments[0]});
        case Ask::notified: {
            const auto notification = endpoint_.next_notification();
            slot_.answers[0] = bit_of(notification.has_value());
            if (notification) slot_.answers[1] = notification->from.value;
            if (notification) slot_.answers[2] = notification->value;
            return;
        }
        case Ask::lost:
            slot_.answers[0] = bit_of(endpoint_.is_lost(rank_of(arguments[0])));
            return;
        case Ask::fence:
            return fence(question);
        case Ask::get:
            return give_value(question);
        case Ask::finished:
            finished_ = true;
            return;
        default:
            throw Error(fmt::format("rank {} asks for {}, which there is not", endpoint_.rank().value,
                                    static_cast<std::uint32_t>(question.ask)));
    }
}

Server::Mirror& Server::mirror(std::uint64_t theirs) {
    if (idle_.empty()) {
        Mirror& made = mirrors_.emplace_back();
        made.server = this;
        made.message.owner = &made;
        made.message.finished = [](Message& message) {
            auto& mirror = *static_cast<Mirror*>(message.owner);
            mirror.server->ended(mirror);
        };
        idle_.push_back(&made);
    }
    Mirror& result = *idle_.back();
    idle_.pop_back();
    result.theirs = theirs;
    return result;
}

void Server::ended(Mirror& mirror) {
    ended_.push_back({mirror.theirs, static_cast<std::uint32_t>(mirror.message.outcome)});
    idle_.push_back(&mirror);
}

void Server::begin(const Question& question) {
    const auto& arguments = question.arguments;
    const std::span data(address(arguments[2]), arguments[3]);
    Mirror& mine = mirror(question.ask == Ask::work ? arguments[2] : arguments[4]);
    Message& message = mine.message;
    bool at_once = false;
    switch (question.ask) {
        case Ask::send:
            at_once = endpoint_.send(rank_of(arguments[0]), Tag{arguments[1]}, data, message);
            break;
        case Ask::receive:
            at_once = endpoint_.receive(rank_of(arguments[0]), Tag{arguments[1]}, data, message);
            break;
        case Ask::work:
            if (arguments[0] > static_cast<std::uint64_t>(LocalWork::compute))
                throw Error(fmt::format("rank {} works at something unknown", endpoint_.rank().value));
            at_once = endpoint_.work(static_cast<LocalWork>(arguments[0]), arguments[1], message);
            break;
        case Ask::put:
            return begin_put(question, mine);
        case Ask::fetch:
            return begin_fetch(question, mine);
        default:
            throw Error(fmt::format("rank {} begins {}, which cannot be begun", endpoint_.rank().value,
                                    static_cast<std::uint32_t>(question.ask)));
    }
    if (at_once) ended(mine);
}

void Server::begin_put(const Question& question, Mirror& mine) {
    const auto& arguments = question.arguments;
    const Rank to = rank_of(arguments[0]);
    const RemoteMemory where{0, arguments[6], arguments[5]};
    const std::span<const std::byte> data(address(arguments[1]), arguments[2]);
    const bool at_once = arguments[7] != 0
                             ? endpoint_.put_notify(to, where, arguments[3], data, arguments[8], mine.message)
                             : endpoint_.put(to, where, arguments[3], data, mine.message);
    if (at_once) ended(mine);
}

void Server::begin_fetch(const Question& question, Mirror& mine) {
    const auto& arguments = question.arguments;
    const Rank from = rank_of(arguments[0]);
    const RemoteMemory where{arguments[7], arguments[6], arguments[5]};
    const auto how = static_cast<FetchKind>(arguments[8]);
    bool at_once = false;
    if (how == FetchKind::get) {
        at_once = endpoint_.get(from, where, arguments[3], {address(arguments[1]), arguments[2]}, mine.message);
    } else if (how == FetchKind::fetch_add || how == FetchKind::compare_swap) {
        using Kind = transport::Atomic::Kind;
        const transport::Atomic what{how == FetchKind::fetch_add ? Kind::fetch_add : Kind::compare_swap, arguments[9],
                                     arguments[10]};
        // Only its address is used, which is the program's.
        auto& before = *reinterpret_cast<std::uint64_t*>(arguments[1]);
        at_once = endpoint_.atomic(from, where, arguments[3], what, before, mine.message);
    } else {
        throw Error(fmt::format("rank {} fetches in a way that there is not", endpoint_.rank().value));
    }
    if (at_once) ended(mine);
}

void Server::give_ends() {
    endpoint_.say_what_finished();
    slot_.ends = static_cast<std::uint32_t>(std::min<std::size_t>(ended_.size(), Slot::most_ends));
    for (std::uint32_t i = 0; i < slot_.ends; ++i) {
        slot_.end[i] = ended_.front();
        ended_.pop_front();
    }
}

// A dissemination: everybody has come, and all that was put before can be had.
void Server::fence(const Question& question) {
    const std::uint64_t bytes = std::min<std::uint64_t>(question.arguments[0], Slot::most_text);
    put_so_far_.append(slot_.text, bytes);
    if (question.arguments[1] == 0) return;  // more of it comes
    const std::uint32_t ranks = endpoint_.size(), me = endpoint_.rank().value;
    transport::unpack(put_so_far_, values_[me]);
    put_so_far_.clear();
    for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
        bool here = false;
        Message sent, taken;
        sent.finished = [](Message&) {};
        taken.owner = &here;
        taken.finished = [](Message& message) { *static_cast<bool*>(message.owner) = true; };
        const auto from = Rank{(me + ranks - distance) % ranks}, to = Rank{(me + distance) % ranks};
        bool is_sent = false;
        sent.owner = &is_sent;
        sent.finished = taken.finished;
        here = endpoint_.receive(from, Tag{fence_tag - distance}, {}, taken);
        is_sent = endpoint_.send(to, Tag{fence_tag - distance}, {}, sent);
        while (!here || !is_sent)
            if (!endpoint_.progress()) endpoint_.rest();
        if (taken.outcome == Message::Outcome::lost) throw transport::loss_of(from, endpoint_);
    }
}

void Server::give_value(const Question& question) {
    const Rank of = rank_of(question.arguments[0]);
    const std::string key(slot_.text, strnlen(slot_.text, Slot::most_text));
    const auto found = values_[of.value].find(key);
    slot_.answers[0] = bit_of(found != values_[of.value].end());
    if (slot_.answers[0] == 0) return;
    const std::string& value = found->second;
    const std::uint64_t offset = std::min<std::uint64_t>(question.arguments[1], value.size());
    const std::uint64_t part = std::min<std::uint64_t>(value.size() - offset, Slot::most_text);
    std::memcpy(slot_.text, value.data() + offset, part);
    slot_.answers[1] = value.size();
    slot_.answers[2] = part;
}

}  // namespace loom::twin
