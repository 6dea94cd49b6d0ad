// Sessions: two processes exchange messages of any size and say only whether they compute synchronously or
// asynchronously. The session finds out where they are and what network lies between, composes the protocol that suits,
// says why, and changes it while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/session/composition.hpp"
#include "loom/session/request.hpp"

namespace loom::session {

struct Options {
    Scheme scheme = Scheme::synchronous;  // where the ends differ, the opener's
    Controller controller = Controller::new_reno;
    bool selective = false;    // selective acknowledgement, where both ends want it
    std::string cluster = {};  // two ends with the same name are in one cluster; also where neither has a name
    std::string key = {};      // not empty: only ends with the same key get a session; between clusters all is sealed
    bool infiniband = true;    // use it where both ends have it
    bool whole_messages = false;  // InfiniBand: blocks of 256 KiB, so that the adapter cuts instead of Resize
    std::size_t most_message = std::size_t{256} << 20;
    Time settle = milliseconds(10'000);  // how long a network that failed must be back before it is used again
    std::string trace = {};              // a qlog of this end goes to this file
    std::string status = {};             // ... and what runs, for `loom session watch`, to a file in this folder
    std::function<void(const Change&)> changed =
        {};  // called at each change, and at the opening; must not call the session
};

// LOOM_CLUSTER, LOOM_SESSION_KEY (a file with the key), LOOM_SESSION_TRACE, LOOM_SESSION_STATUS and
// LOOM_SESSION_NETWORK. Throws UsageError or IoError.
[[nodiscard]] Options options_from_settings();

enum class Outcome : std::uint8_t {
    done,
    nothing_new,  // an asynchronous receive
    late,         // the deadline has passed; the request goes on
    over,         // the session has ended before
};

// May be used by several threads. A thread of its own keeps it going while the program computes.
class Session {
public:
    // To a Listener at "HOST:PORT". Throws UsageError, IoError, or Error with why the other end refuses.
    [[nodiscard]] static std::unique_ptr<Session> open(const std::string& address, const Options& options = {},
                                                       Time limit = milliseconds(10'000));
    ~Session();  // closes at once: what is on its way may be lost
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Begins to send. Synchronous: ends when the peer's program has taken the message. Asynchronous: has ended.
    // Throws UsageError for a message that is longer than either end's most_message.
    [[nodiscard]] Request start_send(Bytes message);
    // Synchronous: ends with the next message. Asynchronous: has ended, with the newest message or with nothing new.
    [[nodiscard]] Request start_receive();
    // At most until `deadline`, by loom::now().
    Outcome wait(const Request& request, Time deadline = never);

    Outcome send(Bytes message, Time deadline = never);
    Outcome receive(Bytes& message, Time deadline = never);

    // At both ends, from the next message on. Returns at once.
    void set(Scheme scheme, const std::string& reason = "the program");
    void set(Controller controller, const std::string& reason = "the program");

    [[nodiscard]] Composition composition() const;
    [[nodiscard]] std::vector<Change> changes() const;  // the latest, the opening first
    [[nodiscard]] Counters counters() const;
    [[nodiscard]] std::string ended() const;  // why; empty while it lives

    // Waits until what was sent has been taken, then ends it at both ends. False when something was not taken in time.
    bool close(Time deadline = never);

private:
    friend class Listener;
    class Implementation;
    explicit Session(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

class Listener {
public:
    // "HOST:PORT"; port 0 takes a free one. Throws UsageError or IoError.
    explicit Listener(const std::string& address, Options options = {});
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    // The next session. Whoever connects and does not open one is passed over; last_refusal() says why. Throws IoError
    // when nobody has come by then.
    [[nodiscard]] std::unique_ptr<Session> accept(Time limit = milliseconds(10'000));
    [[nodiscard]] const std::string& last_refusal() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace loom::session
