// What Fortran passes, as the C functions want it: everything comes by reference, handles are numbers, and a few
// addresses stand for MPI_IN_PLACE and its like. LOGICAL is C's int: Debian's bindings are gfortran's, with 0 and 1.
#pragma once

#include <mpi.h>

#include <tuple>
#include <type_traits>
#include <vector>

#include "mpi/abi/fortran/names.hpp"

namespace loom::mpi::fortran {

static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed on as they are");

// One line for each kind of handle.
// clang-format off
inline void read(MPI_File& handle, MPI_Fint number) { handle = PMPI_File_f2c(number); }
inline MPI_Fint number_of(MPI_File handle) { return PMPI_File_c2f(handle); }
#if defined(OPEN_MPI)
inline void read(MPI_Comm& handle, MPI_Fint number) { handle = PMPI_Comm_f2c(number); }
inline void read(MPI_Group& handle, MPI_Fint number) { handle = PMPI_Group_f2c(number); }
inline void read(MPI_Datatype& handle, MPI_Fint number) { handle = PMPI_Type_f2c(number); }
inline void read(MPI_Op& handle, MPI_Fint number) { handle = PMPI_Op_f2c(number); }
inline void read(MPI_Info& handle, MPI_Fint number) { handle = PMPI_Info_f2c(number); }
inline void read(MPI_Request& handle, MPI_Fint number) { handle = PMPI_Request_f2c(number); }
inline void read(MPI_Win& handle, MPI_Fint number) { handle = PMPI_Win_f2c(number); }
inline void read(MPI_Message& handle, MPI_Fint number) { handle = PMPI_Message_f2c(number); }
inline MPI_Fint number_of(MPI_Comm handle) { return PMPI_Comm_c2f(handle); }
inline MPI_Fint number_of(MPI_Datatype handle) { return PMPI_Type_c2f(handle); }
inline MPI_Fint number_of(MPI_Op handle) { return PMPI_Op_c2f(handle); }
inline MPI_Fint number_of(MPI_Request handle) { return PMPI_Request_c2f(handle); }
inline MPI_Fint number_of(MPI_Win handle) { return PMPI_Win_c2f(handle); }
inline MPI_Fint number_of(MPI_Message handle) { return PMPI_Message_c2f(handle); }
#else
// MPICH's other handles are the same numbers in both languages.
inline void read(int& handle, MPI_Fint number) { handle = number; }
inline MPI_Fint number_of(int handle) { return handle; }
#endif
// clang-format on

template <class T>
concept Handle = !std::is_integral_v<T> && requires(T handle) {
    read(handle, MPI_Fint{});
};

// Handles that C reads, or reads and writes. The program's numbers change where the handles did.
template <class H>
class HandleList {
public:
    HandleList(void* numbers, int count)
        : numbers_(static_cast<MPI_Fint*>(numbers)), all_(count < 0 ? 0 : static_cast<std::size_t>(count)) {
        for (std::size_t i = 0; i < all_.size(); ++i) read(all_[i], numbers_[i]);
        before_ = all_;
    }
    [[nodiscard]] H* data() { return all_.data(); }
    void settle() {
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (all_[i] != before_[i]) numbers_[i] = number_of(all_[i]);
    }

private:
    MPI_Fint* numbers_;
    std::vector<H> all_, before_;
};

class StatusList {
public:
    StatusList(void* given, int count) : given_(static_cast<MPI_Fint*>(given)) {
        if (given == statuses_ignore || count < 0) return;
        all_.resize(static_cast<std::size_t>(count) + 1);
        for (std::size_t i = 0; i + 1 < all_.size(); ++i) PMPI_Status_f2c(place(i), &all_[i]);
    }
    [[nodiscard]] MPI_Status* data() { return all_.empty() ? MPI_STATUSES_IGNORE : all_.data(); }
    void settle() {
        for (std::size_t i = 0; i + 1 < all_.size(); ++i) PMPI_Status_c2f(&all_[i], place(i));
    }

private:
    [[nodiscard]] MPI_Fint* place(std::size_t i) const { return given_ + i * length; }

