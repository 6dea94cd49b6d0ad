// Of World: who waits for whom, in words, when nothing moves.
#include <algorithm>
#include <string>

#include "loom/base/clock.hpp"
#include "loom/base/time.hpp"
#include "window/driving.hpp"

namespace loom::window {

namespace {

constexpr Time answer_within = milliseconds(1000);
constexpr std::size_t most_named = 16;  // ranks in one sentence

using Boards = std::vector<std::optional<Waits>>;

Waits::For kind_of(const Waits& waits) {
    return static_cast<Waits::For>(waits.what);
}

std::string rank_text(std::uint64_t rank) {
    return "rank " + std::to_string(rank);
}

std::string tag_text(std::uint64_t tag, std::uint64_t mask, std::uint64_t window) {
    std::string text = "any tag";
    if (mask == 0xffffffff) text = "tag " + std::to_string(tag);
    if (mask != 0xffffffff && mask != 0)
        text = "tags that are " + std::to_string(tag) + " in the bits " + std::to_string(mask);
    return text + (window == 0 ? " of any window" : " of window " + std::to_string(window));
}

std::string text_of(const Waits& waits) {
    switch (kind_of(waits)) {
        case Waits::For::nothing:
            return "waits for nothing here";
        case Waits::For::collective:
            return "is in a collective call of team " + std::to_string(waits.window);
        case Waits::For::flush:
            return "waits until what it started is finished" +
                   (waits.source == Waits::any ? std::string() : " at " + rank_text(waits.source));
        case Waits::For::notification:
            break;
    }
    std::string text = "waits for " + tag_text(waits.tag, waits.mask, waits.window);
    text += waits.source == Waits::any ? " from anybody" : " from " + rank_text(waits.source);
    if (waits.count != 1 || waits.have != 0)
        text += ", has " + std::to_string(waits.have) + " of " + std::to_string(waits.count);
    if (waits.others != 0)
        text += " (but " + std::to_string(waits.others) + (waits.others == 1 ? " other is" : " others are") +
                " there, the oldest of " + tag_text(waits.other_tag, 0xffffffff, waits.other_window) + " from " +
                rank_text(waits.other_source) + ")";
    return text;
}

std::string line_of(const Boards& boards, std::uint64_t rank, bool is_lost) {
    if (is_lost) return rank_text(rank) + " is gone";
    if (!boards[rank]) return rank_text(rank) + " does not answer: it computes, or waits elsewhere";
    return rank_text(rank) + " " + text_of(*boards[rank]);
}

// The rank that alone could end its wait.
std::optional<std::uint64_t> awaited_by(const Boards& boards, std::uint64_t rank) {
    const std::optional<Waits>& waits = boards[rank];
    if (!waits || kind_of(*waits) != Waits::For::notification || waits->source >= boards.size()) return {};
    return waits->source;
}

// "rank 0 waits for rank 2, which waits for rank 0"; empty: there is none.
std::string circle_in(const Boards& boards) {
    for (std::uint64_t begin = 0; begin < boards.size(); ++begin) {
        std::string text = rank_text(begin);
        std::uint64_t at = begin;
        for (std::size_t steps = 0; steps < boards.size(); ++steps) {
            const auto next = awaited_by(boards, at);
            if (!next) break;
            text += (steps == 0 ? " waits for " : ", which waits for ") + rank_text(*next);
            if (*next == begin) return "a circle: " + text;
            at = *next;
        }
    }
    return {};
}

bool all_wait(const Boards& boards) {
    return std::all_of(boards.begin(), boards.end(), [](const std::optional<Waits>& each) {
        return each && kind_of(*each) == Waits::For::notification;
    });
}

}  // namespace

Boards World::State::read_boards(const Waits& mine) {
    if (reads_ == nullptr) reads_ = std::make_unique<std::vector<BoardRead>>(transport.size());
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank) {
        BoardRead& read = (*reads_)[rank];
        if (rank == me.value || transport.is_lost(Rank{rank}) || !read.over) continue;
        Operation& operation = operations.begin();
        read.over = false;
        operation.owner = &read;
        operation.ended = [](Operation& ended) { static_cast<BoardRead*>(ended.owner)->over = true; };
        read.bytes.fill(std::byte{0xff});  // nonsense, unless something comes
        if (transport.get(Rank{rank}, areas[rank], 0, read.bytes, operation.message)) read.over = true;
        asked_.push_back(&operation);
    }
    const auto all_are_over = [&] {
        return std::all_of(reads_->begin(), reads_->end(), [](const BoardRead& each) { return each.over; });
    };
    Waiter waiter(*this, answer_within);
    while (!all_are_over() && !waiter.is_over())
        if (!progress()) waiter.rest();
    std::erase_if(asked_, [&](Operation* operation) {
        if (!static_cast<BoardRead*>(operation->owner)->over) return false;
        operations.end(*operation);
        return true;
    });
    Boards boards(transport.size());
    for (std::uint32_t rank = 0; rank < boards.size(); ++rank)
        if ((*reads_)[rank].over && !transport.is_lost(Rank{rank})) boards[rank] = Board::read((*reads_)[rank].bytes);
    boards[me.value] = mine;
    return boards;
}

std::string World::State::stall_text(const Waits& mine, Time after) {
    const Boards boards = read_boards(mine);
    std::string text = "after " + to_string(after) + " " + line_of(boards, me.value, false);
    if (const std::string circle = circle_in(boards); !circle.empty())
        text += "; " + circle;
    else if (all_wait(boards))
        text += "; all ranks wait, none is left that could send it";
    std::size_t named = 0;
    const auto add = [&](std::uint64_t rank) {
        if (rank == me.value || named == most_named) return;
        ++named;
        text += "; " + line_of(boards, rank, transport.is_lost(Rank{static_cast<std::uint32_t>(rank)}));
    };
    if (mine.source < boards.size()) {
        text += "; it could come from " + rank_text(mine.source);
        add(mine.source);
        return text;
    }
    for (std::uint64_t rank = 0; rank < boards.size(); ++rank) add(rank);
    if (boards.size() > most_named + 1) text += "; and others";
    return text;
}

std::string World::State::report() {
    const Boards boards = read_boards({});
    std::string text = circle_in(boards);
    if (!text.empty()) text += '\n';
    for (std::uint32_t rank = 0; rank < boards.size(); ++rank)
        text += line_of(boards, rank, transport.is_lost(Rank{rank})) + '\n';
    return text;
}

}  // namespace loom::window
