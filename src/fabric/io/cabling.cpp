#include "fabric/io/cabling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loom/base/error.hpp"

namespace loom::fabric::io {

LinkRate slower(LinkRate a, LinkRate b) {
    const auto part = [](auto x, auto y) {
        using T = decltype(x);
        if (x == T::unknown) return y;
        if (y == T::unknown) return x;
        return std::min(x, y);
    };
    return {part(a.width, b.width), part(a.speed, b.speed)};
}

Cabling::Cabling(Fabric& fabric, std::string file, Sides sides)
    : fabric_(fabric), file_(std::move(file)), sides_(sides), stated_(fabric.port_count(), 0) {}

PortIndex Cabling::check(NodeId node, std::uint64_t port, std::size_t line) const {
    const unsigned count = fabric_.node(node).ports;
    if (port == 0 || port > count)
        throw ParseError(file_, line,
                         fmt::format("{} has no port {}, expected 1 to {}", describe(fabric_, node), port, count));
    return fabric_.port_index(node, PortNum{static_cast<std::uint8_t>(port)});
}

void Cabling::contradict(PortIndex port, PortIndex claimed, std::size_t line) const {
    const auto text = [&](PortIndex index) {
        return describe(fabric_, fabric_.port(index).node, fabric_.port(index).number);
    };
    const PortIndex other = fabric_.port(port).peer;
    const std::uint32_t earlier = stated_[port.value] != 0 ? stated_[port.value] : stated_[other.value];
    throw ParseError(file_, line,
                     fmt::format("{} is connected to {} here but to {} on line {}, expected one cable a port",
                                 text(port), text(claimed), text(other), earlier));
}

void Cabling::state(NodeId a, std::uint64_t a_port, NodeId b, std::uint64_t b_port, LinkRate rate, std::size_t line) {
    const PortIndex from = check(a, a_port, line);
    const PortIndex to = check(b, b_port, line);
    if (from == to)
        throw ParseError(file_, line,
                         fmt::format("{} is connected to itself, expected another port",
                                     describe(fabric_, a, PortNum{static_cast<std::uint8_t>(a_port)})));
    Port& here = fabric_.port(from);
    Port& there = fabric_.port(to);
    if (here.connected()) {
        if (here.peer != to) contradict(from, to, line);
        if (stated_[from.value] != 0 && ++duplicates_ == 1) first_duplicate_ = line;
        const LinkRate agreed = slower(here.rate, rate);
        if (agreed != rate || agreed != here.rate) {
            const bool told_otherwise =
                (rate.width != Width::unknown && here.rate.width != Width::unknown && rate.width != here.rate.width) ||
                (rate.speed != Speed::unknown && here.rate.speed != Speed::unknown && rate.speed != here.rate.speed);
            if (told_otherwise && ++unequal_ == 1) first_unequal_ = line;
            here.rate = there.rate = agreed;
        }
    } else {
        if (there.connected()) contradict(to, from, line);
        fabric_.connect(a, here.number, b, there.number, rate);
    }
    if (stated_[from.value] == 0) stated_[from.value] = static_cast<std::uint32_t>(line);
}

void Cabling::report(std::vector<std::string>& remarks) const {
    if (duplicates_ != 0)
        remarks.push_back(fmt::format("{} cable end{} stated more than once (first on line {}); counted once",
                                      duplicates_, duplicates_ == 1 ? " is" : "s are", first_duplicate_));
    if (unequal_ != 0)
        remarks.push_back(
            fmt::format("{} cable{} a different rate at each end (first on line {}); the slower was taken", unequal_,
                        unequal_ == 1 ? " has" : "s have", first_unequal_));
    if (sides_ == Sides::one) return;
    std::size_t single = 0;
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < stated_.size(); ++i)
        if (stated_[i] != 0 && stated_[fabric_.port(PortIndex{i}).peer.value] == 0) {
            ++single;
            if (first == 0 || stated_[i] < first) first = stated_[i];
        }
    if (single != 0)
        remarks.push_back(fmt::format("{} cable{} listed at one end only (first on line {}); taken as connected",
                                      single, single == 1 ? " is" : "s are", first));
}

}  // namespace loom::fabric::io
