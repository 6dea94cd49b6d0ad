// Going on after a loss: those who are left agree on who that is, although more may be lost meanwhile.
//
// Flooding with early decision. In each round every rank says what it knows to all that it takes for alive, and hears
// from each of them, or of its loss. A rank that heard from all, and that all know of the same losses, has decided:
// every other rank that heard from all has heard the same. A rank that hears of a decision takes it over. After that it
// takes part in one more round, with those that had not decided before it: so that all of them hear of it, and nothing
// that was said is left over. Three rounds where nothing happens meanwhile, one more for each round in which a rank
// dies.
#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/world_state.hpp"

namespace loom::coll {

namespace {

using transport::Message;

// No communicator's: tags of this context and those of collectives never meet.
constexpr std::uint64_t recovery_context = 14;
static_assert(recovery_context < Communicator::first_context);
constexpr std::uint32_t most_rounds = 1u << 12, most_agreements = 1u << 12;  // until numbers are used again

class Flood {
public:
    // What is known: two values, then a bit for each member that is lost.
    struct Known {
        std::uint64_t all_bits = ~std::uint64_t{0};  // and
        std::uint64_t most = 0;                      // maximum
        std::uint64_t decided = 0;
        std::vector<std::uint64_t> lost;
    };

    Flood(Communicator::State& state, Known mine)
        : state_(state), known_(std::move(mine)), number_(state.agreements++ % most_agreements) {
        known_.lost.assign((state.members.size() + 63) / 64, 0);
        has_decided_.assign(state.members.size(), false);
    }

    Known run() {
        for (std::uint32_t round = 0; round < most_rounds; ++round) {
            const bool decided = known_.decided != 0;
            if (!decided) note_losses();
            partners_.assign(size(), false);
            for (std::size_t member = 0; member < size(); ++member)
                partners_[member] = member != me() && !is_lost(member) && !has_decided_[member];
            say(round);
            hear(round);
            if (decided) return std::move(known_);
        }
        throw Error("the ranks that are left do not come to an agreement");
    }

private:
    [[nodiscard]] bool is_lost(std::size_t member) const { return (known_.lost[member / 64] >> member % 64 & 1) != 0; }
    void lose(std::size_t member) { known_.lost[member / 64] |= std::uint64_t{1} << member % 64; }
    [[nodiscard]] std::size_t size() const { return state_.members.size(); }
    [[nodiscard]] std::size_t me() const { return state_.group.me.value; }
    [[nodiscard]] transport::Tag tag(std::uint32_t round) const {
        return transport::Tag{recovery_context << 44 | std::uint64_t{state_.context} << 24 |
                              std::uint64_t{number_} << 12 | round};
    }

    void note_losses() {
        const World::State::Hold hold(state_.world);
        for (std::size_t member = 0; member < size(); ++member)
            if (state_.world.transport.is_lost(state_.members[member])) lose(member);
    }

    void say(std::uint32_t round) {
        std::vector<std::uint64_t> words{known_.all_bits, known_.most, known_.decided};
        words.insert(words.end(), known_.lost.begin(), known_.lost.end());
        const World::State::Hold hold(state_.world);
        auto& letters = state_.world.letters;
        std::erase_if(letters, [](const auto& letter) { return letter->message.outcome != Message::Outcome::pending; });
        for (std::size_t member = 0; member < size(); ++member) {
            if (!partners_[member]) continue;
            // Not waited for: its receiver may be lost.
            World::State::Letter& letter = *letters.emplace_back(std::make_unique<World::State::Letter>());
            letter.words = words;
            letter.message.finished = [](Message&) {};
            (void)state_.world.transport.send(state_.members[member], tag(round),
                                              std::as_bytes(std::span(letter.words)), letter.message);
        }
    }

