// What is done when nothing arrives: sleeping, and finding out who will never send again.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "loom/base/error.hpp"
#include "transport/verbs/requests.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t rest_every_ns = 1'000'000;
constexpr std::uint64_t probe_every_ns = 100'000'000;

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
}

}  // namespace

// Called now and then: asks the launcher, and peers of whom we wait for something. Costs a look at the clock.
void VerbsTransport::rest() {
    const std::uint64_t now = now_ns();
    if (now - last_rest_ns_ < rest_every_ns) return;
    last_rest_ns_ = now;
    ask_launcher();
    if (now - last_probe_ns_ < probe_every_ns) return;
    last_probe_ns_ = now;
    for (Peer& peer : peers_) {
        if (peer.rank == me_ || peer.lost) continue;
        if (peer.receives.empty() && peer.sends.empty() && peer.waiting.empty() && peer.writing.empty() &&
            peer.reading.empty())
            continue;
        if (!peer.probing) {
            peer.probing = true;
            ibv_sge word{reinterpret_cast<std::uint64_t>(&peer.reported), 8, 0};
            post_write(peer, {&word, 1}, peer.inbox_address, peer.key, IBV_SEND_INLINE | IBV_SEND_SIGNALED,
                       request_id(peer.rank, RequestKind::probe));
        }
        for (Message* send = peer.sends.front(); send != nullptr; send = peer.lost ? nullptr : send->next)
            if (send->bytes > peer.eager_limit)
                send_control(peer, Kind::offer, send->tag, Offer{send->bytes});  // again: the receive may come yet
    }
}

// Only notes it, as note_completions() does: the caller may be in the middle of a send.
void VerbsTransport::hear_of_losses() {
    const auto gone = bootstrap_.lost();
    if (!gone || *gone == me_ || gone->value >= peers_.size()) return;
    Peer& peer = peers_[gone->value];
    if (peer.lost || std::find(gone_.begin(), gone_.end(), *gone) != gone_.end()) return;
    peer.broken = true;
    gone_.push_back(*gone);
}

void VerbsTransport::ask_launcher() {
    hear_of_losses();
    while (!gone_.empty()) {
        const Rank next = gone_.front();
        gone_.erase(gone_.begin());
        lose(peers_[next.value], "it ended");
    }
}

void VerbsTransport::lose(Peer& peer, const std::string& why) {
    if (peer.lost) return;
    peer.lost = true;
    if (!first_lost_) {
        first_lost_ = peer.rank;
        lost_why_ = why;
    }
    // Nothing of it may reach memory that is the program's again.
    ibv_qp_attr stop{};
    stop.qp_state = IBV_QPS_ERR;
    device_.adapter.functions.modify_qp(peer.qp.get(), &stop, IBV_QP_STATE);
    outstanding_ -= std::min<std::uint64_t>(outstanding_, peer.covered.size());
    peer.covered.clear();
    peer.open = peer.unsignaled = 0;
    waiting_frames_ -= static_cast<std::uint32_t>(peer.waiting.size());
    MessageList over;
    for (const WaitingFrame& frame : peer.waiting)
        if (frame.message != nullptr) over.push(*frame.message);
    peer.waiting.clear();
    while (Message* const message = peer.sends.pop()) {
        if (message->bytes > peer.eager_limit) --large_sends_;
        over.push(*message);
    }
    while (Message* const message = peer.writing.pop()) {
        --large_sends_;
        over.push(*message);
    }
    for (MessageList* list : {&peer.receives, &peer.reading})
        while (Message* const message = list->pop()) {
            if (message->transfer != no_transfer) forget_expected(*message);
            over.push(*message);
        }
    peer.readies.clear();
    std::erase_if(peer.unexpected, [](const Unexpected& early) { return early.loan.has_value(); });
    for (std::uint32_t slot = 0; slot < lent_.size(); ++slot)
        if (lent_[slot].message != nullptr && lent_[slot].message->peer == peer.rank) forget_loan(peer, slot);
    while (Message* const message = over.pop()) {
        if (const auto source = sources_.find(message); source != sources_.end()) {
            registrations_.release(*source->second);
            sources_.erase(source);
        }
        finish(*message, Message::Outcome::lost);
    }
}

void VerbsTransport::set_events(bool on) {
    events_ = on;
    armed_ = false;
    const std::uint64_t flag = on ? 1 : 0;
    for (Peer& peer : peers_) {
        if (peer.rank == me_ || peer.lost) continue;
        // On another host's frames a bell costs nothing, and to be told of it would take longer than what it is for:
        // what has left without one wakes nobody.
        if (peer.far && (!on || std::exchange(peer.asked_to_ring, true))) continue;
        ibv_sge word{reinterpret_cast<std::uint64_t>(&flag), 8, 0};
        post_write(peer, {&word, 1}, peer.inbox_address + offsetof(Inbox, wants_events), peer.key, IBV_SEND_INLINE,
                   request_id(peer.rank, RequestKind::frame));
    }
}

// Takes out what woke us, and puts as much back for the next time: without room a peer could not go on.
int VerbsTransport::drain_wakes() {
    ibv_wc wakes[32];
    int taken = 0;
    while (true) {
        const int count = ibv_poll_cq(device_.received.get(), 32, wakes);
        if (count <= 0) break;
        taken += count;
    }
    if (taken != 0) device_.post_wakes(static_cast<std::uint32_t>(taken));
    return taken;
}

// Asks to be woken again: after that, whatever comes next is an event. Nothing is missed because everything is looked
// at once more after asking.
bool VerbsTransport::take_wakes() {
    if (fired_.exchange(false)) armed_ = false;
    if (drain_wakes() != 0) armed_ = false;  // that may be what was asked for
    if (armed_) return false;
    ibv_req_notify_cq(device_.received.get(), 1);
    ibv_req_notify_cq(device_.sent.get(), 0);
    armed_ = true;
    return true;  // look again before sleeping
}

void VerbsTransport::sleep(std::chrono::microseconds most) {
    if (const auto wait = device_.adapter.functions.wait; wait != nullptr) {
        const int why = wait(device_.channel.get(), bell_, static_cast<std::uint64_t>(most.count()) * 1000);
        if (why < 0) throw Error("verbs: the device is gone");
        if ((why & LOOM_WAIT_OTHER) != 0) quieten_bell();
        if ((why & LOOM_WAIT_EVENT) != 0) fired_ = true;
        return;
    }
    pollfd both[2] = {{device_.channel->fd, POLLIN, 0}, {bell_, POLLIN, 0}};
    const timespec limit{most.count() / 1'000'000, most.count() % 1'000'000 * 1000};
    if (ppoll(both, 2, &limit, nullptr) <= 0) return;
    if ((both[1].revents & POLLIN) != 0) quieten_bell();
    if ((both[0].revents & POLLIN) != 0) {
        const verbs::Functions& f = device_.adapter.functions;
        ibv_cq* queue = nullptr;
        void* context = nullptr;
        while (f.get_cq_event(device_.channel.get(), &queue, &context) == 0) {
            f.ack_cq_events(queue, 1);
            fired_ = true;  // another thread may be about to arm: what it notes must not hide this
        }
    }
}

void VerbsTransport::quieten_bell() const {
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto done = ::read(bell_, &rung, sizeof rung);
}

void VerbsTransport::hush(bool on) {
    if (any_far_ && device_.adapter.functions.hush != nullptr)
        device_.adapter.functions.hush(device_.context.get(), on ? 1 : 0);
}

void VerbsTransport::interrupt() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto done = ::write(bell_, &one, sizeof one);
}

}  // namespace loom::transport
