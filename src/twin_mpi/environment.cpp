// The environment: beginning and end, errors, the clock.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "loom/base/clock.hpp"
#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

namespace {

// Before, while and after MPI is there.
template <class Body>
int anytime(Body&& body) {
    body(current());
    return MPI_SUCCESS;
}

void give_text(std::string_view text, char* into, int* length, std::size_t room) {
    const std::size_t bytes = std::min(text.size(), room - 1);
    std::memcpy(into, text.data(), bytes);
    into[bytes] = 0;
    *length = static_cast<int>(bytes);
}

constexpr std::string_view errors[] = {"no error",
                                       "a buffer is wrong",
                                       "a count is wrong",
                                       "a datatype is wrong",
                                       "a tag is wrong",
                                       "a communicator is wrong",
                                       "a rank is wrong",
                                       "a request is wrong",
                                       "a root is wrong",
                                       "an operation is wrong",
                                       "a topology is wrong",
                                       "a dimension is wrong",
                                       "an argument is wrong",
                                       "a message is longer than its receive",
                                       "another error",
                                       "an operation failed, see its status"};
static_assert(std::size(errors) == MPI_ERR_LASTCODE);

int initialise(const char* function) {
    Process& me = current();
    try {
        me.initialise();
    } catch (const Failure& failure) {
        return failed(function, MPI_COMM_WORLD, failure);
    }
    return MPI_SUCCESS;
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Init(int*, char***) {
    return initialise("MPI_Init");
}

int MPI_Init_thread(int*, char***, int, int* provided) {
    *provided = MPI_THREAD_FUNNELED;
    return initialise("MPI_Init_thread");
}

int MPI_Finalize(void) {
    return guarded("MPI_Finalize", MPI_COMM_WORLD, [](Process& me) { me.finalise(); });
}

int MPI_Initialized(int* flag) {
    return anytime([&](const Process& me) { *flag = me.phase != Process::Phase::before ? 1 : 0; });
}

int MPI_Finalized(int* flag) {
    return anytime([&](const Process& me) { *flag = me.phase == Process::Phase::after ? 1 : 0; });
}

int MPI_Query_thread(int* provided) {
    *provided = MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

int MPI_Is_thread_main(int* flag) {
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) {
    throw Aborted(loom::Rank{current().rank()}, code);
}

int MPI_Get_processor_name(char* name, int* length) {
    return anytime([&](const Process& me) {
        const std::uint32_t host = me.transport.hosts()[me.rank()];
        give_text("host-" + std::to_string(host), name, length, MPI_MAX_PROCESSOR_NAME);
    });
}

int MPI_Get_version(int* version, int* subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char* version, int* length) {
    give_text("Loomband twin", version, length, MPI_MAX_LIBRARY_VERSION_STRING);
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char* text, int* length) {
    if (code < 0 || code >= MPI_ERR_LASTCODE) return MPI_ERR_ARG;
    give_text(errors[code], text, length, MPI_MAX_ERROR_STRING);
    return MPI_SUCCESS;
}

int MPI_Error_class(int code, int* error_class) {
    *error_class = code;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    return guarded("MPI_Comm_set_errhandler", comm, [&](Process& me) {
        require(handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL, MPI_ERR_ARG,
                "there is no such error handler");
        me.comm(comm).returns_errors = handler == MPI_ERRORS_RETURN;
    });
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
    return guarded("MPI_Comm_get_errhandler", comm, [&](Process& me) {
        *handler = me.comm(comm).returns_errors ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
    });
}

int MPI_Get_address(const void* location, MPI_Aint* address) {
    *address = reinterpret_cast<MPI_Aint>(location);
    return MPI_SUCCESS;
}

double MPI_Wtime(void) {
    return loom::now().seconds();
}

double MPI_Wtick(void) {
    return 1e-12;
}
