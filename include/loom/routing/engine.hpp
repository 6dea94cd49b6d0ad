// Routing engines: from a fabric with LIDs to forwarding tables.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/routing/tables.hpp"

namespace loom::routing {

struct RouteOptions {
    std::uint64_t seed = 1;                     // of engines that choose at random
    unsigned threads = 1;                       // 0: all cores; the tables never depend on it
    unsigned lanes = 8;                         // virtual lanes that dfsssp may use
    std::vector<Guid> roots = {};               // hint: switches of the top level (never needed)
    std::vector<Guid> compute = {};             // hint: hosts that compute; the others get what is left
    bool place_keepers = false;                 // ftree: routes as if missing hosts were there, so that one host
                                                // more or less leaves all other routes as they are
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

struct Routing {
    Tables tables;
    std::vector<std::string> remarks;  // plain sentences: what deviates from the engine's ideal, and its cost
};

// The fabric is of a shape that the engine does not route; dfsssp routes any.
class ShapeError : public Error {
public:
    using Error::Error;
};

// Contract of every engine: fills a row for every switch and every destination of the graph that the
// row's switch can reach by cable; leaves no_route elsewhere; equal input gives equal tables. Throws
// ShapeError when the fabric is of a kind it does not route, naming the first offender.
struct Engine {
    std::string_view name;
    std::string_view summary;  // one line for --help
    Routing (*route)(const SwitchGraph&, const RouteOptions&);
};

[[nodiscard]] std::span<const Engine> engines();
// Throws UsageError that lists the names there are.
[[nodiscard]] const Engine& find_engine(std::string_view name);

Routing route_minhop(const SwitchGraph&, const RouteOptions&);
Routing route_updn(const SwitchGraph&, const RouteOptions&);
Routing route_ftree(const SwitchGraph&, const RouteOptions&);
Routing route_dmodk(const SwitchGraph&, const RouteOptions&);
Routing route_sssp(const SwitchGraph&, const RouteOptions&);
Routing route_dfsssp(const SwitchGraph&, const RouteOptions&);
Routing route_random(const SwitchGraph&, const RouteOptions&);

}  // namespace loom::routing
