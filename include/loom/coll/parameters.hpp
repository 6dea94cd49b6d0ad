// What messages, copies and reductions cost on this machine: measured once, kept, and the same on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loom/model/assumed.hpp"
#include "loom/model/walk.hpp"
#include "loom/transport/transport.hpp"

namespace loom::coll {

struct Parameters {
    enum class Source : std::uint8_t {
        assumed,   // nobody measured: one rank, threads of one process, or LOOM_COLL_PARAMETERS=assumed
        measured,  // just now
        cached,    // by an earlier job on this machine
        given,     // by LOOM_COLL_PARAMETERS, over one of the others; or by the transport
    };
    model::Charges charges;
    Source source = Source::assumed;
    std::string origin;  // one line: when, by whom, from where
    friend bool operator==(const Parameters&, const Parameters&) = default;
};
[[nodiscard]] std::string_view to_string(Parameters::Source source);

// Collective: every rank of the transport calls it while nothing else is under way, and gets what rank 0 decided. That
// looks into its environment and its cache and, when there is nothing, measures with the others' help.
//
// LOOM_COLL_PARAMETERS=measure|assumed|"L=1us,o=200ns,..." (as model::parse_charges reads them; after measure or
// assumed and a comma, too). LOOM_CACHE=off|FOLDER, else $XDG_CACHE_HOME/loomband or ~/.cache/loomband. Cost: a message
// from rank 0 to each other; with measuring some 100 ms. Throws UsageError on every rank for a text that cannot be
// read, transport::RankLost.
//
// A transport that hands over parameters (Transport::parameters_text) is taken at its word, and one in virtual time is
// never measured: assumed_charges() then, without a message. LOOM_COLL_PARAMETERS=assumed and a text hold there, too;
// measure is refused (UsageError).
[[nodiscard]] Parameters agree_parameters(transport::Transport& transport);

// The same without looking for anything: measures now.
[[nodiscard]] Parameters measure_parameters(transport::Transport& transport);

// For groups that need not exist: where they are, and what is known of it.
struct Imagined {
    std::span<const std::uint32_t> hosts;  // by rank
    std::uint32_t cores = 0;               // of a host; 0: one for each rank
    std::optional<model::Link> link = {};  // between hosts
    std::string parameters = {};           // see below; empty: assumed
};

// What model::assumed_charges and the link have, LOOM_COLL_PARAMETERS over it, and `parameters` over that: a list as
// model::parse_charges reads it or a file, which is one that jobs keep (LOOM_CACHE), what `loom measure loggp --json`
// printed, or such a list. Between hosts L, g and G are the link's unless a list says otherwise. Throws UsageError,
// ParseError and IoError.
[[nodiscard]] Parameters imagined_parameters(const Imagined& group);
// The last part of it: `text` over `base`, a link between hosts kept as the base has it.
[[nodiscard]] Parameters read_parameters(const std::string& text, const Parameters& base,
                                         const std::optional<model::Link>& link = {});

// "assumed", "measured 2026-11-16 10:00 UTC", "from costs.txt": what model::costs_line has in brackets.
[[nodiscard]] std::string origin_of(const Parameters& parameters);

}  // namespace loom::coll
