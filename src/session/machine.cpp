#include "session/machine.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "session/control/opening.hpp"

namespace loom::session {

namespace {

std::string text_of(const SocketAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const ip =
        address.storage.ss_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr)
            : &reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr;
    inet_ntop(address.storage.ss_family, ip, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), address.port());
}

}  // namespace

Machine::Machine(ControlSocket control, bool opener, const Options& options, Time deadline)
    : opener_(opener), control_(std::move(control)), settle_(options.settle) {
    nudge_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!nudge_.open()) throw IoError("cannot make an event descriptor");
    establish(options, deadline);
    thread_ = std::thread([this] { run(); });
}

Machine::~Machine() {
    close(now(), "it has been given up");
}

void Machine::establish(const Options& options, Time deadline) {
    ethernet_ = std::make_unique<Ethernet>(own_address(control_.number()));
    Hello hello = hello_of(options);
    hello.udp_port = ethernet_->port();
    hello.segment_bytes = static_cast<std::uint32_t>(control_.datagram_bytes());
    std::string without;
    if (options.infiniband) {
        try {
            infiniband_ = std::make_unique<InfiniBand>(options.whole_messages ? whole_messages : BlockPlan{});
            hello.has_infiniband = true;
            hello.queue_pairs = infiniband_->own();
        } catch (const Error& error) {
            without = fmt::format(" ({})", error.what());
        }
    }
    const Hello peer = greet(control_, opener_, hello, options.key, deadline);
    Start start = decide(opener_, hello, peer);
    start.why += without;
    start.settle = options.settle;
    SocketAddress address = peer_address(control_.number());
    address.set_port(peer.udp_port);
    ethernet_->connect(address, start.ethernet_bytes);
    Begin begin;
    if (start.settings.network == Network::infiniband) {
        try {
            infiniband_->connect(peer.queue_pairs);
            begin.infiniband = true;
        } catch (const Error& error) {
            start.why += fmt::format("; but {}", error.what());
        }
    }
    control_.say(begin);
    const ControlMessage answer = control_.hear_until(deadline);
    const auto* const theirs = std::get_if<Begin>(&answer);
    if (theirs == nullptr) throw Error("the other end does not begin");
    if (start.settings.network == Network::infiniband && !(begin.infiniband && theirs->infiniband)) {
        start.settings.network = Network::ethernet;
        start.why += "; the queue pairs could not be connected";
    }
    if (start.settings.network == Network::ethernet) infiniband_.reset();
    if (start.settings.sealed)
        sealer_ = std::make_unique<Sealer>(std::as_bytes(std::span(options.key)), opener_,
                                           opener_ ? hello.nonce : peer.nonce, opener_ ? peer.nonce : hello.nonce);
    if (!options.trace.empty()) {
        trace_file_.open(options.trace);
        if (!trace_file_) throw IoError("cannot write " + options.trace);
        trace_ = std::make_unique<Trace>(trace_file_, opener_, now());
    }
    if (!options.status.empty())
        status_ = std::make_unique<StatusFile>(options.status, text_of(peer_address(control_.number())), opener_);
    core_ = std::make_unique<Core>(
        start, ethernet_.get(), infiniband_.get(), [this](const ControlMessage& message) { say(message); },
        sealer_.get(), trace_.get(), options.changed);
}

void Machine::say(const ControlMessage& message) {
    try {
        control_.say(message);
    } catch (const Error& error) {
        lost_ = error.what();
    }
}

void Machine::handle(const ControlMessage& message) {
    if (const auto* reconnect = std::get_if<Reconnect>(&message); reconnect != nullptr && infiniband_) {
        answer_reconnect(*reconnect);
    } else if (const auto* connected = std::get_if<Connected>(&message); connected != nullptr && infiniband_) {
        if (opener_) {  // the other end could not
            reconnecting_ = false;
            infiniband_->give_up("the other end has no InfiniBand device that works");
        }
        if (connected->generation == generation_) core_->infiniband_is_back();
    } else {
        core_->hear(message);
    }
}

// The opener asks with queue pairs of its own; the other end answers with its, connected already.
void Machine::answer_reconnect(const Reconnect& reconnect) {
    if (uses(Network::infiniband)) return core_->close("queue pairs anew while they are in use");
    if (opener_ && (!reconnecting_ || reconnect.generation != generation_)) return;
    try {
        if (!opener_) infiniband_->remake();
        infiniband_->connect(reconnect.queue_pairs);
    } catch (const Error& error) {
        infiniband_->give_up(error.what());
        if (!opener_) say(Connected{0});
        reconnecting_ = false;
        return;
    }
    reconnecting_ = false;
    if (!opener_) {
        generation_ = reconnect.generation;
        say(Reconnect{generation_, infiniband_->own()});
    } else {
        say(Connected{generation_});
        core_->infiniband_is_back();
    }
}

