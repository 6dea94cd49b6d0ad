// MPI_Init opens Loomband's world, MPI_Finalize closes it and gives the account.
#include <cstdio>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "loom/transport/open.hpp"
#include "mpi/abi/bootstrap.hpp"
#include "mpi/abi/requests.hpp"

namespace loom::mpi {

namespace {

bool is_off(Setting setting) {
    const auto value = settings::read(setting);
    return value == "0" || value == "off" || value == "no";
}

int comm_freed(MPI_Comm handle, int, void* kept, void*) {
    if (library().world != nullptr) forget(handle, static_cast<Comm*>(kept));
    return MPI_SUCCESS;
}

// A blocking collective that some ranks take over and others do not would wait for ever.
void compare_blocking(MpiBootstrap& bootstrap) {
    const std::string mine = library().blocking ? "1" : "0";
    for (std::uint32_t rank = 0; rank < bootstrap.size(); ++rank)
        if (Rank{rank} != bootstrap.rank() && bootstrap.get(Rank{rank}, "mpi.blocking") != mine)
            throw UsageError("LOOM_MPI_BLOCKING is not the same on all ranks");
}

// All ranks or none: one that cannot, or was told not to, does not leave the others waiting. A world that is given up
// goes while the exception passes, so that it waits for nobody.
void open_world() {
    Library& all = library();
    auto bootstrap = std::make_unique<MpiBootstrap>();
    try {
        if (is_off(Setting::mpi)) throw UsageError("switched off by LOOM_MPI");
        bootstrap->put("mpi.blocking", all.blocking ? "1" : "0");
        bootstrap->fence();
        compare_blocking(*bootstrap);
        std::unique_ptr<transport::Transport> transport = transport::open_transport(*bootstrap);
        // Begins by a fence: its ranks send to each other.
        auto world = std::make_unique<coll::World>(*transport, bootstrap.get());
        bootstrap->fence();
        all.transport = std::move(transport);
        all.world = std::move(world);
    } catch (const std::exception& error) {
        bootstrap->give_up(error.what());
        all.remark = error.what();
        return;
    }
    all.silent = bootstrap->comm();
    all.bootstrap = std::move(bootstrap);
    all.progress = all.world->progress_state().how;
    all.waiting = all.transport->waiting();
    all.remark.clear();
}

void open() {
    Library& all = library();
    all.opened = true;
    expect_account();
    all.blocking = !is_off(Setting::mpi_blocking);
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    all.threads = level == MPI_THREAD_MULTIPLE;
    open_world();
    if (all.world == nullptr) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_freed, &all.comm_keyval, nullptr);
    learn_types();
    learn_operations();
    open_requests();
    PMPI_Comm_group(MPI_COMM_WORLD, &all.everyone);
    adopt(MPI_COMM_WORLD);
    adopt(MPI_COMM_SELF);
}

void give_account() {
    Library& all = library();
    const std::string where = settings::read(Setting::mpi_report).value_or("");
    int wanted = !where.empty() && where != "0" ? 1 : 0;
    PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);  // rank 0 says: variables need not be the same on all hosts
    if (wanted == 0) return;
    account_given();
    int rank = 0, size = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto mine = all.account.counters();
    Account sum;
    PMPI_Reduce(mine.data(), sum.counters().data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, 0,
                MPI_COMM_WORLD);
    if (rank != 0) return;
    const auto ranks = static_cast<std::uint32_t>(size);
    if (where == "1") {
        std::fputs(sum.table(ranks, all.remark).c_str(), stderr);
        return;
    }
    try {
        write_file(where, sum.json(ranks, all.remark));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom-mpi: %s\n", error.what());
    }
}

void close() {
    Library& all = library();
    if (!all.opened) return;
    all.opened = false;
    if (all.world != nullptr) {
        close_requests();  // a communicator's farewell waits for the operations that were given up, too
        until([&] {
            bury();
            return all.leaving.empty();
        });
        PMPI_Group_free(&all.everyone);
        try {
            all.world->close();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "loom-mpi: %s\n", error.what());
        }
    }
    give_account();
    all.comms.each([](Comm& comm) { comm.group.reset(); });
    all.world.reset();
    all.transport.reset();
    all.silent = MPI_COMM_NULL;  // the bootstrap's
    all.bootstrap.reset();
    all.remark = after_finalize;
}

}  // namespace

Library* const the_library = new Library;

int report_failure(MPI_Comm comm, const std::exception& error) {
    std::fprintf(stderr, "loom-mpi: %s\n", error.what());
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

// MPI is not called from the thread: operations that need MPI to reduce are left for later where MPI would mind.
Deputy::Deputy() {
    Library& all = library();
    const Guard guard;
    if (!busy() || all.progress != coll::Progress::manual || (all.foreign != 0 && !all.threads)) return;
    if (all.deputies++ == 0) all.world->set_progress(coll::Progress::thread);
    working_ = true;
}

Deputy::~Deputy() {
    if (!working_) return;
    Library& all = library();
    const Guard guard;
    if (--all.deputies == 0) all.world->set_progress(coll::Progress::manual);
}

}  // namespace loom::mpi

extern "C" {

int MPI_Init(int* argc, char*** argv) {
    const int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) loom::mpi::open();
    return result;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS) loom::mpi::open();
    return result;
}

int MPI_Finalize(void) {
    loom::mpi::close();
    return PMPI_Finalize();
}

}  // extern "C"
