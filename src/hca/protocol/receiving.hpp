// Receives: taken from their queue, filled, completed.
#pragma once

#include <span>

#include "hca/engine.hpp"

namespace loom::hca {

enum class Taken : std::uint8_t { yes, none, bad_memory };

// Takes the next receive of the queue pair or its shared queue, with its addresses turned into memory.
// may_keep: it may turn out that the next message has to have it.
Taken take_receive(Engine& a, Qp& qp, bool may_keep);

ibv_wc receive_completion(const Qp& qp, ibv_wc_status status, ibv_wc_opcode opcode, std::uint32_t length);

// The common case at once: the next message of a reliable queue pair from this host, in one packet, for a receive with
// one piece. False: nothing was done, the general way decides.
bool receive_short(Engine& a, Qp& qp, const Arrival& arrival);

// Puts bytes where a list of pieces of this process's memory has its byte `offset`; what does not fit is left out.
void scatter(std::span<const ibv_sge> sges, std::uint32_t offset, std::span<const std::uint8_t> bytes);

}  // namespace loom::hca
