// Forwarding tables in files: read without a fabric, then bound to one; written for other tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/tables.hpp"

namespace loom::routing {

enum class TableFormat : std::uint8_t {
    opensm_lfts,  // opensm-lfts.dump, old and new header; what `opensm -R file -U` loads
    dump_lfts,    // ibroute and dump_lfts, with and without -a and -n
    fdbs,         // opensm.fdbs and ibdiagnet2's .fdbs
    json,         // Loomband's own: lanes and engine too (docs/formats.md)
};

// "opensm", "dump_lfts", "fdbs", "json": the words of --format.
[[nodiscard]] std::string_view name(TableFormat format);
// Throws UsageError that lists the names there are.
[[nodiscard]] TableFormat parse_table_format(std::string_view name);
// From the ending: .json and .fdbs say what they are, everything else is for OpenSM.
[[nodiscard]] TableFormat table_format_for(const std::filesystem::path& path);

// What the content looks like; nothing when it is no table file. Cost: a glance at the first 64 KiB
// (a JSON text is searched for its format mark).
[[nodiscard]] std::optional<TableFormat> detect_tables(std::string_view text);

// One switch as the file tells it. Ports are not checked against any switch yet.
struct SwitchTable {
    Guid guid;  // no_guid when the file names the switch by LID alone
    Lid lid;    // no_lid when the file does not say; old OpenSM writes it byte-swapped, so the GUID decides
    std::string name;
    std::size_t line = 0;             // where it begins in the file
    std::vector<std::uint8_t> ports;  // by LID; no_route where nothing is said
    std::vector<std::uint8_t> lanes;  // empty, or as long as ports
};

struct TableFile {
    TableFormat format = TableFormat::json;
    std::string file_name;
    std::string engine;  // empty when the format does not carry it
    std::vector<SwitchTable> switches;
    std::vector<Guid> owners;          // by LID: the port GUID the file gives for it, no_guid where none
    std::vector<std::string> remarks;  // what was skipped, in plain words
};

// Throws ParseError with line and what was expected: entries that are no entries, LIDs beyond unicast,
// a switch given twice, a LID given two ports on one switch, no table at all. Cost: one pass over the
// text, one byte for each LID and switch. Without `format` the content decides.
[[nodiscard]] TableFile parse_tables(std::string_view text, const std::string& file_name,
                                     std::optional<TableFormat> format = {});
// The same for a file; "-" is standard input.
[[nodiscard]] TableFile read_tables(const std::filesystem::path& path, std::optional<TableFormat> format = {});

enum class Fit : std::uint8_t {
    same,     // the tables are of this fabric: a switch it does not have is an Error
    changed,  // of the fabric before a change: what is gone is left out with a remark
};

// The tables in the fabric's numbering, by GUID, or by LID where the file has no GUID. A switch or port
// that the fabric does not have is an Error that names it. Switches without a table, LIDs that the
// fabric does not know and LIDs that belong to another port there are remarks.
[[nodiscard]] Tables bind_tables(const TableFile& file, const SwitchGraph& graph,
                                 std::vector<std::string>* remarks = nullptr, Fit fit = Fit::same);

struct WriteOptions {
    bool force = false;  // write tables that need several lanes though the format cannot say so
};

// Streams: memory stays within a few megabytes (fdbs: one more byte an entry, for its hop counts).
// Throws Error when the tables need several virtual lanes, which only json can say, unless
// forced.
void write_tables(const Tables& tables, const SwitchGraph& graph, std::ostream& out, TableFormat format,
                  const WriteOptions& options = {});

}  // namespace loom::routing
