#include "session/agreement.hpp"

#include <utility>

namespace loom::session {

// A network that is needed now does not wait until the messages of a scheme are taken: it comes first, alone.
Settings Agreement::target() const {
    Settings target = settings_;
    target.controller = controller_.value_or(target.controller);
    target.network = network_.value_or(target.network);
    if (target.network != settings_.network) return target;
    target.scheme = debts_ ? Scheme::synchronous : scheme_.value_or(target.scheme);
    return target;
}

Scheme Agreement::scheme_of_sends() const {
    if (scheme_) return *scheme_;
    return heard_ ? heard_->settings.scheme : settings_.scheme;
}

void Agreement::wish(Scheme scheme, std::string reason) {
    debts_ = debts_ && scheme == Scheme::asynchronous;
    scheme_ = scheme;
    reason_ = std::move(reason);
}

void Agreement::wish(Controller controller, std::string reason) {
    controller_ = controller;
    reason_ = std::move(reason);
}

void Agreement::wish(Network network, std::string reason) {
    network_ = network;
    reason_ = std::move(reason);
}

// The program went to synchronous, sent, and went back, all while the answer to an older proposal was on its way.
void Agreement::pay_debts() {
    if (debts_ || settings_.scheme != Scheme::asynchronous || scheme_ == Scheme::synchronous) return;
    debts_ = true;
    scheme_ = Scheme::asynchronous;
    reason_ = "messages that are owed";
}

std::optional<Propose> Agreement::next(bool drained, const Resume& resume) {
    const Settings wanted = target();
    if (wanted == settings_) {
        if (!proposed_ && !heard_) {
            scheme_.reset();
            controller_.reset();
            network_.reset();
        }
        return std::nullopt;
    }
    const bool at_once = !gentle(wanted);
    if (proposed_ && (proposes_at_once() || !at_once)) return std::nullopt;
    if (heard_ && !(at_once && gentle(heard_->settings))) return std::nullopt;
    if (!at_once && !drained) return std::nullopt;
    heard_.reset();
    proposed_ = Propose{epoch_ + 1, wanted, resume, reason_};
    return proposed_;
}

void Agreement::hear(Propose proposal) {
    if (proposal.epoch != epoch_ + 1) return;  // it crossed a change
    if (proposed_) {
        const bool ours_at_once = proposes_at_once(), theirs_at_once = !gentle(proposal.settings);
        if (ours_at_once == theirs_at_once ? opener_ : ours_at_once) return;
        proposed_.reset();
    }
    heard_ = std::move(proposal);
}

std::optional<Agreement::Turn> Agreement::hear(const Ready& ready) {
    if (!proposed_ || ready.epoch != epoch_ + 1) return std::nullopt;
    return Turn{ready.settings, ready.resume, proposed_->reason, false};
}

std::optional<Agreement::Turn> Agreement::due(bool drained) {
    if (!heard_ || (gentle(heard_->settings) && !drained)) return std::nullopt;
    return Turn{heard_->settings, heard_->resume, "the other end: " + heard_->reason, true};
}

void Agreement::changed(const Settings& settings) {
    ++epoch_;
    settings_ = settings;
    proposed_.reset();
    heard_.reset();
    if (debts_ && settings.scheme == Scheme::synchronous)
        debts_ = false;  // and back, when they are paid
    else if (scheme_ == settings.scheme && !debts_)
        scheme_.reset();
    if (controller_ == settings.controller) controller_.reset();
    if (network_ == settings.network) network_.reset();
}

}  // namespace loom::session
