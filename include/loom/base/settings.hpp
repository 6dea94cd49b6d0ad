// The settings of Loomband: every variable of the environment whose name begins with LOOM_. All stand in one table:
// a program, libloom-verbs.so and libloom-mpi see each other's variables and must not take them for misspelled ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loom {

// In the order of the table in src/base/settings_table.cpp.
enum class Setting : std::uint8_t {
    verbs_hcas,
    verbs_trace,
    verbs_fault,
    verbs_stats,
    verbs_roce_port,
    verbs_gso,
    verbs_shared,
    verbs_ptracer,
    verbs_realtime,
    hca,
    verbs_library,
    libraries,
    cluster,
    session_key,
    session_network,
    session_trace,
    session_status,
    transport,
    device,
    gid_index,
    eager,
    ring,
    early,
    hosts,
    registration_cache,
    waiting,
    bootstrap,
    bootstrap_timeout,
    plugins,
    run,
    rank,
    size,
    twin,
    device_check,
    device_seed,
    device_manager,
    device_ranks,
    coll,
    coll_parameters,
    coll_reproducible,
    coll_check,
    rank_order,
    progress,
    huge_pages,
    cache,
    verbose,
    mpi,
    mpi_blocking,
    mpi_report,
    mpi_library,
    mpi_report_owed,
    remarked,
    test_cases,
    workout_times,
    kill_rounds,
    scribble_rounds,
    peer_seeds,
    suite_imb,
    suite_mpich,
    suite_nbc,
    suite_osu,
    interop_inside,
    bench_nbc,
    bench_memory,
};

namespace settings {

enum class Use : std::uint8_t {
    user,     // for people
    started,  // Loomband sets it for the processes that it starts
    test,     // tests and benchmarks alone read it
};

struct Info {
    Setting setting;
    const char* name;  // "LOOM_WAITING"
    const char* room;  // who reads it
    Use use;
    const char* type;       // words to choose from ("spin|yield"), or what is expected ("bytes")
    const char* otherwise;  // what holds where it is not set
    const char* help;       // one line
};

[[nodiscard]] std::span<const Info> all();
[[nodiscard]] const Info& info(Setting setting);
[[nodiscard]] const char* name(Setting setting);

// The value now; nothing where the variable is not set or empty. Searches the whole environment: call it once, when the
// world or device that the setting governs is opened, and keep the answer. A process may set other values for its next.
[[nodiscard]] std::optional<std::string> read(Setting setting);

// The same where `type` lists words. Throws UsageError for any other word.
[[nodiscard]] std::optional<std::string> read_word(Setting setting);

// 1, on and yes; 0, off and no. Throws UsageError for anything else.
[[nodiscard]] bool as_switch(Setting setting, std::string_view value);

// Throws UsageError: "LOOM_WAITING='often': expected spin or yield".
[[noreturn]] void refuse(Setting setting, std::string_view value, std::string_view expected);

// A variable of others, such as PATH; nothing where it is not set.
[[nodiscard]] std::optional<std::string> variable(const char* name);

// A variable with our prefix that no setting has.
struct Unknown {
    std::string name;
    Setting nearest;  // by letters
    bool near;        // enough to be what was meant
};

// In the order of the environment, without those that LOOM_REMARKED lists: `loom` has remarked on these already.
[[nodiscard]] std::vector<Unknown> unknown();

// "no such setting: LOOM_WAITNG; did you mean LOOM_WAITING?"
[[nodiscard]] std::string remark(const Unknown& unknown);

}  // namespace settings

}  // namespace loom
