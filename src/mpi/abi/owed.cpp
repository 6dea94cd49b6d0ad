// The account that `loom mpi run --report` owes its user, where nobody gives it. LOOM_MPI_REPORT_OWED names a file that
// begins with the number of the process that loom became. A process that sees the account given removes it. Processes
// that know why there may be none add a line, and the first process says it when it ends: by then its ranks have ended.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

std::optional<std::string> owed() {
    return settings::read(Setting::mpi_report_owed);
}

// Whether a program of MPI ends here whose beginning was not seen.
bool unseen() {
    int initialised = 0;
    PMPI_Initialized(&initialised);
    return initialised != 0 && !library().opened && library().remark != after_finalize;
}

void add(const std::string& file, const std::string& line) {
    const int out = ::open(file.c_str(), O_WRONLY | O_APPEND);
    if (out < 0) return;  // given
    if (::write(out, line.data(), line.size()) < 0) std::perror("loom-mpi");
    ::close(out);
}

bool is_first_process(const std::string& text) {
    return std::atoi(text.c_str()) == ::getpid();
}

// The first process's standard error: programs like `timeout` close theirs before they end.
int kept_error = -1;

[[gnu::constructor]] void keep_error() {
    const auto file = owed();
    if (!file || ::access(file->c_str(), R_OK) != 0) return;
    try {
        if (is_first_process(read_file(*file))) kept_error = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 64);
    } catch (const std::exception&) {
        // Another process has removed it: the account is given.
    }
}

void say(const std::string& what) {
    const auto where = settings::read(Setting::mpi_report);
    if (!where || *where == "1")
        ::dprintf(kept_error, "Loomband: %s\n", what.c_str());
    else
        write_file(*where, Account().json(0, what));
}

// When a process ends that we were loaded into.
[[gnu::destructor]] void settle() {
    const auto file = owed();
    if (!file || ::access(file->c_str(), R_OK) != 0) return;
    try {
        if (unseen())
            add(*file,
                "nothing was taken over: MPI was initialised by a call that libloom-mpi does not see "
                "(PMPI_Init, or a name of MPI_Init that another Fortran compiler made)\n");
        const std::string text = read_file(*file);
        if (!is_first_process(text)) return;
        ::unlink(file->c_str());
        const std::size_t first = text.find('\n') + 1, end = text.find('\n', first);
        say(end != std::string::npos
                ? text.substr(first, end - first)
                : "nothing was taken over on this host: no process here called MPI_Init with libloom-mpi loaded "
                  "(a program that is linked statically or with another MPI library, or no MPI program at all)");
    } catch (const std::exception& error) {
        ::dprintf(kept_error, "loom-mpi: %s\n", error.what());
    }
}

}  // namespace

void expect_account() {
    if (const auto file = owed()) add(*file, "no account: the program ended without MPI_Finalize\n");
}

void account_given() {
    if (const auto file = owed()) ::unlink(file->c_str());
}

}  // namespace loom::mpi
