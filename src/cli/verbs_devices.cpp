// loom verbs devices: what programs will see, asked through the library as they would ask.
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/verbs.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/verbs/functions.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    VerbsSettings settings;
};

struct Row {
    std::string name, guid, link, state, gid;
    unsigned lid = 0, mtu = 0;
};

std::string gid_text(const ibv_gid& gid) {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    return text;
}

Row look_at(const verbs::Functions& library, ibv_device* device) {
    ibv_context* const context = library.open_device(device);
    if (context == nullptr) throw IoError(fmt::format("cannot open {}: {}", device->name, std::strerror(errno)));
    ibv_device_attr_ex attributes{};
    ibv_port_attr port{};
    ibv_gid gid{};
    verbs_context* const verbs = verbs_get_ctx(context);
    const bool known = verbs->query_device_ex(context, nullptr, &attributes, sizeof attributes) == 0 &&
                       verbs->query_port(context, 1, &port, sizeof port) == 0 &&
                       library.query_gid(context, 1, 0, &gid) == 0;
    const std::string name = device->name;
    library.close_device(context);
    if (!known) throw IoError("cannot query " + name);
    Row row;
    row.name = name;
    row.guid = fmt::format("{:016x}", be64toh(attributes.orig_attr.node_guid));
    row.link = port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    row.state = port.state == IBV_PORT_ACTIVE ? "active" : "down";
    row.gid = gid_text(gid);
    row.lid = port.lid;
    row.mtu = 128u << port.active_mtu;
    return row;
}

void run(const Options& options) {
    apply(options.settings);
    const verbs::Functions library(verbs::soft_library().string());
    ibv_device** const list = library.get_device_list(nullptr);
    if (list == nullptr) throw IoError(fmt::format("cannot list devices: {}", std::strerror(errno)));
    std::vector<Row> rows;
    for (ibv_device** device = list; *device != nullptr; ++device) rows.push_back(look_at(library, *device));
    library.free_device_list(list);
    if (options.common.json) {
        nlohmann::ordered_json devices = nlohmann::ordered_json::array();
        for (const Row& row : rows)
            devices.push_back({{"name", row.name},
                               {"node_guid", row.guid},
                               {"link_layer", row.link},
                               {"state", row.state},
                               {"lid", row.lid},
                               {"gid", row.gid},
                               {"mtu", row.mtu}});
        return print_json({{"devices", std::move(devices)}});
    }
    Table table({{"device"},
                 {"node GUID"},
                 {"link layer"},
                 {"state"},
                 {"LID", Align::right},
                 {"MTU", Align::right},
                 {"GID 0"}});
    for (const Row& row : rows)
        table.row({row.name, row.guid, row.link, row.state, std::to_string(row.lid), std::to_string(row.mtu), row.gid});
    table.print();
}

}  // namespace

void add_verbs_devices(CLI::App& verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = verbs.add_subcommand("devices", "List the software HCAs that a program would see");
    add_hcas_option(*app, options->settings);
    add_common(*app, options->common);
    app->footer(
        "As `loom verbs run -- ibv_devices` would, in one table. LIDs tell InfiniBand adapters apart, GIDs those of\n"
        "Ethernet (RoCEv2).\n"
        "\n"
        "  loom verbs devices --hcas ib,roce:127.0.0.1");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
