// In what surroundings two processes talk, and what a session is composed of: Table I of P2PSAP as a function.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace loom::session {

// What kind of computation the messages serve. Synchronous: each message arrives once, in order, and a send ends when
// the peer's program has taken it. Asynchronous: a send never waits, and the peer takes the newest message.
enum class Scheme : std::uint8_t { synchronous, asynchronous };

enum class Place : std::uint8_t { process, host, cluster, elsewhere };  // where the peer is, seen from here
enum class Reach : std::uint8_t { intra, inter };                       // inside a cluster, or between clusters
enum class Network : std::uint8_t { infiniband, ethernet };

// Who decides how much may be under way, where synchronous sessions share the way with others.
enum class Controller : std::uint8_t { new_reno, cubic, delay };

struct Context {
    Scheme scheme = Scheme::synchronous;
    Reach reach = Reach::intra;
    Network network = Network::ethernet;

    bool operator==(const Context&) const = default;
};

// The columns of Table I, in the paper's order.
inline constexpr std::array<Context, 8> contexts{{
    {Scheme::synchronous, Reach::intra, Network::infiniband},
    {Scheme::synchronous, Reach::intra, Network::ethernet},
    {Scheme::synchronous, Reach::inter, Network::infiniband},
    {Scheme::synchronous, Reach::inter, Network::ethernet},
    {Scheme::asynchronous, Reach::intra, Network::infiniband},
    {Scheme::asynchronous, Reach::intra, Network::ethernet},
    {Scheme::asynchronous, Reach::inter, Network::infiniband},
    {Scheme::asynchronous, Reach::inter, Network::ethernet},
}};

// The rows of Table I in the paper's order, then ours.
enum class Micro : std::uint8_t {
    transport_drive,
    resize,
    synchronous,
    asynchronous,
    sequenced_segment,
    positive_ack,
    retransmit,
    rtt_estimation,
    reliable_fifo,
    duplicate_ack,
    window_control,
    tcp_new_reno,
    dccp_ack,
    dccp_window,
    tcp_avoidance,
    cubic,          // in place of TCPNewRenoCA
    delay_based,    // likewise
    selective_ack,  // beside PositiveAck
    seal,           // above TransportDrive
};
inline constexpr std::size_t micros = 19;
inline constexpr std::size_t micros_of_the_paper = 15;

// What both ends agree on; it can change while a session runs.
struct Settings {
    Scheme scheme = Scheme::synchronous;
    Network network = Network::ethernet;
    Controller controller = Controller::new_reno;
    bool selective = false;  // selective acknowledgement, in the synchronous contexts over Ethernet
    bool sealed = false;     // encrypted and authenticated

    bool operator==(const Settings&) const = default;
};

// The micro-protocols of a context in the order of `Micro`. With the defaults of Settings this is Table I.
[[nodiscard]] std::vector<Micro> composition_of(const Settings& settings, Reach reach);

[[nodiscard]] constexpr Reach reach_of(Place place) {
    return place == Place::elsewhere ? Reach::inter : Reach::intra;
}

// "synchronous", "cluster", "infiniband", "cubic", "TCPNewRenoCA".
[[nodiscard]] std::string_view name(Scheme scheme);
[[nodiscard]] std::string_view name(Place place);
[[nodiscard]] std::string_view name(Reach reach);
[[nodiscard]] std::string_view name(Network network);
[[nodiscard]] std::string_view name(Controller controller);
[[nodiscard]] std::string_view name(Micro micro);

[[nodiscard]] std::optional<Scheme> parse_scheme(std::string_view word);
[[nodiscard]] std::optional<Controller> parse_controller(std::string_view word);

}  // namespace loom::session
