// loom session: what sessions run, a trial on this machine, and the table that they are composed by.
#include <fmt/format.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "loom/base/table.hpp"
#include "loom/session/session.hpp"
#include "loom/session/simulation.hpp"
#include "loom/session/status.hpp"

namespace loom::cli {

namespace {

using nlohmann::json;

json to_json(const session::Composition& composition) {
    json micros = json::array();
    for (const session::Micro micro : composition.micros) micros.push_back(name(micro));
    return {{"scheme", name(composition.settings.scheme)},
            {"place", name(composition.place)},
            {"network", name(composition.settings.network)},
            {"controller", name(composition.settings.controller)},
            {"sealed", composition.settings.sealed},
            {"epoch", composition.epoch},
            {"micros", std::move(micros)},
            {"why", composition.why}};
}

// --- loom session table

void print_table(bool as_json) {
    json object{{"contexts", json::array()}};
    Table table({{"micro-protocol"},
                 {"sync intra IB"},
                 {"sync intra Eth"},
                 {"sync inter IB"},
                 {"sync inter Eth"},
                 {"async intra IB"},
                 {"async intra Eth"},
                 {"async inter IB"},
                 {"async inter Eth"}});
    std::vector<std::vector<session::Micro>> columns;
    for (const session::Context& context : session::contexts) {
        session::Settings settings;
        settings.scheme = context.scheme;
        settings.network = context.network;
        columns.push_back(composition_of(settings, context.reach));
        json micros = json::array();
        for (const session::Micro micro : columns.back()) micros.push_back(name(micro));
        object["contexts"].push_back({{"scheme", name(context.scheme)},
                                      {"reach", name(context.reach)},
                                      {"network", name(context.network)},
                                      {"micros", std::move(micros)}});
    }
    for (std::size_t i = 0; i < session::micros_of_the_paper; ++i) {
        const auto micro = static_cast<session::Micro>(i);
        std::vector<Cell> row{Cell(std::string(name(micro)))};
        for (const auto& column : columns)
            row.emplace_back(std::find(column.begin(), column.end(), micro) != column.end() ? "X" : "");
        table.row(row);
    }
    fmt::print("{}", as_json ? object.dump() + '\n' : table.text());
}

// --- loom session watch

json statuses_json(const std::vector<session::Status>& all) {
    json list = json::array();
    for (const session::Status& each : all)
        list.push_back({{"process", each.process},
                        {"alive", each.alive},
                        {"side", each.opener ? "opener" : "acceptor"},
                        {"peer", each.peer},
                        {"epoch", each.epoch},
                        {"composition", each.text},
                        {"reason", each.reason},
                        {"messages_sent", each.counters.messages_sent},
                        {"messages_received", each.counters.messages_received},
                        {"segments_again", each.counters.segments_again},
                        {"changes", each.counters.changes}});
    return list;
}

void print_statuses(const std::vector<session::Status>& all, bool as_json) {
    if (as_json) {
        fmt::print("{}\n", json{{"sessions", statuses_json(all)}}.dump());
        return;
    }
    Table table(
        {{"process"}, {"side"}, {"peer"}, {"changes"}, {"sent"}, {"received"}, {"again"}, {"runs"}, {"because"}});
    for (const session::Status& each : all)
        table.row({fmt::format("{}{}", each.process, each.alive ? "" : " (gone)"), each.opener ? "opener" : "acceptor",
                   each.peer, std::to_string(each.counters.changes), std::to_string(each.counters.messages_sent),
                   std::to_string(each.counters.messages_received), std::to_string(each.counters.segments_again),
                   each.text, each.reason});
    fmt::print("{}", table.text());
}

struct WatchOptions {
    Common common;
    std::string folder;
    double interval = 0;
};

void watch(const WatchOptions& options) {
    const std::string folder =
        options.folder.empty() ? settings::read(Setting::session_status).value_or("") : options.folder;
    if (folder.empty()) throw UsageError("expected a folder, or LOOM_SESSION_STATUS");
    for (;;) {
        print_statuses(session::read_statuses(folder), options.common.json);
        if (options.interval <= 0) return;
        std::fflush(stdout);
        sleep_for(seconds(options.interval));
    }
}

// --- loom session bench

struct BenchOptions {
    Common common;
    int rounds = 2000;
    std::uint64_t bytes = 1 << 20;
    int messages = 200;
};

struct Ends {
    std::unique_ptr<session::Session> opener, acceptor;
};

Ends connect_here(const session::Options& options, const session::Options& acceptors) {
    constexpr Time limit = milliseconds(20'000);
    session::Listener listener("127.0.0.1:0", acceptors);
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(limit); });
    Ends ends;
    ends.opener = session::Session::open(fmt::format("127.0.0.1:{}", listener.port()), options, limit);
    ends.acceptor = accepted.get();
    return ends;
}

struct Row {
    session::Composition composition;
    std::string what;
    double half_us = 0, gbs = 0;
};

// Half of a round trip of 8 bytes.
double half_trip(Ends& ends, int rounds) {
    const auto answering = std::async(std::launch::async, [&] {
        session::Bytes message;
        for (int i = 0; i < rounds; ++i)
            if (ends.acceptor->receive(message) == session::Outcome::done) (void)ends.acceptor->start_send(message);
    });
    const Time begin = now();
    session::Bytes message(8);
    for (int i = 0; i < rounds; ++i) {
        (void)ends.opener->start_send(message);
        if (ends.opener->receive(message) != session::Outcome::done) throw Error(ends.opener->ended());
    }
    return (now() - begin).microseconds() / rounds / 2;
}

double rate(Ends& ends, std::size_t bytes, int messages) {
    const auto taking = std::async(std::launch::async, [&] {
        session::Bytes message;
        for (int i = 0; i < messages; ++i)
            if (ends.acceptor->receive(message) != session::Outcome::done) return;
    });
    const Time begin = now();
    std::vector<session::Request> sent;
    for (int i = 0; i < messages; ++i) {
        sent.push_back(ends.opener->start_send(session::Bytes(bytes)));
        if (i >= 4) (void)ends.opener->wait(sent[static_cast<std::size_t>(i) - 4]);
    }
    for (const session::Request& each : sent)
        if (ends.opener->wait(each) != session::Outcome::done) throw Error(ends.opener->ended());
    return static_cast<double>(bytes) * messages / (now() - begin).seconds() / 1e9;
}

std::vector<Row> bench(const BenchOptions& options) {
    std::vector<Row> rows;
    const auto add = [&](const char* what, const session::Options& ours, const session::Options& theirs) {
        Ends ends = connect_here(ours, theirs);
        Row row{ends.opener->composition(), what};
        row.half_us = half_trip(ends, options.rounds);
        row.gbs = rate(ends, options.bytes, options.messages);
        rows.push_back(std::move(row));
    };
    session::Options plain;
    add("as found", plain, plain);
    session::Options whole = plain;
    whole.whole_messages = true;
    add("one request a message", whole, whole);
    session::Options ethernet = plain;
    ethernet.infiniband = false;
    add("ethernet", ethernet, ethernet);
    session::Options north = ethernet, south = ethernet;
    north.cluster = "north";
    south.cluster = "south";
    add("between clusters", north, south);
    north.key = south.key = "bench";
    add("sealed", north, south);
    return rows;
}

void print_bench(const BenchOptions& options) {
    const std::vector<Row> rows = bench(options);
    json object{{"bytes", options.bytes}, {"rows", json::array()}};
    Table table({{"session"}, {"network"}, {"8 B, one way"}, {fmt::format("{} B", options.bytes)}});
    for (const Row& row : rows) {
        object["rows"].push_back({{"session", row.what},
                                  {"composition", to_json(row.composition)},
                                  {"half_round_trip_us", row.half_us},
                                  {"gigabytes_per_second", row.gbs}});
        table.row({row.what, std::string(name(row.composition.settings.network)), fmt::format("{:.1f} us", row.half_us),
                   fmt::format("{:.2f} GB/s", row.gbs)});
    }
    fmt::print("{}", options.common.json ? object.dump() + '\n' : table.text());
}

}  // namespace

