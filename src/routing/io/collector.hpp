// What all table readers share: switches and entries arrive one by one and are checked on the way.
#pragma once

#include <string>
#include <unordered_map>

#include "loom/routing/table_io.hpp"

namespace loom::routing::io {

class Collector {
public:
    Collector(TableFile& file, std::size_t text_size) : file_(&file), limit_(limit_for(text_size)) {}

    // Throws when the GUID (or, without one, the LID) was given before.
    void begin_switch(std::size_t line, Guid guid, Lid lid, std::string name);
    [[nodiscard]] bool in_switch() const { return !file_->switches.empty(); }

    // Throws when the LID is no unicast LID, the port beyond 254 (255 is no_route), or the LID has
    // another port already.
    void entry(std::size_t line, std::uint64_t lid, std::uint64_t port) {
        if (lid > max_unicast_lid || port > no_route) reject(line, lid, port);
        auto& ports = file_->switches.back().ports;
        if (lid >= ports.size()) widen(line, ports, lid);
        auto& slot = ports[lid];
        if (slot != no_route && slot != port) reject(line, lid, port);
        slot = static_cast<std::uint8_t>(port);
    }

    // True until an owner is known, so that a reader need not look for it on every line.
    [[nodiscard]] bool wants_owner(std::uint64_t lid) const {
        return lid >= file_->owners.size() || file_->owners[lid] == no_guid;
    }
    void owner(std::uint64_t lid, Guid guid);

    // A line that is no part of a table; the first is quoted in a remark, the rest are counted.
    void skipped(std::size_t line, std::string_view text);

    // Throws when there was no table at all; `expected` says how one begins.
    void finish(std::string_view expected);

    [[noreturn]] void fail(std::size_t line, const std::string& message) const;

private:
    // Rows are as wide as the highest LID they name. A short text can thus ask for much memory: a row
    // of 48 KiB by one line. No real file is that sparse.
    static std::size_t limit_for(std::size_t text_size) {
        return std::max<std::size_t>(std::size_t{256} << 20, text_size * 8);
    }
    [[noreturn]] void reject(std::size_t line, std::uint64_t lid, std::uint64_t port) const;
    void widen(std::size_t line, std::vector<std::uint8_t>& ports, std::uint64_t lid);

    TableFile* file_;
    std::size_t limit_;
    std::size_t cells_ = 0;
    std::size_t skipped_ = 0;
    std::size_t first_skipped_ = 0;
    std::string first_skipped_text_;
    std::unordered_map<std::uint64_t, std::size_t> lines_by_guid_;
    std::unordered_map<std::uint16_t, std::size_t> lines_by_lid_;  // of switches without a GUID
};

void parse_lfts(std::string_view text, TableFile& file);
void parse_fdbs(std::string_view text, TableFile& file);
void parse_json(std::string_view text, TableFile& file);

}  // namespace loom::routing::io
