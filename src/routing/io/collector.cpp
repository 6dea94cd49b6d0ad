#include "routing/io/collector.hpp"

#include <fmt/format.h>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::routing::io {

void Collector::begin_switch(std::size_t line, Guid guid, Lid lid, std::string name) {
    const auto [seen, fresh] = guid != no_guid ? [&] {
        const auto [at, is_new] = lines_by_guid_.try_emplace(guid.value, line);
        return std::pair(at->second, is_new);
    }() : [&] {
        const auto [at, is_new] = lines_by_lid_.try_emplace(lid.value, line);
        return std::pair(at->second, is_new);
    }();
    if (!fresh) {
        const std::string which = guid != no_guid ? fabric::to_string(guid) : fmt::format("with LID {}", lid.value);
        fail(line, fmt::format("switch {} was given before, at line {}; expected each switch once", which, seen));
    }
    SwitchTable table;
    table.guid = guid;
    table.lid = lid;
    table.name = std::move(name);
    table.line = line;
    file_->switches.push_back(std::move(table));
}

void Collector::owner(std::uint64_t lid, Guid guid) {
    if (lid > max_unicast_lid) return;
    if (lid >= file_->owners.size()) file_->owners.resize(lid + 1, no_guid);
    file_->owners[lid] = guid;
}

void Collector::skipped(std::size_t line, std::string_view text) {
    if (skipped_++ != 0) return;
    first_skipped_ = line;
    first_skipped_text_ = excerpt(text);
}

void Collector::finish(std::string_view expected) {
    if (!in_switch()) fail(0, fmt::format("no forwarding table found; expected a line like \"{}\"", expected));
    if (skipped_ != 0)
        file_->remarks.push_back(fmt::format(
            "{}:{}: {} that belongs to no table was skipped: {}", file_->file_name, first_skipped_,
            skipped_ == 1 ? "a line" : fmt::format("the first of {} lines", skipped_), first_skipped_text_));
}

void Collector::fail(std::size_t line, const std::string& message) const {
    throw ParseError(file_->file_name, line, message);
}

void Collector::reject(std::size_t line, std::uint64_t lid, std::uint64_t port) const {
    if (lid > max_unicast_lid) fail(line, fmt::format("LID {:#x} is no unicast LID; expected 0x0 to 0xbfff", lid));
    if (port > no_route)
        fail(line, fmt::format("port {} is no switch port; expected 0 to 254, or 255 for no route", port));
    fail(line, fmt::format("LID {:#06x} leaves by port {} here but by port {} before; expected one port a LID", lid,
                           port, file_->switches.back().ports[lid]));
}

void Collector::widen(std::size_t line, std::vector<std::uint8_t>& ports, std::uint64_t lid) {
    cells_ += lid + 1 - ports.size();
    if (cells_ > limit_)
        fail(line, fmt::format("the tables have {} cells for so short a text; expected LIDs to be dense", cells_));
    if (lid >= ports.capacity()) ports.reserve(std::max<std::size_t>(lid + 1, ports.capacity() * 2));
    ports.resize(lid + 1, no_route);
}

}  // namespace loom::routing::io
