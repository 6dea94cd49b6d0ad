#include <algorithm>
#include <array>

#include "loom/base/settings.hpp"

namespace loom::settings {

namespace {

using enum Use;
using S = Setting;

constexpr std::array table{
    Info{S::verbs_hcas, "LOOM_VERBS_HCAS", "hca", user, "list", "ib",
         "the software adapters: a number of them, or a list such as ib,roce,roce:10.9.0.1"},
    Info{S::verbs_trace, "LOOM_VERBS_TRACE", "hca", user, "0, 1 or a file", "0",
         "print every verbs call, on standard error (1) or appended to a file"},
    Info{S::verbs_fault, "LOOM_VERBS_FAULT", "hca", user, "list", "no faults",
         "break things: any of seed=1,drop=0.01,datagrams=0.01,delay=50us,error=0.001"},
    Info{S::verbs_stats, "LOOM_VERBS_STATS", "hca", user, "file", "none",
         "append the counters of each process to this file when it exits, one JSON line each"},
    Info{S::verbs_roce_port, "LOOM_VERBS_ROCE_PORT", "hca", user, "UDP port", "4791",
         "where RoCEv2 packets are sent to and received; the same on all hosts"},
    Info{S::verbs_gso, "LOOM_VERBS_GSO", "hca", user, "0 or 1", "1",
         "UDP segmentation offload; 0 sends each packet as a datagram of its own (for captures)"},
    Info{S::verbs_shared, "LOOM_VERBS_SHARED", "hca", user, "0 or 1", "1",
         "shared memory between processes of one host; 0 makes roce adapters send packets there too"},
    Info{S::verbs_ptracer, "LOOM_VERBS_PTRACER", "hca", user, "0 or 1", "1",
         "allow other processes of this user to copy from and to this one under Yama"},
    Info{S::verbs_realtime, "LOOM_VERBS_REALTIME", "hca", user, "0 or 1", "0",
         "the thread of the software HCA asks for the lowest real-time priority"},
    Info{S::hca, "LOOM_HCA", "verbs", user, "auto|system|soft", "auto",
         "whose adapter: auto takes the system's library if it lists a device, else the software HCA"},
    Info{S::verbs_library, "LOOM_VERBS_LIBRARY", "verbs", user, "file", "looked for",
         "libloom-verbs.so, where it is not found by itself"},
    Info{S::libraries, "LOOM_LIBRARIES", "verbs", started, "folder", "none",
         "where loom run has its libraries; the last place to look for libloom-verbs.so"},
    Info{S::cluster, "LOOM_CLUSTER", "session", user, "name", "none",
         "the cluster that this host is in; sessions between two names, or a name and none, go between clusters"},
    Info{S::session_key, "LOOM_SESSION_KEY", "session", user, "file", "none",
         "holds the key that both ends of a session must have; between clusters all is encrypted with it"},
    Info{S::session_network, "LOOM_SESSION_NETWORK", "session", user, "auto|ethernet", "auto",
         "auto uses InfiniBand where both ends have it"},
    Info{S::session_trace, "LOOM_SESSION_TRACE", "session", user, "file", "none", "a qlog of the session goes there"},
    Info{S::session_status, "LOOM_SESSION_STATUS", "session", user, "folder", "none",
         "sessions keep a file there that says what they run, for loom session watch"},
    Info{S::transport, "LOOM_TRANSPORT", "transport", user, "verbs|mpi", "verbs", "how messages travel between ranks"},
    Info{S::device, "LOOM_DEVICE", "transport", user, "name", "the first active one", "which adapter the ranks use"},
    Info{S::gid_index, "LOOM_GID_INDEX", "transport", user, "number", "one that routers know",
         "which address (GID) of the adapter the ranks use"},
    Info{S::eager, "LOOM_EAGER", "transport", user, "bytes", "16 KiB; to other hosts 64 KiB",
         "messages up to this size are sent eagerly; at most a quarter of the ring"},
    Info{S::ring, "LOOM_RING", "transport", user, "bytes", "128 KiB; to other hosts 512 KiB",
         "the receive ring for each peer; the default is less for very many ranks"},
    Info{S::early, "LOOM_EARLY", "transport", user, "bytes", "twice the ring",
         "messages kept for each peer before their receive; beyond it the data stays with the sender"},
    Info{S::hosts, "LOOM_HOSTS", "transport", user, "each", "as they are",
         "each treats every rank as a host of its own (for tests)"},
    Info{S::registration_cache, "LOOM_REGISTRATION_CACHE", "transport", user, "on|off",
         "on for the software HCA, else off", "keep registrations of memory"},
    Info{S::waiting, "LOOM_WAITING", "transport", user, "spin|yield", "yield where ranks share cores",
         "what a rank does while it waits"},
    Info{S::bootstrap, "LOOM_BOOTSTRAP", "transport", user, "launcher|twin|pmix|mpi|alone", "whoever started the ranks",
         "who tells ranks of each other"},
    Info{S::bootstrap_timeout, "LOOM_BOOTSTRAP_TIMEOUT", "transport", user, "seconds", "60",
         "how long a rank waits for the others at the start"},
    Info{S::plugins, "LOOM_PLUGINS", "transport", user, "folder", "beside libloom-verbs.so",
         "where the plug-ins for PMIx and MPI are"},
    Info{S::run, "LOOM_RUN", "transport", started, "file descriptor", "none", "the rank's socket to loom run"},
    Info{S::rank, "LOOM_RANK", "transport", started, "number", "none", "the number of a rank of loom run, for scripts"},
    Info{S::size, "LOOM_SIZE", "transport", started, "number", "none", "how many ranks loom run started, for scripts"},
    Info{S::twin, "LOOM_TWIN", "twin", started, "file", "none",
         "what a rank of loom twin run shares with the simulation"},
    Info{S::device_check, "LOOM_DEVICE_CHECK", "device", user, "off|races", "off",
         "CPU devices watch what ranks of kernels do to each other's memory and name races"},
    Info{S::device_seed, "LOOM_DEVICE_SEED", "device", user, "number", "in turn",
         "the order in which blocks and hosts of CPU devices take turns; the same number, the same order"},
    Info{S::device_manager, "LOOM_DEVICE_MANAGER", "device", user, "verbs|mpi", "verbs",
         "how devices of different processes reach each other: one message a put, or two as over MPI"},
    Info{S::device_ranks, "LOOM_DEVICE_RANKS", "device", user, "number", "as many as fit", "blocks of a CPU device"},
    Info{S::coll, "LOOM_COLL", "coll", user, "list", "the model chooses",
         "algorithms of collectives: OPERATION=ALGORITHM[:SEGMENT[:WAYS]],...; the same on all ranks"},
    Info{S::coll_parameters, "LOOM_COLL_PARAMETERS", "coll", user, "measure, assumed or a list", "measured once",
         "parameters of the model: measure, assumed, or a list such as L=1us,o=200ns"},
    Info{S::coll_reproducible, "LOOM_COLL_REPRODUCIBLE", "coll", user, "0 or 1", "0",
         "reductions give the same bits on any hosts; the same on all ranks"},
    Info{S::coll_check, "LOOM_COLL_CHECK", "coll", user, "0 or 1", "0",
         "check that all ranks call the same collective; the same on all ranks"},
    Info{S::rank_order, "LOOM_RANK_ORDER", "coll", user, "file", "as they were started",
         "the order of ranks in the world's communicator (loom fabric order); the same on all ranks"},
    Info{S::progress, "LOOM_PROGRESS", "coll", user, "manual|thread|realtime|auto", "auto",
         "who drives collectives while the program computes; auto is a thread where a core is spare"},
    Info{S::huge_pages, "LOOM_HUGE_PAGES", "coll", user, "auto|soon|off", "auto",
         "move buffers that are used again and again into huge pages; soon moves them at the third use"},
    Info{S::cache, "LOOM_CACHE", "coll", user, "off or a folder", "~/.cache/loomband",
         "where measured parameters are kept"},
    Info{S::verbose, "LOOM_VERBOSE", "coll", user, "anything", "off",
         "print why parameters are measured again or not kept"},
    Info{S::mpi, "LOOM_MPI", "mpi", user, "on or off", "on", "off leaves all collectives to the MPI library"},
    Info{S::mpi_blocking, "LOOM_MPI_BLOCKING", "mpi", user, "0 or 1", "1",
         "0 leaves blocking collectives to the MPI library; the same on all ranks"},
    Info{S::mpi_report, "LOOM_MPI_REPORT", "mpi", user, "0, 1 or a file", "0",
         "what was taken over: a table on standard error (1), or JSON into a file"},
    Info{S::mpi_library, "LOOM_MPI_LIBRARY", "mpi", user, "file", "beside libloom-verbs.so",
         "the library that loom mpi run preloads"},
    Info{S::mpi_report_owed, "LOOM_MPI_REPORT_OWED", "mpi", started, "file", "none",
         "loom mpi run --report waits for an account of its program here"},
    Info{S::remarked, "LOOM_REMARKED", "base", started, "list", "none",
         "misspelled settings on which loom has remarked already"},
    Info{S::test_cases, "LOOM_TEST_CASES", "tests", test, "number", "1", "multiplies the random cases of tests/coll"},
    Info{S::workout_times, "LOOM_WORKOUT_TIMES", "tests", test, "number", "1", "multiplies the cases of tests/mpi"},
    Info{S::kill_rounds, "LOOM_KILL_ROUNDS", "tests", test, "number", "500",
         "how many processes tests/hca kills in the middle of their work"},
    Info{S::scribble_rounds, "LOOM_SCRIBBLE_ROUNDS", "tests", test, "number", "150",
         "how many times tests/hca scribbles over shared memory"},
    Info{S::peer_seeds, "LOOM_PEER_SEEDS", "tests", test, "number", "3",
         "how many damaged fabrics tests/peer compares with OpenSM"},
    Info{S::suite_imb, "LOOM_SUITE_IMB", "tests", test, "folder", "not run", "builds of the Intel MPI Benchmarks"},
    Info{S::suite_mpich, "LOOM_SUITE_MPICH", "tests", test, "folder", "not run", "builds of MPICH's test suite"},
    Info{S::suite_nbc, "LOOM_SUITE_NBC", "tests", test, "folder", "not run", "a checkout of LibNBC"},
    Info{S::suite_osu, "LOOM_SUITE_OSU", "tests", test, "folder", "not run", "builds of the OSU micro-benchmarks"},
    Info{S::interop_inside, "LOOM_INTEROP_INSIDE", "tests", test, "process", "none",
         "tests/interop/run: it runs in its network namespace already"},
    Info{S::bench_nbc, "LOOM_BENCH_NBC", "bench", test, "file", "none", "the LibNBC that a benchmark measures"},
    Info{S::bench_memory, "LOOM_BENCH_MEMORY", "bench", test, "shared", "the program's own",
         "where a benchmark has its buffers"},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (static_cast<std::size_t>(table[i].setting) != i) return false;
    return true;
}
static_assert(in_order() && table.back().setting == Setting::bench_memory,
              "one line for each, in the order of Setting");

}  // namespace

std::span<const Info> all() {
    return table;
}

const Info& info(Setting setting) {
    return table[static_cast<std::size_t>(setting)];
}

}  // namespace loom::settings
