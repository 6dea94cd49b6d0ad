#include "session/core.hpp"

#include <fmt/format.h>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "session/micro/transport_drive.hpp"
#include "session/trace.hpp"

namespace loom::session {

Core::Core(const Start& start, Physical* ethernet, Physical* infiniband, Say say, Sealer* sealer, Trace* trace,
           Note note)
    : start_(start),
      ethernet_(ethernet),
      infiniband_(infiniband),
      say_(std::move(say)),
      note_(std::move(note)),
      agreement_(start.opener, start.epoch, start.settings),
      settling_(start.settle),
      preferred_(start.settings.network) {
    board_.now = now();
    board_.most_message = start.most_message;
    board_.own_port = start.own_port;
    board_.peer_port = start.peer_port;
    board_.reach = reach_of(start.place);
    board_.opener = start.opener;
    board_.sealer = sealer;
    board_.trace = trace;
    composition_.place = start.place;
    compose_now(start.why);
}

Core::~Core() = default;

Physical* Core::physical(Network network) const {
    return network == Network::infiniband ? infiniband_ : ethernet_;
}

bool Core::wants_infiniband_back() const {
    return start_.opener && infiniband_ != nullptr && preferred_ == Network::infiniband && !settling_.is_back() &&
           agreement_.settings().network == Network::ethernet && agreement_.target().network == Network::ethernet;
}

void Core::compose_now(std::string reason) {
    const Settings& settings = agreement_.settings();
    const bool other_network = composition_.micros.empty() || composition_.settings.network != settings.network;
    board_.epoch = agreement_.epoch();
    board_.physical = physical(settings.network);
    board_.segment_bytes = settings.network == Network::infiniband ? start_.infiniband_bytes : start_.ethernet_bytes;
    if (other_network) {  // what was learnt of one network says nothing of the other
        board_.trip = RoundTrip();
        board_.trip.least_timeout = milliseconds(board_.reach == Reach::intra ? 2 : 20);
        board_.window = Window();
    }
    board_.physical->serve(settings.scheme);
    board_.owe_ack = false;
    channel_ = compose(settings, board_.reach, board_);
    channel_->attach();
    composition_.settings = settings;
    composition_.micros = composition_of(settings, board_.reach);
    composition_.epoch = board_.epoch;
    composition_.why = reason;
    changes_.push_back({board_.now, composition_, std::move(reason)});
    if (changes_.size() > most_changes) changes_.pop_front();
    if (board_.trace != nullptr) board_.trace->changed(board_, to_string(composition_), changes_.back().reason);
    if (note_) note_(changes_.back());
}

Request Core::send(Bytes message) {
    if (message.size() > board_.most_message)
        throw UsageError(
            fmt::format("a message of {} bytes: expected at most {}", message.size(), board_.most_message));
    const auto pending = std::make_shared<Pending>();
    if (over()) {
        pending->fail();
        return pending;
    }
    ++board_.counters.messages_sent;
    if (scheme() == Scheme::synchronous) {
        // An asynchronous message that waits for a change which is wanted no more must not hold up what is behind it.
        if (agreement_.settings().scheme == Scheme::synchronous) board_.outbox.keep_all();
        board_.outbox.add(std::move(message), true, pending);
        return pending;
    }
    board_.counters.messages_replaced += board_.outbox.drop_waiting();
    board_.outbox.add(std::move(message), false, nullptr);
    pending->end();
    return pending;
}

Request Core::receive() {
    const auto pending = std::make_shared<Pending>();
    if (receives_.empty() && !board_.inbox.messages.empty()) {
        finish(*pending);
    } else if (over()) {
        pending->fail();
    } else if (scheme() == Scheme::asynchronous) {
        pending->end();
    } else {
        receives_.push_back(pending);
    }
    return pending;
}

void Core::finish(Pending& pending) {
    Incoming message = board_.inbox.pop();
    if (message.owed) board_.owe_taken = true;
    pending.end(std::move(message.data));
}

void Core::hand_over() {
    while (!receives_.empty() && !board_.inbox.messages.empty()) {
        finish(*receives_.front());
        receives_.pop_front();
    }
}

void Core::set(Scheme scheme, std::string reason) {
    agreement_.wish(scheme, std::move(reason));
}

void Core::set(Controller controller, std::string reason) {
    agreement_.wish(controller, std::move(reason));
}

void Core::prefer(Network network, std::string reason) {
    if (physical(network) == nullptr || !physical(network)->failure().empty()) return;
    preferred_ = network;
    agreement_.wish(network, std::move(reason));
}

Resume Core::resume() {
    if (agreement_.settings().scheme == Scheme::asynchronous) {  // pieces of messages are not kept
        board_.partial.clear();
        board_.arrived.offset = 0;
    }
    board_.arrived.taken = board_.inbox.taken;
    return board_.arrived;
}

void Core::follow(const Agreement::Turn& turn) {
    Physical* const next = physical(turn.settings.network);
    if (next == nullptr || (turn.settings.sealed != agreement_.settings().sealed)) {
        violate("a change to what this end does not have");
        return;
    }
    if (turn.answer && next == ethernet_ && board_.physical == infiniband_) settling_.failed(board_.now);
    channel_->detach();
    const Resume own = resume();
    if (turn.answer) say_(Ready{agreement_.epoch() + 1, turn.settings, own});
    agreement_.changed(turn.settings);
    board_.outbox.rewind(turn.peer);
    ++board_.counters.changes;
    compose_now(turn.reason);
    std::vector<Bytes> early;
    early.swap(early_);
    for (Bytes& packet : early) channel_->arrive(packet);
}

void Core::agree() {
    watch_networks();
    if (const auto turn = agreement_.due(board_.outbox.drained())) follow(*turn);
    if (over()) return;
    if (!board_.outbox.drained()) agreement_.pay_debts();
    if (const auto proposal = agreement_.next(board_.outbox.drained(), resume())) say_(*proposal);
}

// Away from a network that failed, back to it when it has been there for a while.
void Core::watch_networks() {
    if (!ethernet_->failure().empty()) return lose(ethernet_->failure());
    if (infiniband_ == nullptr) return;
    const Network used = agreement_.target().network;
    if (used == Network::infiniband && !infiniband_->failure().empty()) {
        settling_.failed(board_.now);
        agreement_.wish(Network::ethernet, infiniband_->failure());
    } else if (start_.opener && used == Network::ethernet && preferred_ == Network::infiniband &&
               infiniband_->failure().empty() && settling_.due() <= board_.now) {
        settling_.used();
        agreement_.wish(Network::infiniband, "InfiniBand has been back for " + loom::to_string(settling_.wait()));
    }
}

void Core::infiniband_is_back() {
    settling_.back(now());
}

void Core::hear(const ControlMessage& message) {
    if (over()) return;
    board_.now = now();
    if (const auto* proposal = std::get_if<Propose>(&message)) {
        agreement_.hear(*proposal);
    } else if (const auto* ready = std::get_if<Ready>(&message)) {
        if (const auto turn = agreement_.hear(*ready)) follow(*turn);
    } else if (const auto* close = std::get_if<Close>(&message)) {
        lose("the other end has closed the session" + (close->reason.empty() ? "" : ": " + close->reason));
        return;
    } else {
        violate("a message out of place on the control channel");
        return;
    }
    pump();
}

bool Core::take_segment(std::span<std::byte> packet) {
    if (packet.size() < TransportDrive::header_bytes) {
        ++board_.counters.segments_dropped;
        return true;
    }
    const std::uint32_t epoch = TransportDrive::read(packet.data()).epoch;
    if (agreement_.epoch_to_come() == epoch) {
        if (early_.size() >= most_early || packet.size() > std::max(start_.ethernet_bytes, start_.infiniband_bytes)) {
            ++board_.counters.segments_dropped;
        } else {
            early_.emplace_back(packet.begin(), packet.end());
        }
        // InfiniBand repeats nothing: what does not fit here waits in the adapter's blocks.
        return early_.size() < most_early / 2 || agreement_.settings().network == Network::ethernet;
    }
    if (agreement_.frozen()) {
        ++board_.counters.segments_dropped;
        return true;
    }
    channel_->arrive(packet);
    return true;
}

void Core::take_segments() {
    const bool reliable = agreement_.settings().network == Network::infiniband;
    for (std::size_t taken = 0; taken < batch; ++taken) {
        if (reliable && early_.size() >= most_early / 2) return;
        const std::span<std::byte> packet = board_.physical->pop();
        if (packet.empty() || !take_segment(packet)) return;
        if (*board_.broken != '\0') return violate(board_.broken);
    }
}

void Core::pump() {
    if (over()) return;
    board_.now = now();
    take_segments();
    if (over()) return;
    hand_over();
    agree();
    if (over()) return;
    if (!agreement_.frozen()) channel_->pump();
    if (*board_.broken != '\0') violate(board_.broken);
}

Time Core::wake() {
    if (over()) return never;
    Time at = agreement_.frozen() ? never : channel_->wake();
    if (start_.opener && preferred_ == Network::infiniband && agreement_.settings().network == Network::ethernet)
        at = std::min(at, settling_.due());
    return at;
}

void Core::violate(const std::string& what) {
    say_(Close{what});
    lose("the other end does not keep to the protocol: " + what);
}

void Core::close(std::string reason) {
    if (over()) return;
    say_(Close{std::move(reason)});
    lose("the session has been closed here");
}

void Core::lose(std::string why) {
    if (over()) return;
    ended_ = std::move(why);
    board_.outbox.fail_all();
    hand_over();
    for (const Request& each : receives_) each->fail();
    receives_.clear();
}

}  // namespace loom::session
