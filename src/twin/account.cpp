#include "twin/account.hpp"

#include <algorithm>
#include <utility>

namespace loom::twin {

void OpenOperations::begin(const transport::OperationName& operation, Time now) {
    const auto is_known = [&](const Open& each) {
        return each.operation.first == operation.first && each.what.empty();
    };
    if (operation.what.empty() && std::any_of(open_.begin(), open_.end(), is_known)) return;
    open_.push_back({operation, std::string(operation.what), now});
    open_.back().operation.what = {};
}

OpenOperations::Open OpenOperations::end(transport::Tag first) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& each) {
        return each.operation.first == first && !each.what.empty();
    });
    if (found == open_.end()) return {};
    Open ended = std::move(*found);
    open_.erase(found);
    return ended;
}

const OpenOperations::Open* OpenOperations::of(transport::Tag tag) const {
    const Open* best = nullptr;
    for (const Open& each : open_) {
        const std::uint64_t first = each.operation.first.value;
        if (tag.value < first || tag.value - first >= each.operation.tags) continue;
        if (best == nullptr || first > best->operation.first.value) best = &each;
    }
    return best;
}

bool Events::has_room() {
    if (spans_.size() + arrows_.size() < most_) return true;
    ++left_out_;
    return false;
}

void Events::add(const Span& span, std::string_view name) {
    if (!has_room()) return;
    spans_.push_back(span);
    if (name.empty()) return;
    const auto found = std::find(names_.begin(), names_.end(), name);
    spans_.back().name = static_cast<std::uint32_t>(found - names_.begin());
    if (found == names_.end()) names_.emplace_back(name);
}

void Events::add(const Arrow& arrow) {
    if (has_room()) arrows_.push_back(arrow);
}

void Events::move_to(Timeline& timeline, std::vector<Span>& spans) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : names_) {
        const auto found = std::find(timeline.names.begin(), timeline.names.end(), name);
        numbers.push_back(static_cast<std::uint32_t>(found - timeline.names.begin()));
        if (found == timeline.names.end()) timeline.names.push_back(name);
    }
    for (Span& span : spans_) span.name = numbers[span.name];
    std::stable_sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    spans = std::move(spans_);
    timeline.messages.insert(timeline.messages.end(), arrows_.begin(), arrows_.end());
    timeline.left_out += left_out_;
    arrows_ = {};
}

void Account::work_begins(Span::Kind kind, Time duration, std::uint64_t bytes) {
    under_way_.push_back({kind, duration, bytes});
}

void Account::busy(Time begin, Time end, const Work& work) {
    if (begin >= end) return;
    computing_ += end - begin;
    last_busy_ = end;
    if (!busy_.empty() && busy_.back().end == begin)
        busy_.back().end = end;
    else
        busy_.push_back({begin, end});
    if (events_ != nullptr) events_->add({.kind = work.kind, .begin = begin, .end = end, .bytes = work.bytes}, {});
}

void Account::work_ended(Time now) {
    const Work work = under_way_[ended_++];
    if (ended_ == under_way_.size()) {
        under_way_.clear();
        ended_ = 0;
    }
    busy(std::max(last_busy_, now - work.duration), now, work);
}

void Account::rested(Time since, Time now, Reason reason) {
    if (since < now) rests_.push_back({since, now, std::move(reason)});
}

void Account::count(Time begin, Time end, const Reason& reason) {
    if (begin >= end) return;
    (reason.kind == Span::Kind::send ? sending_ : waiting_) += end - begin;
    if (events_ == nullptr) return;
    events_->add({.kind = reason.kind,
                  .begin = begin,
                  .end = end,
                  .peer = reason.peer,
                  .bytes = reason.bytes,
                  .tag = reason.tag,
                  .group = reason.group},
                 reason.name);
}

// What is busy later begins at the end of the last that is known, or now where nothing is under way. Rests yet to come
// begin now at the earliest.
void Account::settle(Time now) {
    const Time known = under_way_.empty() ? now : last_busy_;
    std::size_t done = 0;
    auto next = busy_.begin();
    for (Rest& rest : rests_) {
        const Time end = std::min(rest.end, known);
        for (; next != busy_.end() && next->begin < end; ++next) {
            count(rest.begin, std::min(next->begin, end), rest.reason);
            rest.begin = std::max(rest.begin, std::min(next->end, rest.end));
            if (next->end > rest.end) break;
        }
        count(rest.begin, end, rest.reason);
        rest.begin = std::max(rest.begin, end);
        if (rest.begin < rest.end) break;
        ++done;
    }
    rests_.erase(rests_.begin(), rests_.begin() + static_cast<std::ptrdiff_t>(done));
    busy_.clear();
}

void Account::close(Time now) {
    under_way_.clear();
    ended_ = 0;
    settle(now);
}

}  // namespace loom::twin
