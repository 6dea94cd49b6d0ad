// loom fabric new KIND: the generators.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/fabric.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::cli {

using namespace fabric;

namespace {

// What every kind takes.
struct Making {
    Common common;
    FabricOutput output;
    DamageOptions damage;
    std::string rate = "4xHDR";
    unsigned lmc = 0;
    bool no_lids = false;
};

// A kind's own parameters live in one object that its callback keeps.
template <class Parameters>
struct Kind : Making {
    Parameters parameters;
    unsigned merge = 1;
    std::string text;
};

LinkRate rate_of(const std::string& text) {
    const auto rate = parse_rate(text);
    if (!rate || rate->megabits() == 0)
        throw UsageError(fmt::format("--rate expects a width and a speed such as 4xHDR, got {}", excerpt(text)));
    return *rate;
}

std::vector<unsigned> numbers(const char* what, const std::string& text, char separator) {
    std::vector<unsigned> result;
    Cursor cursor(text);
    do {
        const auto value = cursor.take_decimal();
        if (!value || *value > 1'000'000) break;
        result.push_back(static_cast<unsigned>(*value));
        if (cursor.done()) return result;
    } while (cursor.take(separator));
    throw UsageError(
        fmt::format("{} expects numbers such as 4{}4{}2, got {}", what, separator, separator, excerpt(text)));
}

// Finishes a kind: shared options, and a callback that makes the fabric, changes and writes it.
unsigned largest_radix(const Fabric& fabric) {
    unsigned most = 0;
    for (const Node& node : fabric.nodes())
        if (node.kind == NodeKind::switch_) most = std::max<unsigned>(most, node.ports);
    return most;
}

template <class Parameters>
void finish(CLI::App* app, const std::shared_ptr<Kind<Parameters>>& kind,
            std::function<Fabric(Kind<Parameters>&)> make) {
    kind->output.add_to(*app);
    app->add_option("--rate", kind->rate, "Width and speed of all links")->capture_default_str();
    app->add_option("--lmc", kind->lmc, "Give 2^LMC LIDs to each host")
        ->check(whole_number(0, 7))
        ->capture_default_str();
    app->add_flag("--no-lids", kind->no_lids, "Give no LIDs at all (a fabric beyond the 49,151 of a subnet)");
    kind->damage.add_to(*app);
    add_common(*app, kind->common);
    app->callback([kind, make] {
        (void)kind->output.resolve(kind->common);
        kind->parameters.rate = rate_of(kind->rate);
        Fabric fabric = make(*kind);
        if (!kind->no_lids) fabric.assign_lids(static_cast<std::uint8_t>(kind->lmc));
        const Damaged result = kind->damage.apply(fabric, !kind->no_lids);
        kind->output.save(result.fabric, kind->common);
        if (const unsigned before = largest_radix(fabric), after = largest_radix(result.fabric); after > before)
            print_remarks({fmt::format("switches have {} ports instead of {}: one more each for its aggregation node",
                                       after, before)},
                          kind->common);
        report_written(result, kind->output, kind->common);
    });
}

void add_tree_options(CLI::App* app, Pgft& tree) {
    app->add_option("--radix", tree.radix, "Ports of every switch (default: as many as it uses)")
        ->check(whole_number(1));
    app->add_option("--hosts-per-leaf", tree.hosts_per_leaf, "Plug in only so many hosts a leaf")
        ->check(whole_number(1));
    app->add_option("--hosts", tree.hosts, "Plug in only so many hosts in all, leaf after leaf")
        ->check(whole_number(1));
    app->add_flag_callback(
        "--adjacent", [&tree] { tree.up_order = tree.down_order = ParallelOrder::adjacent; },
        "Parallel cables in neighbouring ports (default: they take turns)");
}

void add_kary(CLI::App& all) {
    struct Parameters : Pgft {
        unsigned k = 0, n = 0;
    };
    const auto kind = std::make_shared<Kind<Parameters>>();
    CLI::App* app =
        all.add_subcommand("kary", "K-ary N-tree: K^N hosts, N levels of switches with K ports down and K up");
    app->add_option("K", kind->parameters.k, "Ports down, and up, of a switch")->check(whole_number())->required();
    app->add_option("N", kind->parameters.n, "Levels of switches")->check(whole_number())->required();
    app->add_option("--merge-roots", kind->merge, "Make so many roots into one switch with parallel cables")
        ->check(whole_number(1))
        ->capture_default_str();
    add_tree_options(app, kind->parameters);
    app->footer(
        "  loom fabric new kary 12 3 -o tree.json\n  loom fabric new kary 4 3 --merge-roots 2 --radix 8 -o tree.net");
    finish<Parameters>(app, kind, [](auto& own) {
        Pgft tree = kary_tree(own.parameters.k, own.parameters.n);
        if (own.merge != 1) tree = merge_roots(tree, own.merge);
        Pgft wanted = own.parameters;
        wanted.children = tree.children;
        wanted.parents = tree.parents;
        wanted.parallel = tree.parallel;
        return pgft(wanted);
    });
}

void add_pgft(CLI::App& all) {
    struct Parameters : Pgft {
        std::string m, w, p;
    };
    const auto kind = std::make_shared<Kind<Parameters>>();
    CLI::App* app =
        all.add_subcommand("pgft", "Any fat tree as PGFT(h; m; w; p): children, parents, parallel cables by level");
    app->add_option("-m,--children", kind->parameters.m,
                    "m1,..,mh: children of a node of level 1 (leaves) to h (roots)")
        ->required();
    app->add_option("-w,--parents", kind->parameters.w, "w1,..,wh: parents of a node of level 0 (hosts) to h-1")
        ->required();
    app->add_option("-p,--parallel", kind->parameters.p, "p1,..,ph: cables between such a pair (default: 1,..,1)");
    add_tree_options(app, kind->parameters);
    app->footer(
        "Half bisection between the levels of a 2-level tree:\n"
        "  loom fabric new pgft -m 4,8 -w 1,2 -o half.json\n"
        "45,056 hosts on 3,840 switches of 64 ports:\n"
        "  loom fabric new pgft -m 32,32,44 -w 1,32,32 --radix 64 -o large.json");
    finish<Parameters>(app, kind, [](auto& own) {
        Pgft tree = own.parameters;
        tree.children = numbers("--children", own.parameters.m, ',');
        tree.parents = numbers("--parents", own.parameters.w, ',');
        if (!own.parameters.p.empty()) tree.parallel = numbers("--parallel", own.parameters.p, ',');
        return pgft(tree);
    });
}

void add_clos(CLI::App& all) {
    const auto kind = std::make_shared<Kind<Clos>>();
    Clos& clos_parameters = kind->parameters;
    kind->text = "1:1";
    CLI::App* app = all.add_subcommand("clos", "Recursive Clos network: networks of crossbars used as crossbars");
    app->add_option("-c,--crossbar", clos_parameters.crossbar, "Ports of a crossbar")
        ->check(whole_number())
        ->required();
    app->add_option("-r,--ratio", kind->text, "Uplinks to outer ports on a leaf crossbar, UP:DOWN")
        ->capture_default_str();
    app->add_option("--ports", clos_parameters.ports, "Hosts (default: as many as fit)")->check(whole_number(1));
    app->add_option("-d,--depth", clos_parameters.depth,
                    "1 for leaves and spines; networks of depth D-1 as crossbars beyond")
        ->check(whole_number())
        ->capture_default_str();
    app->add_flag_callback(
        "--by-leaf", [&clos_parameters] { clos_parameters.outer = OuterPorts::by_leaf; },
        "Number a network's ports leaf by leaf (default: round-robin over its leaves)");
    app->footer("  loom fabric new clos -c 8 -r 1:3 --ports 528 -d 2 -o clos.json");
    finish<Clos>(app, kind, [](auto& own) {
        const auto ratio = numbers("--ratio", own.text, ':');
        if (ratio.size() != 2) throw UsageError(fmt::format("--ratio expects UP:DOWN, got {}", excerpt(own.text)));
        own.parameters.up = ratio[0];
        own.parameters.down = ratio[1];
        return clos(own.parameters);
    });
}

void add_torus(CLI::App& all) {
    const auto kind = std::make_shared<Kind<Torus>>();
    Torus& grid = kind->parameters;
    CLI::App* app = all.add_subcommand("torus", "Torus or mesh of any dimensions");
    app->add_option("SIZE", kind->text, "Switches in each dimension, such as 4x4x8")->required();
    app->add_option("--hosts", grid.hosts_per_switch, "Hosts on each switch")
        ->check(whole_number())
        ->capture_default_str();
    app->add_flag_callback(
        "--mesh", [&grid] { grid.wrap = Wrap::mesh; }, "Without the cables that close the rings");
    app->add_option("--parallel", grid.parallel, "Cables between neighbours")
        ->check(whole_number())
        ->capture_default_str();
    app->add_option("--radix", grid.radix, "Ports of every switch (default: as many as it uses)")
        ->check(whole_number(1));
    app->footer("  loom fabric new torus 4x4x4 --hosts 2 -o torus.json");
    finish<Torus>(app, kind, [](auto& own) {
        own.parameters.dimensions = numbers("SIZE", own.text, 'x');
        return torus(own.parameters);
    });
}

void add_dragonfly(CLI::App& all) {
    const auto kind = std::make_shared<Kind<Dragonfly>>();
    Dragonfly& fly = kind->parameters;
    CLI::App* app =
        all.add_subcommand("dragonfly", "Groups of switches, all joined within a group, few cables between groups");
    app->add_option("-a,--routers", fly.routers, "Switches of a group")->check(whole_number())->required();
    app->add_option("-p,--hosts", fly.hosts, "Hosts on each switch")->check(whole_number())->required();
    app->add_option("-g,--global", fly.global, "Cables of each switch to other groups")
        ->check(whole_number())
        ->required();
    app->add_option("--groups", fly.groups, "Groups (default: routers * global + 1, as many as can be)")
        ->check(whole_number(1));
    app->add_flag_callback(
        "--absolute", [&fly] { fly.arrangement = GlobalCables::absolute; },
        "Cable k of a group to the k-th other group (default: palmtree)");
    app->add_option("--radix", fly.radix, "Ports of every switch (default: as many as it uses)")
        ->check(whole_number(1));
    app->footer("  loom fabric new dragonfly -a 8 -p 4 -g 4 -o fly.json      33 groups, 1,056 hosts");
    finish<Dragonfly>(app, kind, [](auto& own) { return dragonfly(own.parameters); });
}

void add_rail(CLI::App& all) {
    const auto kind = std::make_shared<Kind<Rail>>();
    Rail& rails = kind->parameters;
    CLI::App* app = all.add_subcommand("rail", "Rail-optimised two-level tree of GPU servers");
    app->add_option("--units", rails.units, "Scalable units")->check(whole_number())->capture_default_str();
    app->add_option("--servers-per-unit", rails.servers_per_unit, "Servers of a unit, each on all of its leaves")
        ->check(whole_number())
        ->required();
    app->add_option("--rails", rails.rails, "Adapters of a server, and leaves of a unit")
        ->check(whole_number())
        ->capture_default_str();
    app->add_option("--spines", rails.spines, "Spines (of each rail with --rail-only)")
        ->check(whole_number())
        ->required();
    app->add_option("--parallel", rails.parallel, "Cables between a leaf and a spine")
        ->check(whole_number())
        ->capture_default_str();
    app->add_option("--servers", rails.servers, "Servers in all, the last of the units being short")
        ->check(whole_number(1));
    app->add_flag_callback(
        "--rail-only", [&rails] { rails.layout = RailSpines::per_rail; }, "Each rail has spines of its own");
    app->add_option("--radix", rails.radix, "Ports of every switch (default: as many as it uses)")
        ->check(whole_number(1));
    app->footer("  loom fabric new rail --units 4 --servers-per-unit 32 --spines 16 --parallel 2 -o pod.json");
    finish<Rail>(app, kind, [](auto& own) { return rail(own.parameters); });
}

}  // namespace

void add_fabric_new(CLI::App& fabric) {
    CLI::App* app = fabric.add_subcommand("new", "Make a fabric from parameters");
    app->require_subcommand(1);
    app->footer("Formats (by the file's name or --to):\n" + format_list() +
                "\n\n  loom fabric new kary 4 3 -o tree.json --remove-links 5% --seed 3");
    add_kary(*app);
    add_pgft(*app);
    add_clos(*app);
    add_torus(*app);
    add_dragonfly(*app);
    add_rail(*app);
}

}  // namespace loom::cli
