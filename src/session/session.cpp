#include "loom/session/session.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "session/machine.hpp"

namespace loom::session {

namespace {

// Saturates: a limit of `never` stays.
Time deadline_of(Time limit) {
    const Time begin = now();
    return limit > never - begin ? never : begin + limit;
}

}  // namespace

Options options_from_settings() {
    Options options;
    options.cluster = settings::read(Setting::cluster).value_or("");
    options.trace = settings::read(Setting::session_trace).value_or("");
    options.status = settings::read(Setting::session_status).value_or("");
    if (const auto file = settings::read(Setting::session_key)) {
        options.key = read_file(*file);
        if (options.key.empty()) settings::refuse(Setting::session_key, *file, "a file with a key");
    }
    options.infiniband = settings::read_word(Setting::session_network).value_or("auto") == "auto";
    return options;
}

class Session::Implementation : public Machine {
public:
    using Machine::Machine;
};

Session::Session(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}

Session::~Session() = default;

std::unique_ptr<Session> Session::open(const std::string& address, const Options& options, Time limit) {
    const Time deadline = deadline_of(limit);
    ControlSocket control = ControlSocket::connect(parse_address(address, false), deadline);
    return std::unique_ptr<Session>(
        new Session(std::make_unique<Implementation>(std::move(control), true, options, deadline)));
}

Request Session::start_send(Bytes message) {
    return implementation_->with_core([&](Core& core) { return core.send(std::move(message)); });
}

Request Session::start_receive() {
    return implementation_->with_core([](Core& core) { return core.receive(); });
}

Outcome Session::wait(const Request& request, Time deadline) {
    if (!request->done()) implementation_->wait([&](const Core&) { return request->done(); }, deadline);
    if (!request->done()) return Outcome::late;
    return request->failed() ? Outcome::over : Outcome::done;
}

Outcome Session::send(Bytes message, Time deadline) {
    return wait(start_send(std::move(message)), deadline);
}

Outcome Session::receive(Bytes& message, Time deadline) {
    const Request request = start_receive();
    const Outcome outcome = wait(request, deadline);
    if (outcome != Outcome::done) return outcome;
    if (!request->has_message()) return Outcome::nothing_new;
    message = std::move(request->message());
    return Outcome::done;
}

void Session::set(Scheme scheme, const std::string& reason) {
    (void)implementation_->with_core([&](Core& core) {
        core.set(scheme, reason);
        return true;
    });
}

void Session::set(Controller controller, const std::string& reason) {
    (void)implementation_->with_core([&](Core& core) {
        core.set(controller, reason);
        return true;
    });
}

Composition Session::composition() const {
    return implementation_->look([](const Core& core) { return core.composition(); });
}

std::vector<Change> Session::changes() const {
    return implementation_->look(
        [](const Core& core) { return std::vector<Change>(core.changes().begin(), core.changes().end()); });
}

Counters Session::counters() const {
    return implementation_->look([](const Core& core) { return core.counters(); });
}

std::string Session::ended() const {
    return implementation_->look([](const Core& core) { return core.ended(); });
}

bool Session::close(Time deadline) {
    bool drained = false;
    implementation_->wait([&](const Core& core) { return drained = core.drained(); }, deadline);
    implementation_->close(now(), "");
    return drained;
}

class Listener::Implementation {
public:
    Implementation(const std::string& address, Options wanted)
        : socket(listen_at(parse_address(address, true))), options(std::move(wanted)) {}
    Descriptor socket;
    Options options;
    std::string refusal;
};

Listener::Listener(const std::string& address, Options options)
    : implementation_(std::make_unique<Implementation>(address, std::move(options))) {}

Listener::~Listener() = default;

std::uint16_t Listener::port() const {
    return own_address(implementation_->socket.number()).port();
}

const std::string& Listener::last_refusal() const {
    return implementation_->refusal;
}

std::unique_ptr<Session> Listener::accept(Time limit) {
    constexpr Time patience = milliseconds(5000);  // with one who connects and then says nothing
    const Time deadline = deadline_of(limit);
    for (;;) {
        const Time left = deadline == never ? milliseconds(60'000) : deadline - now();
        if (left.ps <= 0) throw IoError("nobody has opened a session");
        pollfd waiting{implementation_->socket.number(), POLLIN, 0};
        if (poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.ps / 1'000'000'000 + 1, 60'000))) <= 0)
            continue;
        Descriptor socket(accept4(implementation_->socket.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.open()) continue;
        try {
            const Time until = std::min(deadline, now() + patience);
            return std::unique_ptr<Session>(new Session(std::make_unique<Session::Implementation>(
                ControlSocket(std::move(socket)), false, implementation_->options, until)));
        } catch (const Error& error) {
            implementation_->refusal = error.what();
        }
    }
}

}  // namespace loom::session