void add_session(CLI::App& program, int&) {
    CLI::App* app = program.add_subcommand("session", "Sessions that compose their own protocol");
    app->require_subcommand(1);

    CLI::App* table = app->add_subcommand("table", "Which micro-protocols run in which context (Table I of the paper)");
    const auto common = std::make_shared<Common>();
    add_common(*table, *common);
    table->callback([common] { print_table(common->json); });

    CLI::App* watching = app->add_subcommand("watch", "What the sessions of this host run at present, and why");
    const auto watched = std::make_shared<WatchOptions>();
    add_common(*watching, watched->common);
    watching->add_option("folder", watched->folder, "Where they say so; LOOM_SESSION_STATUS if not given");
    watching->add_option("--interval", watched->interval, "Look again after so many seconds, and go on")
        ->check(CLI::NonNegativeNumber);
    watching->callback([watched] { watch(*watched); });

    CLI::App* measuring = app->add_subcommand("bench", "How fast sessions are on this machine");
    const auto measured = std::make_shared<BenchOptions>();
    add_common(*measuring, measured->common);
    measuring->add_option("--rounds", measured->rounds, "Round trips of 8 bytes")->check(CLI::Range(1, 10'000'000));
    measuring->add_option("--bytes", measured->bytes, "Of a message")->check(CLI::Range(1, 1 << 28));
    measuring->add_option("--messages", measured->messages, "Of that size")->check(CLI::Range(1, 1'000'000));
    measuring->callback([measured] { print_bench(*measured); });

    app->footer(
        "A session says only whether it computes synchronously or asynchronously; where its ends are and what network\n"
        "lies between decides what it is composed of, and that changes while it runs.\n"
        "\n"
        "  LOOM_SESSION_STATUS=/tmp/sessions my_program &    each of its sessions keeps a file there\n"
        "  loom session watch /tmp/sessions --interval 1\n"
        "  loom session bench");
}

}  // namespace loom::cli
