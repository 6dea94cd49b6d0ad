#include "cli/charges_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "loom/base/table.hpp"
#include "loom/base/time.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

ordered_json to_json(const model::MessageCosts& m) {
    return {{"L_ns", m.latency.nanoseconds()},
            {"o_send_ns", m.send.nanoseconds()},
            {"o_first_ns", m.send_first.nanoseconds()},
            {"o_receive_ns", m.take.nanoseconds()},
            {"g_ns", m.gap.nanoseconds()},
            {"O_send_ps", m.send_byte},
            {"O_receive_ps", m.take_byte},
            {"G_ps", m.gap_byte}};
}

ordered_json to_json(const model::WayCosts& way) {
    return {{"small", to_json(way.small)},
            {"large", to_json(way.large)},
            {"limit", way.limit},
            {"ready_ns", way.ready.nanoseconds()}};
}

}  // namespace

ordered_json to_json(const model::Charges& charges) {
    ordered_json object{{"near", to_json(charges.way)}};
    object["far"] = charges.far ? to_json(*charges.far) : ordered_json();
    object["f"] = charges.free;
    object["copy_ps"] = charges.local.copy;
    object["reduce_ps"] = charges.local.reduce;
    object["step_ns"] = charges.local.step.nanoseconds();
    object["host_cores"] = charges.host_cores;
    return object;
}

void print_charges(const model::Charges& charges) {
    Table table({{"messages"},
                 {"L", Align::right},
                 {"o send", Align::right},
                 {"o first", Align::right},
                 {"o receive", Align::right},
                 {"g", Align::right},
                 {"O send", Align::right},
                 {"O receive", Align::right},
                 {"G", Align::right}});
    const auto row = [&](const std::string& name, const model::MessageCosts& m) {
        const auto byte = [](std::int64_t ps) { return fmt::format("{} ps/B", ps); };
        table.row({name, to_string(m.latency), to_string(m.send), to_string(m.send_first), to_string(m.take),
                   to_string(m.gap), byte(m.send_byte), byte(m.take_byte), byte(m.gap_byte)});
    };
    const auto way = [&](const std::string& where, const model::WayCosts& costs) {
        if (costs.limit == UINT64_MAX) return row(where + ", all", costs.small);
        row(fmt::format("{}, up to {} bytes", where, costs.limit), costs.small);
        row(where + ", larger", costs.large);
    };
    way(charges.far ? "inside a host" : "between ranks", charges.way);
    if (charges.far) way("between hosts", *charges.far);
    table.print();
    fmt::print("\nf = {} messages at once; a copy {} ps/B, a reduction {} ps/B\n", charges.free, charges.local.copy,
               charges.local.reduce);
    if (charges.host_cores != 0)
        fmt::print("the ranks of a host share {}: L is with the turns of others in it\n",
                   counted(charges.host_cores, "core", "cores"));
}

}  // namespace loom::cli
