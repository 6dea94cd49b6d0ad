// The Fortran functions that are more than C's with other arguments: lists of requests with indices from one, text,
// and those that C gives arguments which Fortran has not.
#include <deque>
#include <optional>
#include <string>

#include "mpi/abi/fortran/arguments.hpp"
#include "mpi/abi/fortran/text.hpp"

using namespace loom::mpi::fortran;

namespace {

int number(const void* given) {
    return *static_cast<const MPI_Fint*>(given);
}

// Fortran counts from one; MPI_UNDEFINED and other negative numbers stay.
int from_one(int index) {
    return index < 0 ? index : index + 1;
}

bool is_root(const void* comm, const void* root) {
    int rank = 0;
    PMPI_Comm_rank(Argument<MPI_Comm>(comm).value(), &rank);
    return rank == number(root);
}

int* error_codes(void* given) {
    return given == errcodes_ignore ? MPI_ERRCODES_IGNORE : static_cast<int*>(given);
}

}  // namespace

extern "C" {

LOOM_FORTRAN(, init, void* error) {
    tell(error, MPI_Init(nullptr, nullptr));
}

LOOM_FORTRAN(, init_thread, void* required, void* provided, void* error) {
    tell(error, MPI_Init_thread(nullptr, nullptr, number(required), static_cast<int*>(provided)));
}

LOOM_FORTRAN(, finalize, void* error) {
    tell(error, MPI_Finalize());
}

LOOM_FORTRAN(, waitall, void* count, void* requests, void* statuses, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    StatusList answers(statuses, number(count));
    const int result = MPI_Waitall(number(count), list.data(), answers.data());
    list.settle();
    answers.settle();
    tell(error, result);
}

LOOM_FORTRAN(, testall, void* count, void* requests, void* flag, void* statuses, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    StatusList answers(statuses, number(count));
    const int result = MPI_Testall(number(count), list.data(), static_cast<int*>(flag), answers.data());
    list.settle();
    answers.settle();
    tell(error, result);
}

LOOM_FORTRAN(, waitany, void* count, void* requests, void* index, void* status, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    Argument<MPI_Status*> answer(status);
    int which = MPI_UNDEFINED;
    const int result = MPI_Waitany(number(count), list.data(), &which, answer.value());
    list.settle();
    answer.settle();
    *static_cast<MPI_Fint*>(index) = from_one(which);
    tell(error, result);
}

LOOM_FORTRAN(, testany, void* count, void* requests, void* index, void* flag, void* status, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    Argument<MPI_Status*> answer(status);
    int which = MPI_UNDEFINED;
    const int result = MPI_Testany(number(count), list.data(), &which, static_cast<int*>(flag), answer.value());
    list.settle();
    answer.settle();
    *static_cast<MPI_Fint*>(index) = from_one(which);
    tell(error, result);
}

// MPI_Waitsome and MPI_Testsome.
static void some(int (*function)(int, MPI_Request*, int*, int*, MPI_Status*), void* count, void* requests,
                 void* outcount, void* indices, void* statuses, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    StatusList answers(statuses, number(count));
    auto* const which = static_cast<MPI_Fint*>(indices);
    int found = MPI_UNDEFINED;  // which an error may leave so
    const int result = function(number(count), list.data(), &found, which, answers.data());
    list.settle();
    answers.settle();
    for (int i = 0; i < found; ++i) which[i] = from_one(which[i]);
    *static_cast<MPI_Fint*>(outcount) = found;
    tell(error, result);
}

LOOM_FORTRAN(, waitsome, void* count, void* requests, void* found, void* indices, void* statuses, void* error) {
    some(MPI_Waitsome, count, requests, found, indices, statuses, error);
}

LOOM_FORTRAN(, testsome, void* count, void* requests, void* found, void* indices, void* statuses, void* error) {
    some(MPI_Testsome, count, requests, found, indices, statuses, error);
}

LOOM_FORTRAN(, startall, void* count, void* requests, void* error) {
    HandleList<MPI_Request> list(requests, number(count));
    const int result = MPI_Startall(number(count), list.data());
    list.settle();
    tell(error, result);
}

#if defined(OPEN_MPI)
// Where the buffer lies is nothing to Fortran, but in the module mpi_f08.
LOOM_FORTRAN(, buffer_detach, void*, void* size, void* error) {
    void* where = nullptr;
    tell(error, MPI_Buffer_detach(&where, static_cast<int*>(size)));
}
void mpi_buffer_detach_f08_(void** buffer, void* size, void* error) {
    tell(error, MPI_Buffer_detach(buffer, static_cast<int*>(size)));
}
decltype(mpi_buffer_detach_f08_) pmpi_buffer_detach_f08_ __attribute__((alias("mpi_buffer_detach_f08_")));
#endif

// Lengths of texts come last, by value.
LOOM_FORTRAN(, file_open, void* comm, const char* name, void* mode, void* info, void* file, void* error, int length) {
    call(MPI_File_open, error, comm, text(name, length).c_str(), mode, info, file);
}

LOOM_FORTRAN(, comm_accept, const char* port, void* info, void* root, void* comm, void* made, void* error, int length) {
    call(MPI_Comm_accept, error, text(port, length).c_str(), info, root, comm, made);
}

LOOM_FORTRAN(, comm_connect, const char* port, void* info, void* root, void* comm, void* made, void* error,
             int length) {
    call(MPI_Comm_connect, error, text(port, length).c_str(), info, root, comm, made);
}

// The texts mean something at the root alone: elsewhere they may have no end.
LOOM_FORTRAN(, comm_spawn, const char* command, const char* words, void* processes, void* info, void* root, void* comm,
             void* made, void* codes, void* error, int command_length, int word_length) {
    std::optional<Words> argv;
    if (is_root(comm, root) && static_cast<const void*>(words) != argv_null) argv.emplace(words, word_length, 1);
    Argument<MPI_Comm*> inter(made);
    const int result = MPI_Comm_spawn(text(command, command_length).c_str(), argv ? argv->data() : MPI_ARGV_NULL,
                                      number(processes), Argument<MPI_Info>(info).value(), number(root),
                                      Argument<MPI_Comm>(comm).value(), inter.value(), error_codes(codes));
    inter.settle();
    tell(error, result);
}

// The words of command i are in row i of a matrix, whose columns lie one behind the other.
LOOM_FORTRAN(, comm_spawn_multiple, void* count, const char* commands, const char* words, void* processes, void* infos,
             void* root, void* comm, void* made, void* codes, void* error, int command_length, int word_length) {
    const int programs_here = is_root(comm, root) ? number(count) : 0;
    std::vector<std::string> names;
    std::deque<Words> all;
    std::vector<char*> programs;
    std::vector<char**> argvs;
    for (int i = 0; i < programs_here; ++i) {
        names.push_back(text(commands + std::ptrdiff_t{command_length} * i, command_length));
        if (static_cast<const void*>(words) != argvs_null)
            argvs.push_back(
                all.emplace_back(words + std::ptrdiff_t{word_length} * i, word_length, programs_here).data());
    }
    for (std::string& name : names) programs.push_back(name.data());
    HandleList<MPI_Info> hints(infos, programs_here);
    Argument<MPI_Comm*> inter(made);
    const int result = MPI_Comm_spawn_multiple(
        number(count), programs.data(), argvs.empty() ? MPI_ARGVS_NULL : argvs.data(), static_cast<int*>(processes),
        hints.data(), number(root), Argument<MPI_Comm>(comm).value(), inter.value(), error_codes(codes));
    inter.settle();
    tell(error, result);
}

}  // extern "C"
