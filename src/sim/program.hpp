// What the engines of the packet and the flow level need of whoever gives the operations: a schedule (Executor) or
// ranks that run (LiveProgram). The engines are templates over it, so that neither pays for the other.
//
//   Interface                              what the engine is to its caller: Simulation or LiveSimulation
//   Source                                 what it is made of
//   live                                   operations and flows come while the engine plays, and numbers are used again
//   PerOp<T>, PerFlow<T>                   storage by number; of a live program it has to grow()
//   per_op<T>(initial), per_flow<T>()      such storage
//   amount, peer, sl, flow                 of a send
//   flow_from, flow_to, delivered          of a flow
//   flow_before                            (from, to) order of flows of one host port
//   flows(), flow_in(flows, flow)          all of them, and one of them in there
//   start, send_done, work_done, message_arrived   events; they call back, see executor.hpp
//   ticket, redeem                         see Due
//   finished, rank_ends, open_operations
#pragma once

#include <cstdint>

#include "loom/traffic/schedule.hpp"

namespace loom::sim {

using traffic::OpIndex;
using FlowIndex = std::uint32_t;
inline constexpr std::uint32_t no_index = 0xffffffffu;

// Why a host has an event of its own, in the order in which those of one moment are handled. The event carries a ticket
// for the operation, whose number orders the events of one moment: by rank, and what a rank began first is due first.
// Those of a schedule are numbers in that order. Those of a live program, whose numbers are used again, name the rank
// alone, and the program knows what comes first.
enum class Due : std::uint8_t {
    post,     // a send enters its queue pair
    deliver,  // a message inside a host is there
    work,
};

}  // namespace loom::sim
