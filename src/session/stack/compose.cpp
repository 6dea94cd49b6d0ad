// The stacks of all contexts, each put together at compile time.
#include "session/micro/asynchronous.hpp"
#include "session/micro/cubic.hpp"
#include "session/micro/dccp_ack.hpp"
#include "session/micro/dccp_window.hpp"
#include "session/micro/delay_based.hpp"
#include "session/micro/duplicate_ack.hpp"
#include "session/micro/positive_ack.hpp"
#include "session/micro/reliable_fifo.hpp"
#include "session/micro/resize.hpp"
#include "session/micro/retransmit.hpp"
#include "session/micro/rtt_estimation.hpp"
#include "session/micro/seal.hpp"
#include "session/micro/selective_ack.hpp"
#include "session/micro/sequenced_segment.hpp"
#include "session/micro/synchronous.hpp"
#include "session/micro/tcp_avoidance.hpp"
#include "session/micro/tcp_new_reno.hpp"
#include "session/micro/transport_drive.hpp"
#include "session/micro/window_control.hpp"
#include "session/stack/stack.hpp"

namespace loom::session {

namespace {

// A part of a stack.
template <class... Micros>
struct Part {};

template <class... As, class... Bs, class... More>
auto joined(Part<As...>, Part<Bs...>, More... more) {
    if constexpr (sizeof...(More) == 0)
        return Part<As..., Bs...>{};
    else
        return joined(Part<As..., Bs...>{}, more...);
}

using Ordered = Part<Synchronous, Resize<Delivery::ordered>>;
using BestEffort = Part<Asynchronous, Resize<Delivery::best_effort>>;
using Reliable = Part<ReliableFifo, SequencedSegment, Retransmit, RttEstimation>;
template <class Controller>
using Windowed = Part<Controller, WindowControl, DuplicateAck>;
using Acks = Part<PositiveAck>;
using SelectiveAcks = Part<SelectiveAck, PositiveAck>;
using Unreliable = Part<DccpWindow, TcpAvoidance, DccpAck>;

template <class... Micros>
std::unique_ptr<Channel> make(Part<Micros...>, Board& board) {
    return std::make_unique<Stack<Micros...>>(board);
}

template <class Upper>
std::unique_ptr<Channel> finish(Upper upper, const Settings& settings, Board& board) {
    if (settings.sealed) return make(joined(upper, Part<Seal, TransportDrive>{}), board);
    return make(joined(upper, Part<TransportDrive>{}), board);
}

template <class Upper>
std::unique_ptr<Channel> acknowledged(Upper upper, const Settings& settings, Board& board) {
    if (settings.selective) return finish(joined(upper, SelectiveAcks{}), settings, board);
    return finish(joined(upper, Acks{}), settings, board);
}

std::unique_ptr<Channel> controlled(const Settings& settings, Board& board) {
    const auto upper = joined(Ordered{}, Reliable{});
    switch (settings.controller) {
        case Controller::new_reno:
            return acknowledged(joined(upper, Windowed<TcpNewReno>{}), settings, board);
        case Controller::cubic:
            return acknowledged(joined(upper, Windowed<Cubic>{}), settings, board);
        case Controller::delay:
            return acknowledged(joined(upper, Windowed<DelayBased>{}), settings, board);
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<Channel> compose(const Settings& settings, Reach reach, Board& board) {
    const bool synchronous = settings.scheme == Scheme::synchronous;
    if (settings.network == Network::infiniband)
        return synchronous ? finish(Ordered{}, settings, board) : finish(BestEffort{}, settings, board);
    if (synchronous && reach == Reach::intra) return acknowledged(joined(Ordered{}, Reliable{}), settings, board);
    if (synchronous) return controlled(settings, board);
    if (reach == Reach::intra) return finish(BestEffort{}, settings, board);
    return finish(joined(BestEffort{}, Unreliable{}), settings, board);
}

}  // namespace loom::session