void Machine::restore_infiniband() {
    if (!infiniband_ || uses(Network::infiniband)) return;
    if (!core_->wants_infiniband_back() || reconnecting_ || now() < retry_at_) return;
    retry_at_ = now() + std::max(milliseconds(10), Time{settle_.ps / 2});
    try {
        infiniband_->remake();
        reconnecting_ = true;
        say(Reconnect{++generation_, infiniband_->own()});
    } catch (const Error& error) {
        infiniband_->give_up(error.what());
    }
}

void Machine::listen() {
    try {
        control_.flush();
        while (!core_->over()) {
            const auto message = control_.hear();
            if (!message) break;
            handle(*message);
        }
    } catch (const Error& error) {
        core_->lose(error.what());
    }
}

// All that can be done now. Under the lock.
void Machine::step() {
    if (core_->over()) return;
    listen();
    core_->pump();
    restore_infiniband();
    if (!lost_.empty()) core_->lose(lost_);
    show();
    if (waiters_ > 0) progress_.notify_all();
    if (wake() < sleeping_until_) nudge();
}

void Machine::show() {
    constexpr Time interval = milliseconds(500);
    if (!status_ || (now() < shown_at_ + interval && core_->changes().back().when < shown_at_)) return;
    shown_at_ = now();
    status_->write(core_->composition(), core_->counters(), core_->changes().back().reason);
}

Time Machine::wake() const {
    Time at = core_->wake();
    if (status_) at = std::min(at, shown_at_ + milliseconds(500));
    if (infiniband_ && core_->wants_infiniband_back() && !reconnecting_) at = std::min(at, retry_at_);
    return at;
}

void Machine::nudge() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(nudge_.number(), &one, sizeof one);
}

void Machine::run() {
    std::unique_lock lock(mutex_);
    while (!stop_ && !core_->over()) {
        sleeping_until_ = Time{};
        if (infiniband_ && uses(Network::infiniband)) {
            infiniband_->drain_events();
            infiniband_->arm();  // what completes from here on wakes us; what has completed is taken below
        }
        step();
        if (core_->over()) break;
        const Time until = wake();
        sleeping_until_ = until;
        const short control = static_cast<short>(POLLIN | (control_.wants_to_write() ? POLLOUT : 0));
        const short data = static_cast<short>(POLLIN | (ethernet_->wants_to_write() ? POLLOUT : 0));
        const bool ethernet = uses(Network::ethernet);
        lock.unlock();
        sleep(until, control, ethernet, data, !ethernet && infiniband_);
        lock.lock();
    }
    progress_.notify_all();
}

void Machine::sleep(Time until, short control_events, bool ethernet, short ethernet_events, bool infiniband) {
    std::array<pollfd, 4> all{};
    nfds_t count = 0;
    all[count++] = {nudge_.number(), POLLIN, 0};
    all[count++] = {control_.number(), control_events, 0};
    if (ethernet) all[count++] = {ethernet_->number(), ethernet_events, 0};
    if (infiniband) all[count++] = {infiniband_->number(), POLLIN, 0};
    timespec limit{60, 0};
    if (until != never) {
        const std::int64_t left = std::clamp<std::int64_t>((until - now()).ps / 1000, 0, 60'000'000'000);
        limit = {left / 1'000'000'000, left % 1'000'000'000};
    }
    (void)ppoll(all.data(), count, &limit, nullptr);
    std::uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t got = read(nudge_.number(), &ignored, sizeof ignored);
}

void Machine::close(Time deadline, const std::string& reason) {
    if (core_ && !look([](const Core& core) { return core.over(); })) {
        wait([](const Core& core) { return core.drained(); }, deadline);
        const std::unique_lock lock(mutex_);
        core_->close(reason);
    }
    {
        const std::unique_lock lock(mutex_);
        stop_ = true;
        nudge();
    }
    if (thread_.joinable()) thread_.join();
    status_.reset();
    // The last word reaches the other end before the connection goes: what is not read here would take it along.
    shutdown(control_.number(), SHUT_WR);
    pollfd waiting{control_.number(), POLLIN, 0};
    for (int tries = 0; tries < 100 && poll(&waiting, 1, 10) > 0; ++tries) {
        std::array<char, 1024> rest;
        if (recv(control_.number(), rest.data(), rest.size(), MSG_DONTWAIT) <= 0) break;
    }
}

}  // namespace loom::session