    static constexpr std::size_t length = sizeof(MPI_Status) / sizeof(MPI_Fint);
    MPI_Fint* given_;
    std::vector<MPI_Status> all_;  // and one more, so that an empty list is not MPI_STATUSES_IGNORE
};

// A parameter of the C function, made of what Fortran passed: value() before the call, settle() after it.
template <class T>
class Argument;

template <class T>
requires std::is_integral_v<T>
class Argument<T> {
public:
    explicit Argument(const void* given) : value_(*static_cast<const T*>(given)) {}
    [[nodiscard]] T value() const { return value_; }
    void settle() {}

private:
    T value_;
};

template <Handle H>
class Argument<H> {
public:
    explicit Argument(const void* given) { read(handle_, *static_cast<const MPI_Fint*>(given)); }
    [[nodiscard]] H value() const { return handle_; }
    void settle() {}

private:
    H handle_{};
};

// One that C writes. What Fortran holds before may be anything; MPI's conversion knows what is no handle.
template <Handle H>
class Argument<H*> {
public:
    explicit Argument(void* given) : number_(static_cast<MPI_Fint*>(given)) {
        read(before_, *number_);
        handle_ = before_;
    }
    [[nodiscard]] H* value() { return &handle_; }
    void settle() {
        if (handle_ != before_) *number_ = number_of(handle_);
    }

private:
    MPI_Fint* number_;
    H handle_{}, before_{};
};

// Memory of the program.
template <class T>
requires std::is_void_v<T>
class Argument<T*> {
public:
    explicit Argument(T* given) : value_(given) {
        if (given == bottom) value_ = MPI_BOTTOM;
        if (given == in_place) value_ = MPI_IN_PLACE;
    }
    [[nodiscard]] T* value() const { return value_; }
    void settle() {}

private:
    T* value_;
};

// Numbers as they lie: counts, displacements, weights, flags.
template <class T>
requires std::is_integral_v<T>
class Argument<T*> {
public:
    explicit Argument(const void* given) : value_(static_cast<T*>(const_cast<void*>(given))) {
        if constexpr (std::is_same_v<T, const int>) {
            if (given == unweighted) value_ = MPI_UNWEIGHTED;
            if (given == weights_empty) value_ = MPI_WEIGHTS_EMPTY;
        }
    }
    [[nodiscard]] T* value() const { return value_; }
    void settle() {}

private:
    T* value_;
};

// In a place of its own: Fortran aligns a status for integers alone. MPI leaves some of its fields as they were.
template <>
class Argument<MPI_Status*> {
public:
    explicit Argument(void* given) : given_(static_cast<MPI_Fint*>(given)) {
        if (wanted()) PMPI_Status_f2c(given_, &status_);
    }
    [[nodiscard]] MPI_Status* value() { return wanted() ? &status_ : MPI_STATUS_IGNORE; }
    void settle() {
        if (wanted()) PMPI_Status_c2f(&status_, given_);
    }

private:
    [[nodiscard]] bool wanted() const { return given_ != status_ignore; }

    MPI_Fint* given_;
    MPI_Status status_{};
};

#if defined(OPEN_MPI)
// One type for each peer; how many these are says the communicator.
template <>
class Argument<const MPI_Datatype*> {
public:
    explicit Argument(void* given) : given_(given) {}
    void read_all(int count) { all_ = HandleList<MPI_Datatype>(given_, count); }
    [[nodiscard]] const MPI_Datatype* value() { return all_.data(); }
    void settle() {}

private:
    void* given_;
    HandleList<MPI_Datatype> all_{nullptr, 0};
};
#endif

// Text that is C's already.
template <>
class Argument<const char*> {
public:
    explicit Argument(const char* given) : value_(given) {}
    [[nodiscard]] const char* value() const { return value_; }
    void settle() {}

private:
    const char* value_;
};

#if defined(OPEN_MPI)
// With how many ranks of a communicator data is exchanged, one type for each.
struct Peers {
    int destinations = 0, sources = 0;
};
[[nodiscard]] Peers all_ranks(MPI_Comm comm);
[[nodiscard]] Peers neighbours(MPI_Comm comm);

// The arguments of MPI_Alltoallw and MPI_Neighbor_alltoallw, of whatever form: the neighbours' displacements are wide.
template <class... Types>
void read_types(std::tuple<Argument<Types>...>& arguments) {
    const MPI_Comm comm = std::get<Argument<MPI_Comm>>(arguments).value();
    constexpr bool of_neighbours = (std::is_same_v<Types, const MPI_Aint*> || ...);
    const Peers peers = of_neighbours ? neighbours(comm) : all_ranks(comm);
    if (std::get<0>(arguments).value() != MPI_IN_PLACE) std::get<3>(arguments).read_all(peers.destinations);
    std::get<7>(arguments).read_all(peers.sources);
}

#endif

inline void tell(void* error, int result) {
    if (error != nullptr) *static_cast<MPI_Fint*>(error) = result;
}

// Calls `function` with what Fortran passed, and tells it the result.
template <class... Types, class... Given>
void call(int (*function)(Types...), void* error, Given*... given) {
    static_assert(sizeof...(Types) == sizeof...(Given));
    std::tuple<Argument<Types>...> arguments(given...);
#if defined(OPEN_MPI)
    if constexpr ((std::is_same_v<Types, const MPI_Datatype*> || ...)) read_types(arguments);
#endif
    const int result = std::apply([&](auto&... one) { return function(one.value()...); }, arguments);
    std::apply([](auto&... one) { (one.settle(), ...); }, arguments);
    tell(error, result);
}

}  // namespace loom::mpi::fortran
