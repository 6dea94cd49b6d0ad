// Reading and writing fabrics in the formats that InfiniBand tools use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

enum class Format : std::uint8_t {
    json,           // Loomband's own: loses nothing
    ibnetdiscover,  // plain, -f, -g and -p are all read
    ibsim,          // the simulator's net file
    topo,           // IBDM, plain systems
    subnet_lst,     // opensm-subnet.lst
    db_csv,         // ibdiagnet2
    slurm,          // topology.conf: who is under which switch, no ports
    dot             // Graphviz
};

struct FormatInfo {
    Format format;
    std::string_view name;     // as an option spells it
    std::string_view summary;  // one line for --help
};

[[nodiscard]] std::span<const FormatInfo> formats();
[[nodiscard]] std::string_view name(Format format);
// By its name; '-' and '_' are the same.
[[nodiscard]] std::optional<Format> format_from_name(std::string_view name);
// By a file's name alone, for writing: .json .ibnetdiscover .out .net .ibsim .topo .lst .db_csv .csv .conf .dot .gv
[[nodiscard]] std::optional<Format> format_from_path(const std::filesystem::path& path);
// By the content; nullopt when it is none of these. Cost: the lines up to the first telling one.
[[nodiscard]] std::optional<Format> format_from_content(std::string_view text);

struct Reading {
    Fabric fabric;
    Format format = Format::json;
    std::vector<std::string> remarks;  // plain sentences: what was odd and what was done about it
};

// Throws ParseError (with the line, and what was expected there) when the text is wrong in a way that
// leaves its meaning open. `file_name` is for messages and becomes the title where the format has none.
// Time and memory are linear in the text: 45,000 hosts, 300,000 port lines, well under a second.
[[nodiscard]] Reading parse_fabric(std::string_view text, const std::string& file_name,
                                   std::optional<Format> format = {});
// The same from a file; "-" is standard input. Throws IoError too.
[[nodiscard]] Reading read_fabric(const std::filesystem::path& path, std::optional<Format> format = {});

// How ibnetdiscover would have been called.
enum class Discovery : std::uint8_t {
    plain,
    full,     // -f: speed, width and virtual lanes in numbers
    grouped,  // -g: by chassis
    ports     // -p: one line a port
};

struct WriteOptions {
    Discovery discovery = Discovery::plain;
};

// Formats that lack a notion drop it (only JSON has them all); names are made printable where the
// format demands it. Equal fabrics give equal bytes.
void write_fabric(const Fabric& fabric, std::ostream& out, Format format, const WriteOptions& options = {});

// What is in this fabric and will not be found in the file: a plain sentence for each loss, none for JSON.
// Cost: writes and reads the text once, in memory.
[[nodiscard]] std::vector<std::string> losses(const Fabric& fabric, Format format, const WriteOptions& options = {});

}  // namespace loom::fabric
