#include "suites/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>
#include <sstream>

#include "loom/base/error.hpp"

namespace loom::suites {
namespace {

namespace fs = std::filesystem;

bool runnable(const fs::path& program) {
    std::error_code error;
    return fs::is_regular_file(program, error) &&
           (fs::status(program, error).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

// Every test of the suite prints this line, once, when nothing was wrong.
bool no_errors(const peer::Outcome& outcome) {
    static const std::regex line("(^|\n) *No [Ee]rrors *\n");
    return outcome.ok() && std::regex_search(outcome.output, line);
}

// One line of a list: NAME RANKS [KEY=VALUE]...; nothing when it is not one.
bool read_line(const std::string& line, Test& test, std::uint32_t most_ranks) {
    std::istringstream in(line);
    std::string name, ranks;
    if (!(in >> name >> ranks) || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
    const auto [end, error] = std::from_chars(ranks.data(), ranks.data() + ranks.size(), test.ranks);
    if (error != std::errc{} || end != ranks.data() + ranks.size() || test.ranks == 0) return false;
    test.wanted_ranks = test.ranks;
    test.ranks = std::min(test.ranks, most_ranks);
    test.program = {(test.folder / name).string()};
    test.name += "/" + name;
    for (std::string word; in >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) continue;
        const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        if (key == "arg") test.program.push_back(value), test.name += " " + value;
        if (key == "timeLimit") test.seconds = std::max(test.seconds, std::stod(value));
        const auto sets = value.find('=');
        if (key == "env" && sets != std::string::npos)
            test.environment.emplace_back(value.substr(0, sets), value.substr(sets + 1));
    }
    test.built = runnable(test.program[0]);
    return true;
}

bool none_built(const std::vector<Test>& tests) {
    return std::none_of(tests.begin(), tests.end(), [](const Test& test) { return test.built; });
}

bool contains(const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

const char* to_string(Mpi mpi) {
    return mpi == Mpi::openmpi ? "openmpi" : "mpich";
}

std::vector<Test> mpich_suite(const fs::path& built, std::uint32_t most_ranks) {
    std::vector<Test> tests;
    for (const char* folder : {"coll", "topo", "comm", "pt2pt", "threads/comm", "threads/pt2pt"}) {
        std::istringstream list(peer::content_or_empty(built / folder / "testlist"));
        for (std::string line; std::getline(list, line);) {
            Test test;
            test.suite = "mpich";
            test.name = folder;
            test.folder = built / folder;
            test.passed = no_errors;
            if (read_line(line, test, most_ranks)) tests.push_back(std::move(test));
        }
    }
    if (none_built(tests)) throw Error(built.string() + ": expected MPICH's test suite, with coll/testlist, built");
    return tests;
}

std::vector<Test> imb_suite(const fs::path& built, std::uint32_t ranks) {
    std::vector<Test> tests;
    const auto add = [&](const char* program, std::initializer_list<const char*> benchmarks) {
        for (const char* benchmark : benchmarks) {
            Test test;
            test.suite = "imb";
            test.name = fmt::format("{} {}", program, benchmark);
            test.folder = built;
            test.program = {(built / program).string(),
                            "-npmin",
                            std::to_string(ranks),
                            "-iter",
                            "12",
                            "-msglog",
                            "0:18",
                            benchmark};
            test.ranks = ranks;
            const bool bare = contains(test.name, "arrier");  // has no data to check
            // A row of numbers a size, the last of them the defects that its own check found; without -DCHECK it has
            // none.
            test.passed = [bare](const peer::Outcome& outcome) {
                static const std::regex header("#(bytes|repetitions)[^\n]*defects");
                static const std::regex wrong("(Error|ERROR|\n +[0-9][^\n]* +[0-9.]*[1-9][0-9.]*\n)");
                const auto table = outcome.output.find("#repetitions");
                if (!outcome.ok() || table == std::string::npos) return false;
                const std::string rows = outcome.output.substr(table);
                if (contains(outcome.output, "Error") || contains(outcome.errors, "Error")) return false;
                return bare || (std::regex_search(outcome.output, header) && !std::regex_search(rows, wrong));
            };
            test.built = runnable(test.program[0]);
            tests.push_back(std::move(test));
        }
    };
    add("IMB-NBC", {"Ibcast", "Iallgather", "Iallgatherv", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Ialltoall",
                    "Ialltoallv", "Ireduce", "Ireduce_scatter", "Iallreduce", "Ibarrier"});
    add("IMB-MPI1", {"Bcast", "Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall",
                     "Alltoallv", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Allreduce", "Barrier"});
    if (none_built(tests)) throw Error(built.string() + ": expected IMB-NBC and IMB-MPI1");
    return tests;
}

std::vector<Test> osu_suite(const fs::path& built, std::uint32_t ranks) {
    std::vector<Test> tests;
    for (const char* folder : {"non_blocking", "neighborhood", "persistent", "blocking"}) {
        std::error_code missing;
        std::vector<fs::path> programs;
        for (const auto& entry : fs::directory_iterator(built / folder, missing))
            if (entry.path().extension().empty() && entry.path().filename().string().starts_with("osu_") &&
                runnable(entry.path()))
                programs.push_back(entry.path());
        std::sort(programs.begin(), programs.end());
        for (const fs::path& program : programs) {
            Test test;
            test.suite = "osu";
            test.name = fmt::format("{}/{}", folder, program.filename().string());
            test.folder = built / folder;
            const bool reduces = contains(test.name, "reduce");
            const bool bare = contains(test.name, "barrier");  // has no data to check
            test.program = {program.string(), "-i", "12", "-x", "2"};
            if (!bare)
                for (const char* word : {"-c", "-m", "1:262144"}) test.program.emplace_back(word);
            // MPI_CHAR, the default, has no sum by the standard, and Open MPI's is wrong.
            if (reduces)
                for (const char* word : {"-T", "mpi_int,mpi_float"}) test.program.emplace_back(word);
            // Neighbours on both sides must be different ranks.
            test.ranks = folder == std::string_view("neighborhood") ? std::max(ranks, 3u) : ranks;
            test.passed = [bare](const peer::Outcome& outcome) {
                const bool failed = contains(outcome.output, "Fail") || contains(outcome.output, "ERROR");
                return outcome.ok() && !failed && (bare || contains(outcome.output, "Pass"));
            };
            tests.push_back(std::move(test));
        }
    }
    if (tests.empty()) throw Error(built.string() + ": expected folders of OSU's collectives, built");
    return tests;
}

std::vector<Test> nbc_suite(const NbcParts& parts, Mpi mpi, const fs::path& folder) {
    std::vector<fs::path> sources;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(parts.sources / "tests", missing))
        if (entry.path().extension() == ".c") sources.push_back(entry.path());
    if (sources.empty()) throw Error(parts.sources.string() + ": expected LibNBC, with tests/*.c");
    std::sort(sources.begin(), sources.end());
    fs::create_directory(folder / "tests");
    fs::create_symlink(fs::absolute(parts.header), folder / "nbc.h");
    const fs::path library = fs::absolute(parts.library);
    std::vector<Test> tests;
    for (const fs::path& source : sources) {
        const fs::path copy = folder / "tests" / source.filename(), program = folder / source.stem();
        fs::copy_file(source, copy);
        peer::Command command;
        command.arguments = {std::string("mpicc.") + to_string(mpi),
                             "-I" + folder.string(),
                             copy.string(),
                             "-o",
                             program.string(),
                             library.string(),
                             "-Wl,-rpath," + library.parent_path().string()};
        command.directory = folder;
        command.output = folder / "compiler";
        const peer::Outcome compiled = peer::run(command);
        if (!compiled.ok()) throw Error(source.string() + " does not compile: " + compiled.errors);
        for (const std::uint32_t ranks : {1, 2, 4}) {
            Test test;
            test.suite = "nbc";
            test.name = fmt::format("{} on {}", source.stem().string(), ranks);
            test.folder = folder;
            test.program = {program.string()};
            test.ranks = ranks;
            test.passed = [](const peer::Outcome& outcome) { return outcome.ok(); };
            test.switched_off = true;
            tests.push_back(std::move(test));
        }
    }
    return tests;
}

}  // namespace loom::suites
