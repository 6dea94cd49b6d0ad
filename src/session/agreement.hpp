// How two ends agree on what runs next: who proposes what, and whose proposal stands when both do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "session/control/message.hpp"

namespace loom::session {

// Each change begins a new epoch. The proposer sends Propose; the other end changes and answers Ready; with that the
// proposer changes too. Messages that are owed keep their scheme, so a change from synchronous to asynchronous waits,
// at both ends, until their own are taken ("gently"). Any other change is at once: the proposer listens no more to the
// epoch that ends ("frozen") and says how far it has received, and both ends send from there on again.
//
// When both propose, at once goes before gently; of two of a kind the opener's stands. Whose proposal fell proposes
// anew.
class Agreement {
public:
    Agreement(bool opener, std::uint32_t epoch, const Settings& settings)
        : opener_(opener), epoch_(epoch), settings_(settings) {}

    [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
    [[nodiscard]] const Settings& settings() const { return settings_; }
    // What this end wants; the same as settings() when it wants nothing else.
    [[nodiscard]] Settings target() const;
    // What new messages are sent as: a change to asynchronous that the other end has asked for counts already.
    [[nodiscard]] Scheme scheme_of_sends() const;
    // Segments of the present epoch are not listened to any more.
    [[nodiscard]] bool frozen() const { return proposes_at_once() || (heard_ && !gentle(heard_->settings)); }
    [[nodiscard]] bool proposing() const { return proposed_.has_value(); }
    // Both ends may already send in this epoch, though we have not heard so.
    [[nodiscard]] std::optional<std::uint32_t> epoch_to_come() const {
        return proposed_ ? std::optional(epoch_ + 1) : std::nullopt;
    }

    void wish(Scheme scheme, std::string reason);
    void wish(Controller controller, std::string reason);
    void wish(Network network, std::string reason);

    // Messages are owed that an asynchronous channel cannot carry: through synchronous, and back.
    void pay_debts();

    // What to say now, if anything.
    [[nodiscard]] std::optional<Propose> next(bool drained, const Resume& resume);

    // What a message of the peer leads to: nothing yet, or this change.
    struct Turn {
        Settings settings;
        Resume peer;  // how far the peer has received
        std::string reason;
        bool answer = false;  // with Ready
    };
    void hear(Propose proposal);
    [[nodiscard]] std::optional<Turn> hear(const Ready& ready);
    // The peer's proposal, once nothing stands against it.
    [[nodiscard]] std::optional<Turn> due(bool drained);
    // The change has been made.
    void changed(const Settings& settings);

private:
    [[nodiscard]] bool proposes_at_once() const { return proposed_ && !gentle(proposed_->settings); }
    [[nodiscard]] bool gentle(const Settings& to) const {
        return settings_.scheme == Scheme::synchronous && to.scheme == Scheme::asynchronous;
    }

    bool opener_;
    std::uint32_t epoch_;
    Settings settings_;
    std::optional<Scheme> scheme_;  // wishes
    std::optional<Controller> controller_;
    std::optional<Network> network_;
    std::string reason_;
    bool debts_ = false;
    std::optional<Propose> proposed_;  // ours, the last of this epoch
    std::optional<Propose> heard_;     // the peer's, not yet followed
};

}  // namespace loom::session
