// Cables as files state them: often twice, once for each end, and not always in agreement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric::io {

enum class Sides : std::uint8_t { both, one };  // does the format list a cable at both of its ends?

// The slower of two rates, part by part; what one does not know the other decides.
[[nodiscard]] LinkRate slower(LinkRate a, LinkRate b);

// Joins ports while it checks every statement against the earlier ones. All nodes must be in the
// fabric when it is made. Four bytes a port.
class Cabling {
public:
    Cabling(Fabric& fabric, std::string file, Sides sides);

    // Line `line`, in the paragraph of `a`, says that a cable joins these two. Throws ParseError when a
    // port does not exist or another line says otherwise (both lines are named).
    void state(NodeId a, std::uint64_t a_port, NodeId b, std::uint64_t b_port, LinkRate rate, std::size_t line);

    // What was odd, one sentence a kind.
    void report(std::vector<std::string>& remarks) const;

private:
    [[nodiscard]] PortIndex check(NodeId node, std::uint64_t port, std::size_t line) const;
    [[noreturn]] void contradict(PortIndex port, PortIndex claimed, std::size_t line) const;

    Fabric& fabric_;
    std::string file_;
    Sides sides_;
    std::vector<std::uint32_t> stated_;  // by port: the line of its own paragraph that named it, 0 none
    std::size_t duplicates_ = 0, first_duplicate_ = 0;
    std::size_t unequal_ = 0, first_unequal_ = 0;
};

}  // namespace loom::fabric::io
