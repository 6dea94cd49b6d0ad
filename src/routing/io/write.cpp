#include <fmt/format.h>

#include "loom/base/error.hpp"
#include "loom/routing/table_io.hpp"
#include "routing/io/writer.hpp"

namespace loom::routing {

std::string io::plain_name(std::string_view name) {
    constexpr std::size_t longest = 64;
    std::string plain(name.substr(0, longest));
    for (char& c : plain)
        if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
    return plain;
}

void write_tables(const Tables& tables, const SwitchGraph& graph, std::ostream& out, TableFormat format,
                  const WriteOptions& options) {
    if (tables.switch_count() != graph.switch_count())
        throw Error(fmt::format("tables of {} switches do not belong to a fabric of {}", tables.switch_count(),
                                graph.switch_count()));
    if (format != TableFormat::json && !options.force)
        if (const unsigned lanes = tables.lane_count(); lanes > 1)
            throw Error(
                fmt::format("these tables need {} virtual lanes to be free of deadlock and the {} form cannot say so: "
                            "write it with --format json (or to a .json file), or anyway with --force",
                            lanes, name(format)));
    switch (format) {
        case TableFormat::opensm_lfts:
        case TableFormat::dump_lfts:
            io::write_lfts(tables, graph, out, format);
            break;
        case TableFormat::fdbs:
            io::write_fdbs(tables, graph, out);
            break;
        case TableFormat::json:
            io::write_json(tables, graph, out);
            break;
    }
}

}  // namespace loom::routing
