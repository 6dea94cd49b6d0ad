// suites: MPICH's tests, Intel's benchmarks and OSU's, unchanged, with libloom-mpi loaded, and LibNBC's tests with its
// nbc.h; beside what they say without.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "loom/base/error.hpp"
#include "suites/suite.hpp"

namespace {

using namespace loom;
using suites::Mpi;
using suites::Test;

constexpr double least_share = 0.95;

// The library's own account of one run.
struct Account {
    double taken = 0, handed_back = 0;
    std::map<std::string, double> reasons;
    [[nodiscard]] double calls() const { return taken + handed_back; }
    [[nodiscard]] double share() const { return calls() == 0 ? 1 : taken / calls(); }
    void add(const Account& other) {
        taken += other.taken;
        handed_back += other.handed_back;
        for (const auto& [why, count] : other.reasons) reasons[why] += count;
    }
};

std::optional<Account> read_account(const std::filesystem::path& file) {
    const auto report = nlohmann::json::parse(peer::content_or_empty(file), nullptr, false);
    if (!report.is_object() || !report.contains("calls")) return {};
    Account account;
    for (const auto& [name, call] : report["calls"].items()) {
        account.taken += call.value("taken_over", 0.0);
        for (const auto& [why, count] : call["handed_back"].items()) {
            account.handed_back += count.get<double>();
            account.reasons[why] += count.get<double>();
        }
    }
    return account;
}

struct Verdict {
    bool passed = false;
    double seconds = 0;
    std::string said;  // when it did not pass
    std::optional<Account> account;
};

std::string last_words(const peer::Outcome& outcome) {
    if (outcome.timed_out) return "time is up";
    std::string text = outcome.errors + outcome.output;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text = text.substr(text.size() > 400 ? text.size() - 400 : 0);
    return fmt::format("exit status {}: {}", outcome.status, text);
}

// With `library` empty: the MPI library alone.
Verdict run(const Test& test, Mpi mpi, const std::string& library, const std::filesystem::path& folder) {
    static unsigned number = 0;
    const auto report = folder / fmt::format("{}.json", ++number);
    auto variables = test.environment;
    if (library.empty()) {
        if (test.switched_off) variables.emplace_back("LOOM_MPI", "off");
    } else {
        variables.emplace_back("LD_PRELOAD", library);
        variables.emplace_back("LOOM_MPI_BLOCKING", "1");
        variables.emplace_back("LOOM_MPI_REPORT", report.string());
    }
    peer::Command command;
    auto& words = command.arguments;
    if (mpi == Mpi::openmpi) {
        words = {"mpirun.openmpi", "--oversubscribe", "--mca", "btl_base_warn_component_unused", "0"};
        if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
        for (const auto& [name, value] : variables)
            for (const std::string& word : {std::string("-x"), name + "=" + value}) words.push_back(word);
    } else {
        words = {"mpirun.mpich"};
        for (const auto& [name, value] : variables)
            for (const std::string& word : {std::string("-genv"), name, value}) words.push_back(word);
    }
    words.insert(words.end(), {"-n", std::to_string(test.ranks)});
    words.insert(words.end(), test.program.begin(), test.program.end());
    command.directory = test.folder;
    command.output = folder / fmt::format("{}.out", number);
    command.timeout = peer::Seconds(test.seconds);
    const peer::Outcome outcome = peer::run(command);
    Verdict verdict{test.passed(outcome), outcome.seconds, {}, {}};
    if (!verdict.passed) verdict.said = last_words(outcome);
    if (!library.empty()) verdict.account = read_account(report);
    return verdict;
}

struct Options {
    std::vector<std::string> names{"mpich", "imb", "osu", "nbc"};
    std::vector<std::string> mpis{"openmpi", "mpich"};
    std::string libraries;  // folder
    std::string header;     // nbc.h
    std::string match;
    bool plain = false;   // without the library only
    bool loaded = false;  // with the library only
    bool verbose = false;
    double patience = 1;  // times the limits
};

class Totals {
public:
    // One line a test; true unless it passes without the library and not with it.
    bool add(const Test& test, Mpi mpi, const std::optional<Verdict>& plain, const std::optional<Verdict>& loaded,
             bool verbose) {
        const auto word = [](const std::optional<Verdict>& verdict) {
            return !verdict ? "" : verdict->passed ? "passes" : "fails";
        };
        const Account none;
        const Account& account = loaded && loaded->account ? *loaded->account : none;
        std::string share;
        if (loaded) share = !loaded->account ? "none" : fmt::format("{:.1f} %", 100 * account.share());
        fmt::print("{:<8} {:<6} {:<46} {:>5} {:<7} {:>6} {:<7} {:>6} {:>8} {:>8.0f}\n", to_string(mpi), test.suite,
                   test.name.substr(0, 46),
                   test.ranks < test.wanted_ranks ? fmt::format("{}/{}", test.ranks, test.wanted_ranks)
                                                  : std::to_string(test.ranks),
                   word(plain), plain ? fmt::format("{:.1f} s", plain->seconds) : "", word(loaded),
                   loaded ? fmt::format("{:.1f} s", loaded->seconds) : "", share, account.calls());
        for (const auto& verdict : {plain, loaded})
            if (verdict && !verdict->passed && verbose) fmt::print("    {}\n", verdict->said);
        std::fflush(stdout);
        ++tests_;
        fewer_ranks_ += test.ranks < test.wanted_ranks;
        const bool good = !loaded || (loaded->passed && loaded->account);
        const bool fails_without = plain && !plain->passed;
        failing_without_ += fails_without;
        only_with_ += fails_without && loaded && good;
        passed_ += !fails_without && good;
        account_.add(account);
        if (loaded && loaded->account && account.calls() > 0) {
            ++with_calls_;
            counting_ += account.share() >= least_share;
        }
        return good || fails_without;
    }
    void add_missing(const Test& test, Mpi mpi) {
        fmt::print("{:<8} {:<6} {:<46} not built\n", to_string(mpi), test.suite, test.name.substr(0, 46));
        ++missing_;
    }
    [[nodiscard]] double share() const { return account_.share(); }
    [[nodiscard]] bool has_calls() const { return account_.calls() > 0; }
    void print(Mpi mpi, const std::string& suite) const {
        fmt::print(
            "{} {}: {} tests, {} fail without Loomband ({} of them pass with it), {} of the others pass; {:.2f} % of "
            "{:.0f} calls taken "
            "over; {} of {} tests with calls have at least 95 %\n",
            to_string(mpi), suite, tests_, failing_without_, only_with_, passed_, 100 * share(), account_.calls(),
            counting_, with_calls_);
        if (missing_ != 0) fmt::print("    not built, and in none of these numbers: {}\n", missing_);
        if (fewer_ranks_ != 0) fmt::print("    run on fewer ranks than the suite asks for: {}\n", fewer_ranks_);
        for (const auto& [why, count] : account_.reasons) fmt::print("    handed back: {:.0f} {}\n", count, why);
    }

private:
    std::size_t tests_ = 0, failing_without_ = 0, only_with_ = 0, passed_ = 0, with_calls_ = 0, counting_ = 0;
    std::size_t missing_ = 0, fewer_ranks_ = 0;
    Account account_;
};

// The folder that a variable names.
std::optional<std::filesystem::path> named(const std::string& suite, Mpi mpi) {
    std::string variable = "LOOM_SUITE_" + suite;
    for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* folder = std::getenv(variable.c_str());
    if (folder == nullptr) {
        fmt::print("{} {}: not run, {} is not set\n", to_string(mpi), suite, variable);
        return {};
    }
    return std::filesystem::path(folder);
}

// `folder`: where what is compiled here goes.
std::vector<Test> tests_of(const std::string& suite, Mpi mpi, const std::filesystem::path& where,
                           const Options& options, const std::string& library, const std::filesystem::path& folder) {
    // Ranks that wait for a core keep it with MPICH: every message costs a time slice then.
    const std::uint32_t most = mpi == Mpi::openmpi ? 16 : 5, few = mpi == Mpi::openmpi ? 4 : 2;
    if (suite == "nbc") return suites::nbc_suite({where, options.header, library}, mpi, folder);
    const auto built = where / to_string(mpi);
    return suite == "mpich" ? suites::mpich_suite(built, most)
           : suite == "imb" ? suites::imb_suite(built, few)
                            : suites::osu_suite(built, few);
}

int run_all(const Options& options) {
    const peer::TemporaryFolder folder;
    bool good = true, any = false;
    for (const std::string& word : options.mpis) {
        const Mpi mpi = word == "openmpi" ? Mpi::openmpi : Mpi::mpich;
        const std::string library =
            std::filesystem::absolute(std::filesystem::path(options.libraries) / ("libloom-mpi-" + word + ".so"));
        if (!options.plain && !std::filesystem::exists(library)) throw Error("no " + library + ": build it");
        for (const std::string& name : options.names) {
            const auto where = named(name, mpi);
            if (!where) continue;
            any = true;
            Totals totals;
            const peer::TemporaryFolder compiled;
            for (Test test : tests_of(name, mpi, *where, options, library, compiled.path())) {
                if (test.name.find(options.match) == std::string::npos) continue;
                if (!test.built) {
                    totals.add_missing(test, mpi);
                    continue;
                }
                test.seconds *= options.patience;
                std::optional<Verdict> plain, loaded;
                if (!options.loaded) plain = run(test, mpi, {}, folder.path());
                if (!options.plain) loaded = run(test, mpi, library, folder.path());
                good = totals.add(test, mpi, plain, loaded, options.verbose) && good;
            }
            totals.print(mpi, name);
            if (!options.plain && options.match.empty())
                good = good && totals.has_calls() && totals.share() >= least_share;
        }
    }
    if (!any)
        throw Error(
            "set LOOM_SUITE_MPICH, LOOM_SUITE_IMB or LOOM_SUITE_OSU to a folder with a build for openmpi and "
            "one for mpich in it, or LOOM_SUITE_NBC to a checkout of LibNBC");
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Runs other people's tests of collectives with libloom-mpi loaded", "suites"};
    app.add_option("--suite", options.names, "mpich, imb, osu, nbc")
        ->delimiter(',')
        ->check(CLI::IsMember({"mpich", "imb", "osu", "nbc"}));
    app.add_option("--mpi", options.mpis, "openmpi, mpich")->delimiter(',')->check(CLI::IsMember({"openmpi", "mpich"}));
    app.add_option("--libraries", options.libraries, "Folder of libloom-mpi-openmpi.so and libloom-mpi-mpich.so");
    app.add_option("--header", options.header, "nbc.h, for LibNBC's tests");
    app.add_option("--match", options.match, "Only tests with this in their name");
    app.add_flag("--plain", options.plain, "Without libloom-mpi only");
    app.add_flag("--loaded", options.loaded, "With libloom-mpi only");
    app.add_option("--patience", options.patience, "Times the limits of the tests, for a machine that is busy")
        ->check(CLI::PositiveNumber);
    app.add_flag("--verbose", options.verbose, "Say what a test that failed said");
    CLI11_PARSE(app, argc, argv);
    try {
        return run_all(options);
    } catch (const loom::Error& error) {
        fmt::print(stderr, "suites: {}\n", error.what());
        return 2;
    }
}
