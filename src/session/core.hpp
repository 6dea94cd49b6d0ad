// A session without sockets, threads or sleep: messages and time go in, segments and words of control come out. The
// clock is loom::now(), so that all of it runs in virtual time as it does on a machine.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loom/session/composition.hpp"
#include "loom/session/physical.hpp"
#include "session/agreement.hpp"
#include "session/control/message.hpp"
#include "session/settling.hpp"
#include "session/stack/channel.hpp"

namespace loom::session {

// What the opening has found out; both ends have computed the same.
struct Start {
    bool opener = false;
    Place place = Place::elsewhere;
    Settings settings;
    std::string why;
    std::uint32_t epoch = 1;
    std::uint16_t own_port = 1, peer_port = 1;
    std::size_t ethernet_bytes = 1400, infiniband_bytes = 8128;  // of a segment
    std::size_t most_message = std::size_t{256} << 20;
    Time settle = milliseconds(1000);  // how long a network must be back before it is used again
};

class Core {
public:
    using Say = std::function<void(const ControlMessage&)>;
    using Note = std::function<void(const Change&)>;

    // `infiniband` may be null. `say` takes what the other end must hear, in order and without loss. The sealer may be
    // null when nothing is sealed.
    Core(const Start& start, Physical* ethernet, Physical* infiniband, Say say, Sealer* sealer = nullptr,
         Trace* trace = nullptr, Note note = {});
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Begins to send. Asynchronous messages are done at once. Throws UsageError beyond the longest message.
    [[nodiscard]] Request send(Bytes message);
    // The next message, or, while the session is asynchronous, the newest or none.
    [[nodiscard]] Request receive();
    void set(Scheme scheme, std::string reason);
    void set(Controller controller, std::string reason);
    // Which network to use where there are both; the other stays the way out.
    void prefer(Network network, std::string reason);
    [[nodiscard]] Scheme scheme() const { return agreement_.scheme_of_sends(); }
    [[nodiscard]] bool drained() const { return board_.outbox.drained() && board_.outbox.waiting() == 0; }

    void hear(const ControlMessage& message);
    // Whatever can be done now: takes what arrived, hands messages over, sends.
    void pump();
    // When there is something to do next though nothing arrives: never, or a time.
    [[nodiscard]] Time wake();
    // The opener is to make InfiniBand work again.
    [[nodiscard]] bool wants_infiniband_back() const;
    // It does.
    void infiniband_is_back();
    // Ends it for both sides.
    void close(std::string reason);
    // Ends it here: the other end is gone.
    void lose(std::string why);

    [[nodiscard]] bool over() const { return !ended_.empty(); }
    [[nodiscard]] const std::string& ended() const { return ended_; }  // why
    [[nodiscard]] const Composition& composition() const { return composition_; }
    [[nodiscard]] const Counters& counters() const { return board_.counters; }
    [[nodiscard]] const std::deque<Change>& changes() const { return changes_; }  // the latest
    [[nodiscard]] const Board& board() const { return board_; }

private:
    static constexpr std::size_t most_changes = 64, most_early = 512, batch = 256;

    void compose_now(std::string reason);
    void follow(const Agreement::Turn& turn);
    void agree();
    void take_segments();
    bool take_segment(std::span<std::byte> packet);
    void hand_over();
    void finish(Pending& pending);
    void watch_networks();
    [[nodiscard]] Physical* physical(Network network) const;
    [[nodiscard]] Resume resume();
    void violate(const std::string& what);

    Start start_;
    Physical* ethernet_;
    Physical* infiniband_;
    Say say_;
    Note note_;
    Board board_;
    Agreement agreement_;
    Settling settling_;
    Network preferred_;
    std::unique_ptr<Channel> channel_;
    Composition composition_;
    std::deque<Change> changes_;
    std::deque<Request> receives_;
    std::vector<Bytes> early_;  // segments of the epoch to come
    std::string ended_;
};

}  // namespace loom::session
