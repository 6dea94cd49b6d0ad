#include "loom/session/context.hpp"

#include <algorithm>

#include "loom/session/composition.hpp"

namespace loom::session {

namespace {

constexpr std::array<std::string_view, micros> micro_names{
    "TransportDrive", "Resize",       "Synchronous",   "Asynchronous",  "SequencedSegment",
    "PositiveAck",    "Retransmit",   "RTTEstimation", "ReliableFIFO",  "DuplicateAck",
    "WindCongCtrl",   "TCPNewRenoCA", "DCCPAck",       "DCCPWindCCtrl", "TCPCongAvoid",
    "CubicCA",        "DelayBasedCA", "SelectiveAck",  "Seal"};

constexpr std::array<std::string_view, 2> schemes{"synchronous", "asynchronous"};
constexpr std::array<std::string_view, 4> places{"process", "host", "cluster", "elsewhere"};
constexpr std::array<std::string_view, 3> controllers{"new-reno", "cubic", "delay"};

template <class Enum, std::size_t n>
std::optional<Enum> parse(const std::array<std::string_view, n>& names, std::string_view word) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

Micro micro_of(Controller controller) {
    switch (controller) {
        case Controller::new_reno:
            return Micro::tcp_new_reno;
        case Controller::cubic:
            return Micro::cubic;
        case Controller::delay:
            return Micro::delay_based;
    }
    return Micro::tcp_new_reno;
}

void add_reliability(const Settings& settings, Reach reach, std::vector<Micro>& all) {
    for (const Micro each : {Micro::sequenced_segment, Micro::positive_ack, Micro::retransmit, Micro::rtt_estimation,
                             Micro::reliable_fifo})
        all.push_back(each);
    if (reach == Reach::inter)
        for (const Micro each : {Micro::duplicate_ack, Micro::window_control, micro_of(settings.controller)})
            all.push_back(each);
    if (settings.selective) all.push_back(Micro::selective_ack);
}

}  // namespace

std::vector<Micro> composition_of(const Settings& settings, Reach reach) {
    const bool synchronous = settings.scheme == Scheme::synchronous;
    std::vector<Micro> all{Micro::transport_drive, Micro::resize,
                           synchronous ? Micro::synchronous : Micro::asynchronous};
    if (settings.network == Network::ethernet) {
        if (synchronous)
            add_reliability(settings, reach, all);
        else if (reach == Reach::inter)
            for (const Micro each : {Micro::dccp_ack, Micro::dccp_window, Micro::tcp_avoidance}) all.push_back(each);
    }
    if (settings.sealed) all.push_back(Micro::seal);
    std::sort(all.begin(), all.end());
    return all;
}

std::string_view name(Scheme scheme) {
    return schemes.at(static_cast<std::size_t>(scheme));
}

std::string_view name(Place place) {
    return places.at(static_cast<std::size_t>(place));
}

std::string_view name(Reach reach) {
    return reach == Reach::intra ? "intra" : "inter";
}

std::string_view name(Network network) {
    return network == Network::infiniband ? "infiniband" : "ethernet";
}

std::string_view name(Controller controller) {
    return controllers.at(static_cast<std::size_t>(controller));
}

std::string_view name(Micro micro) {
    return micro_names.at(static_cast<std::size_t>(micro));
}

std::optional<Scheme> parse_scheme(std::string_view word) {
    return parse<Scheme>(schemes, word);
}

std::optional<Controller> parse_controller(std::string_view word) {
    return parse<Controller>(controllers, word);
}

std::string to_string(const Composition& composition) {
    std::string text(name(composition.settings.scheme));
    text += reach_of(composition.place) == Reach::intra ? ", inside a cluster, over " : ", between clusters, over ";
    text += name(composition.settings.network);
    text += ':';
    for (const Micro micro : composition.micros) {
        text += ' ';
        text += name(micro);
    }
    return text;
}

}  // namespace loom::session
