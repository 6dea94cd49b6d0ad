// Parameters as text: what --parameters, LOOM_COLL_PARAMETERS and the cache of measured ones are written in.
#pragma once

#include <string>
#include <string_view>

#include "loom/model/walk.hpp"

namespace loom::model {

// "L=2.5us,o=300ns,G=100ps,f=8": a comma between, times with a unit; those of a byte are picoseconds without one. Names
// of a message's costs:
//   L latency; o_send, o_first, o_receive (o: send and receive) of a core; g of an adapter;
//   O_send, O_receive (O: both), G the same for a byte
// and of the ways: limit (or S: bytes of the largest small message), advance, ready, shared (a byte of a large message
// one end of which is in shared memory), copying=costs|fewer. All of them may have "near." or "far." (between hosts)
// and those of messages "small." or "large." before them; without, they hold for all. The others: f, cores, turn, call,
// copy, reduce (a byte), step, large=nothing|match|ready, taking=after|during (arrival, see Taking), and where caches
// end: cold.fits and cold.spills (bytes that a core works on), cold.copy, cold.reduce, cold.large, cold.shared (a
// byte), or instead of these at.BYTES.copy and so on: what a byte costs where a core works on so many.
[[nodiscard]] std::string parameter_help();

// `base` with what the text says, each name once. Where the base takes messages during their arrival (LogGOPS), O,
// O_send or G make O_receive the larger of O_send and G, unless the text gives O_receive itself. Throws UsageError
// naming what is wrong and what there is.
[[nodiscard]] Charges parse_charges(std::string_view text, Charges base);

// All of it, such that parse_charges gives the same back, whatever the base.
[[nodiscard]] std::string to_text(const Charges& charges);

}  // namespace loom::model