    void hear(std::uint32_t round) {
        struct Answer {
            Message message;
            std::vector<std::uint64_t> words;
        };
        std::vector<Answer> answers(size());
        {
            const World::State::Hold hold(state_.world);
            for (std::size_t member = 0; member < size(); ++member) {
                if (!partners_[member]) continue;
                Answer& answer = answers[member];
                answer.words.resize(3 + known_.lost.size());
                answer.message.finished = [](Message&) {};
                (void)state_.world.transport.receive(state_.members[member], tag(round),
                                                     std::as_writable_bytes(std::span(answer.words)), answer.message);
            }
        }
        wait([&] {
            return std::none_of(answers.begin(), answers.end(), [](const Answer& answer) {
                return answer.message.outcome == Message::Outcome::pending;
            });
        });
        const bool decided = known_.decided != 0;
        Known next = known_;
        bool all_alike = true;
        for (std::size_t member = 0; member < size(); ++member) {
            const Answer& answer = answers[member];
            if (answer.words.empty()) continue;
            if (answer.message.outcome != Message::Outcome::done) {
                next.lost[member / 64] |= std::uint64_t{1} << member % 64;
                all_alike = false;
                continue;
            }
            if (answer.words[2] != 0) {
                has_decided_[member] = true;
                if (known_.decided == 0)
                    known_ = {answer.words[0], answer.words[1], 1, {answer.words.begin() + 3, answer.words.end()}};
                continue;
            }
            next.all_bits &= answer.words[0];
            next.most = std::max(next.most, answer.words[1]);
            for (std::size_t i = 0; i < next.lost.size(); ++i) {
                all_alike = all_alike && answer.words[3 + i] == known_.lost[i];
                next.lost[i] |= answer.words[3 + i];
            }
        }
        if (decided || known_.decided != 0) return;
        known_ = std::move(next);
        known_.decided = all_alike ? 1 : 0;
    }

    template <class Done>
    void wait(Done&& done) {
        World::State& world = state_.world;
        transport::Pauses pauses(world.waiting, world.transport);
        while (true) {
            bool any = false;
            {
                const World::State::Hold hold(world);
                if (done()) return;
                any = world.transport.progress();
                if (!any) any = world.engine.look_for_losses();
            }
            if (!any) pauses.next();
        }
    }

    Communicator::State& state_;
    Known known_;
    std::uint32_t number_;
    std::vector<bool> has_decided_;  // by member: it said so
    std::vector<bool> partners_;     // of this round
};

}  // namespace

std::uint64_t Communicator::agree(std::uint64_t bits) const {
    return Flood(*state_, {.all_bits = bits, .lost = {}}).run().all_bits;
}

std::vector<Rank> Communicator::lost() const {
    const World::State::Hold hold(state_->world);
    std::vector<Rank> all;
    for (std::uint32_t member = 0; member < size(); ++member)
        if (state_->world.transport.is_lost(state_->members[member])) all.push_back(Rank{member});
    return all;
}

// As in agree_on_context(), among those who are left.
Communicator Communicator::shrink() const {
    World::State& world = state_->world;
    std::uint32_t floor = first_context;
    while (floor < contexts) {
        const auto found = Flood(*state_, {.most = world.free_context(floor), .lost = {}}).run();
        const auto agreed = static_cast<std::uint32_t>(found.most);
        const bool is_free = world.take_context(agreed);
        const auto left = Flood(*state_, {.all_bits = is_free ? 1u : 0u, .lost = {}}).run();
        if (left.all_bits != 0) {
            std::vector<Rank> members;
            for (std::size_t i = 0; i < state_->members.size(); ++i)
                if ((left.lost[i / 64] >> i % 64 & 1) == 0) members.push_back(state_->members[i]);
            Communicator made(world.add(std::make_unique<State>(world, std::move(members), agreed)));
            world.give_up_context(agreed);
            return made;
        }
        if (is_free) world.give_up_context(agreed);
        floor = agreed + 1;
    }
    World::State::refuse_more_communicators();
}

}  // namespace loom::coll
