#include <algorithm>
#include <cstring>
#include <numeric>

#include "mpi/workout/case.hpp"

namespace loom::workout {

namespace {

#if defined(OPEN_MPI)
#define LOOM_INIT(NAME) MPIX_##NAME##_init
#else
#define LOOM_INIT(NAME) MPI_##NAME##_init
#endif

// The four ways to call one collective with the same arguments; `recv` is the output.
#define LOOM_WAYS(NAME, INAME, ...)                                                            \
    c.reference = [=]([[maybe_unused]] char* recv) { return PMPI_##NAME(__VA_ARGS__, comm); }; \
    c.blocking = [=]([[maybe_unused]] char* recv) { return MPI_##NAME(__VA_ARGS__, comm); };   \
    c.start = [=]([[maybe_unused]] char* recv, MPI_Request* request) {                         \
        return MPI_##INAME(__VA_ARGS__, comm, request);                                        \
    };                                                                                         \
    c.init = [=]([[maybe_unused]] char* recv, MPI_Request* request) {                          \
        return LOOM_INIT(NAME)(__VA_ARGS__, comm, MPI_INFO_NULL, request);                     \
    };                                                                                         \
    c.name = #INAME

enum class What {
    bcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    barrier,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
};
constexpr std::uint64_t kinds = 22;

std::size_t pick(Random& random, std::size_t number) {
    return random.below(static_cast<std::uint32_t>(number));
}

class Maker {
public:
    Maker(const Wardrobe& wardrobe, std::uint64_t number) : wardrobe_(wardrobe), common_(number) {
        made_ = std::make_unique<Case>();
        what_ = static_cast<What>(number % kinds);
        const bool neighbour = what_ >= What::neighbor_allgather;
        const bool scan = what_ == What::scan || what_ == What::exscan;
        if (!neighbour && !scan && !wardrobe.between.empty() && common_.below(4) == 0)
            choose_between(wardrobe.between[pick(common_, wardrobe.between.size())]);
        else
            choose_one(neighbour ? wardrobe.neighbours : wardrobe.comms);
        // The same ints on every rank and side, in clothes of its own.
        units_ = static_cast<int>(12 * common_.below(common_.below(4) == 0 ? 600 : 8));
        in_place_ = !neighbour && side_ < 0 && common_.below(3) == 0;
        int world = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &world);
        own_ = Random(number * 1000 + static_cast<std::uint64_t>(world));
    }

    std::unique_ptr<Case> make() {
        Case& c = *made_;
        if (what_ >= What::reduce && what_ <= What::exscan)
            reduction(c);
        else if (what_ >= What::neighbor_allgather)
            neighbour(c);
        else
            movement(c);
        c.name += " on rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ", " + std::to_string(units_) +
                  " ints, root " + std::to_string(root_) + (in_place_ ? ", in place" : "") + about_;
        return std::move(made_);
    }

private:
    void choose_one(const std::vector<MPI_Comm>& from) {
        made_->comm = from[pick(common_, from.size())];
        PMPI_Comm_rank(made_->comm, &rank_);
        PMPI_Comm_size(made_->comm, &size_);
        peers_ = size_;
        root_ = static_cast<int>(pick(common_, static_cast<std::size_t>(size_)));
        at_root_ = rank_ == root_;
    }

    void choose_between(const Between& two) {
        made_->comm = two.comm;
        side_ = two.side;
        PMPI_Comm_rank(two.comm, &rank_);
        PMPI_Comm_size(two.comm, &size_);
        PMPI_Comm_remote_size(two.comm, &peers_);
        const int root_side = static_cast<int>(common_.below(2));
        const int root = static_cast<int>(pick(common_, static_cast<std::size_t>(side_ == root_side ? size_ : peers_)));
        at_root_ = side_ == root_side && rank_ == root;
        root_ = side_ != root_side ? root : at_root_ ? MPI_ROOT : MPI_PROC_NULL;
        about_ = ", between groups of " + std::to_string(size_) + " and " + std::to_string(peers_);
    }

    // Open MPI's own choice of an algorithm goes wrong (and hangs) where ranks pass different types: there all choose
    // alike.
    const Clothes& dress() {
#if defined(OPEN_MPI)
        Random& random = common_;
#else
        Random& random = own_;
#endif
        return wardrobe_.clothes[pick(random, wardrobe_.clothes.size())];
    }

    void fill(std::vector<char>& memory, std::size_t bytes) {
        memory.resize(bytes + 2 * Case::margin);
        for (char& byte : memory) byte = static_cast<char>(own_.below(256));
    }
    // Room for elements of any of our types that hold so many ints.
    static std::size_t room(int ints) {
        return static_cast<std::size_t>(ints) * 12 + 64;
    }

    // Blocks of `blocks` ranks: counts in ints from both sides' view, here as elements of `clothes`.
    struct Lists {
        int* counts;
        int* displacements;
    };
    Lists lists(Case& c, int blocks, const std::function<int(int)>& ints_of, const Clothes& clothes) {
        c.lists.emplace_back(static_cast<std::size_t>(blocks) + 1);
        c.lists.emplace_back(static_cast<std::size_t>(blocks) + 1);
        const Lists made{c.lists[c.lists.size() - 2].data(), c.lists.back().data()};
        // With holes between them, and the last first.
        int at = 0;
        for (int i = blocks - 1; i >= 0; --i) {
            made.counts[i] = ints_of(i) / clothes.ints;
            made.displacements[i] = at;
            at += made.counts[i] + 2;
        }
        return made;
    }
    // What a block from one rank to another holds: both compute it alike.
    int ints_between(int from, int to) const {
        return 12 * ((from * 3 + to * 5 + units_ / 12) % 7);
    }

    void movement(Case& c) {
        const MPI_Comm comm = c.comm;
        const Clothes &s = dress(), &r = dress();
        const MPI_Datatype st = s.type, rt = r.type;
        const int sn = units_ / s.ints, rn = units_ / r.ints, root = root_, rank = rank_, size = peers_;
        // Between groups one side gives twice what the other does.
        const int give = side_ == 1 ? 2 * sn : sn, get = side_ == 0 ? 2 * rn : rn;
        const bool here = in_place_ && at_root_;
        c.lists.reserve(8);
        const std::size_t all = 2 * (room(units_) + room(100)) * static_cast<std::size_t>(size);
        fill(c.send, all);
        fill(c.before, all);
        char* const send = c.memory(c.send);
        const void* const given = in_place_ ? MPI_IN_PLACE : send;
        const void* const given_here = here ? MPI_IN_PLACE : send;
        switch (what_) {
            case What::barrier: {
                c.reference = [=](char*) { return PMPI_Barrier(comm); };
                c.blocking = [=](char*) { return MPI_Barrier(comm); };
                c.start = [=](char*, MPI_Request* request) { return MPI_Ibarrier(comm, request); };
                c.init = [=](char*, MPI_Request* request) { return LOOM_INIT(Barrier)(comm, MPI_INFO_NULL, request); };
                c.name = "Ibarrier";
                break;
            }
            case What::bcast: {
                LOOM_WAYS(Bcast, Ibcast, recv, rn, rt, root);
                break;
            }
            case What::gather: {
                LOOM_WAYS(Gather, Igather, given_here, sn, st, recv, rn, rt, root);
                break;
            }
            case What::gatherv: {
                const Lists l = lists(
                    c, size, [&](int i) { return ints_between(i, 0); }, r);
                const int mine = ints_between(rank, 0) / s.ints;
                LOOM_WAYS(Gatherv, Igatherv, given_here, mine, st, recv, l.counts, l.displacements, rt, root);
                break;
            }
            case What::scatter: {
                const bool keep = here;
                LOOM_WAYS(Scatter, Iscatter, send, sn, st, keep ? MPI_IN_PLACE : static_cast<void*>(recv), rn, rt,
                          root);
                break;
            }
            case What::scatterv: {
                const Lists l = lists(
                    c, size, [&](int i) { return ints_between(0, i); }, s);
                const int mine = ints_between(0, rank) / r.ints;
                const bool keep = here;
                LOOM_WAYS(Scatterv, Iscatterv, send, l.counts, l.displacements, st,
                          keep ? MPI_IN_PLACE : static_cast<void*>(recv), mine, rt, root);
#if defined(OPEN_MPI)
                if (side_ >= 0) scatter_by_exchange(c, l, st, mine, rt);
#endif
                break;
            }
            case What::allgather: {
                LOOM_WAYS(Allgather, Iallgather, given, give, st, recv, get, rt);
                break;
            }
            case What::allgatherv: {
                const Lists l = lists(
                    c, size, [&](int i) { return ints_between(i, 0); }, r);
                const int mine = ints_between(rank, 0) / s.ints;
                LOOM_WAYS(Allgatherv, Iallgatherv, given, mine, st, recv, l.counts, l.displacements, rt);
                break;
            }
            case What::alltoall: {
                LOOM_WAYS(Alltoall, Ialltoall, given, give, st, recv, get, rt);
                break;
            }
            default:
                exchange(c, comm, given, size);
        }
    }

#if defined(OPEN_MPI)
    // Open MPI's own scatterv between groups gives up (MPI_ERR_TRUNCATE): what it should have done.
    void scatter_by_exchange(Case& c, const Lists& sent, MPI_Datatype sent_type, int mine, MPI_Datatype type) {
        c.lists.emplace_back(static_cast<std::size_t>(peers_), 0);
        c.lists.emplace_back(static_cast<std::size_t>(peers_), 0);
        int* const none = c.lists[c.lists.size() - 2].data();
        int* const counts = c.lists.back().data();
        if (root_ >= 0) counts[root_] = mine;
        const int* const given = at_root_ ? sent.counts : none;
        c.reference = [=, comm = c.comm, send = c.memory(c.send)](char* recv) {
            return PMPI_Alltoallv(send, given, sent.displacements, sent_type, recv, counts, none, type, comm);
        };
    }
#endif

    // In place both sides are the same, so that counts must be alike both ways.
    void exchange(Case& c, MPI_Comm comm, const void* given, int size) {
        const bool symmetric = in_place_;
        const int rank = rank_;
        const auto sent = [=, this](int i) {
            return symmetric ? ints_between(rank + i, rank + i) : ints_between(rank, i);
        };
        const auto got = [=, this](int i) {
            return symmetric ? ints_between(rank + i, rank + i) : ints_between(i, rank);
        };
        if (what_ == What::alltoallv) {
            const Clothes &s = dress(), &r = dress();
            const Lists a = lists(c, size, sent, s), b = lists(c, size, got, r);
            const MPI_Datatype st = s.type, rt = r.type;
            LOOM_WAYS(Alltoallv, Ialltoallv, given, a.counts, a.displacements, st, recv, b.counts, b.displacements, rt);
            return;
        }
        const Lists a = many_types(c, size, sent), b = many_types(c, size, got);
        const MPI_Datatype *st = c.types[0].data(), *rt = c.types[1].data();
        LOOM_WAYS(Alltoallw, Ialltoallw, given, a.counts, a.displacements, st, recv, b.counts, b.displacements, rt);
    }

    Lists many_types(Case& c, int blocks, const std::function<int(int)>& ints_of) {
        c.types.reserve(2);
        c.types.emplace_back();
        c.lists.emplace_back(static_cast<std::size_t>(blocks) + 1);
        c.lists.emplace_back(static_cast<std::size_t>(blocks) + 1);
        const Lists made{c.lists[c.lists.size() - 2].data(), c.lists.back().data()};
        int at = 0;
        for (int i = 0; i < blocks; ++i) {
            const Clothes& clothes = wardrobe_.clothes[pick(own_, wardrobe_.clothes.size())];
            c.types.back().push_back(clothes.type);
            made.counts[i] = ints_of(i) / clothes.ints;
            made.displacements[i] = at;
            at += static_cast<int>(room(ints_of(i)));
        }
        c.types.back().push_back(MPI_INT);
        return made;
    }

    void reduction(Case& c) {
        const MPI_Comm comm = c.comm;
        static const std::vector<std::pair<MPI_Datatype, std::vector<MPI_Op>>> predefined = {
            {MPI_INT, {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR}},
            {MPI_UNSIGNED_CHAR, {MPI_SUM, MPI_MAX, MPI_BXOR}},
            {MPI_SHORT, {MPI_SUM, MPI_MIN, MPI_BOR}},
            {MPI_INT64_T, {MPI_SUM, MPI_MAX, MPI_BAND}},
            {MPI_DOUBLE, {MPI_MAX, MPI_MIN, MPI_SUM}},
            {MPI_FLOAT, {MPI_MAX, MPI_SUM}},
            {MPI_LONG_DOUBLE, {MPI_MAX}},
            {MPI_C_DOUBLE_COMPLEX, {MPI_SUM}},
            {MPI_C_BOOL, {MPI_LAND, MPI_LOR}},
            {MPI_BYTE, {MPI_BXOR, MPI_BAND}},
            {MPI_2INT, {MPI_MAXLOC, MPI_MINLOC}},
            {MPI_DOUBLE_INT, {MPI_MAXLOC, MPI_MINLOC}},
            {MPI_SHORT_INT, {MPI_MAXLOC, MPI_MINLOC}},
            {MPI_FLOAT_INT, {MPI_MINLOC}},
            {MPI_LONG_INT, {MPI_MAXLOC}},
        };
        MPI_Datatype type = MPI_INT;
        MPI_Op op = MPI_SUM;
        int count = units_ / 4, ints = 4;
        switch (common_.below(4)) {
            case 0: {
                type = wardrobe_.matrix;
                op = wardrobe_.product;
                about_ += ", product of matrices";
                break;
            }
            case 1: {
                const Clothes& clothes = wardrobe_.clothes[pick(common_, wardrobe_.clothes.size())];
                type = clothes.type;
                op = wardrobe_.sum;
                ints = clothes.ints;
                about_ += std::string(", user's sum of ") + clothes.name;
                break;
            }
            default: {
                const auto& [chosen, operations] = predefined[pick(common_, predefined.size())];
                type = chosen;
                const std::size_t which = pick(common_, operations.size());
                op = operations[which];
                char name[MPI_MAX_OBJECT_NAME];
                int length = 0;
                PMPI_Type_get_name(type, name, &length);
                about_ += std::string(", ") + name + ", operation " + std::to_string(which) + " of its list";
            }
        }
        const int size = size_, rank = rank_, root = root_;
        // Between groups both sides scatter as many elements.
        const int block = side_ < 0 ? count : count * peers_;
        const std::size_t bytes = (room(4 * ints) + 64) * static_cast<std::size_t>(block * size + size + peers_);
        fill(c.send, bytes);
        fill(c.before, bytes);
        tame(c.send, type, block * size);
        tame(c.before, type, block * size);
        char* const send = c.memory(c.send);
        const bool here = in_place_ && at_root_;
        const void* const given = in_place_ ? MPI_IN_PLACE : send;
        const void* const given_here = here ? MPI_IN_PLACE : send;
        c.packed_as = type;
        c.packed_count = count;
        switch (what_) {
            case What::reduce: {
                LOOM_WAYS(Reduce, Ireduce, given_here, recv, count, type, op, root);
                break;
            }
            case What::allreduce: {
                LOOM_WAYS(Allreduce, Iallreduce, given, recv, count, type, op);
                break;
            }
            case What::scan: {
                LOOM_WAYS(Scan, Iscan, given, recv, count, type, op);
                break;
            }
            case What::exscan: {
                LOOM_WAYS(Exscan, Iexscan, given, recv, count, type, op);
                if (rank == 0) c.packed_count = 0;  // undefined there
                break;
            }
            case What::reduce_scatter_block: {
                c.packed_count = block;
                LOOM_WAYS(Reduce_scatter_block, Ireduce_scatter_block, given, recv, block, type, op);
                break;
            }
            default: {
                c.lists.emplace_back(static_cast<std::size_t>(size));
                for (int i = 0; i < size; ++i)
                    c.lists[0][static_cast<std::size_t>(i)] = side_ >= 0 || i % 2 == 0 ? block : block / 2;
                if (side_ >= 0 && size > 1) {  // the sum must stay
                    c.lists[0].front() -= count / 2;
                    c.lists[0].back() += count / 2;
                }
                c.packed_count = c.lists[0][static_cast<std::size_t>(rank)];
                const int* counts = c.lists[0].data();
                LOOM_WAYS(Reduce_scatter, Ireduce_scatter, given, recv, counts, type, op);
            }
        }
    }

    // Numbers for which every order of adding gives the same.
    template <class T>
    static void tame_as(char* memory, int count, std::size_t step) {
        for (int i = 0; i < count; ++i) {
            unsigned char noise = 0;
            std::memcpy(&noise, memory + static_cast<std::size_t>(i) * step, 1);
            const T value = static_cast<T>(noise % 16);
            char* const place = memory + static_cast<std::size_t>(i) * step;
            std::memset(place, 0, sizeof(T));
            // Without the padding of long double.
            std::memcpy(place, &value, std::min<std::size_t>(sizeof(T), 10));
        }
    }
    void tame(std::vector<char>& memory, MPI_Datatype type, int count) {
        char* const at = memory.data() + Case::margin;
        if (type == MPI_DOUBLE) tame_as<double>(at, count, 8);
        if (type == MPI_C_DOUBLE_COMPLEX) tame_as<double>(at, 2 * count, 8);
        if (type == MPI_DOUBLE_INT) tame_as<double>(at, count, 16);
        if (type == MPI_FLOAT) tame_as<float>(at, count, 4);
        if (type == MPI_FLOAT_INT) tame_as<float>(at, count, 8);
        if (type == MPI_LONG_DOUBLE) tame_as<long double>(at, count, 16);
        // Open MPI 4.1 saturates short sums where it should wrap, MPICH 4.0 takes unsigned characters for signed ones.
        if (type == MPI_SHORT) tame_as<short>(at, count, 2);
        if (type == MPI_UNSIGNED_CHAR) tame_as<unsigned char>(at, count, 1);
        if (type == MPI_C_BOOL)
            for (int i = 0; i < count; ++i) at[i] = static_cast<char>(at[i] & 1);
    }

    void neighbour(Case& c) {
        const MPI_Comm comm = c.comm;
        int kind = 0, in = 0, out = 0, weighted = 0;
        std::vector<int> sources, destinations;
        PMPI_Topo_test(comm, &kind);
        if (kind == MPI_CART) {
            int dimensions = 0;
            PMPI_Cartdim_get(comm, &dimensions);
            for (int d = 0; d < dimensions; ++d) {
                int before = 0, after = 0;
                PMPI_Cart_shift(comm, d, 1, &before, &after);
                for (const int beside : {before, after}) sources.push_back(beside);
            }
            destinations = sources;
        } else {
            PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
            sources.resize(static_cast<std::size_t>(in));
            destinations.resize(static_cast<std::size_t>(out));
            std::vector<int> weights(sources.size() + destinations.size() + 1);
            PMPI_Dist_graph_neighbors(comm, in, sources.data(), weights.data(), out, destinations.data(),
                                      weights.data());
        }
        const int from = static_cast<int>(sources.size()), to = static_cast<int>(destinations.size());
        const Clothes &s = dress(), &r = dress();
        const MPI_Datatype st = s.type, rt = r.type;
        const int sn = units_ / s.ints, rn = units_ / r.ints, rank = rank_;
        c.lists.reserve(8);
        const std::size_t all = (room(units_) + room(100)) * static_cast<std::size_t>(std::max(from, to) + 1);
        fill(c.send, all);
        fill(c.before, all);
        char* const send = c.memory(c.send);
        // A pair that exchanges several messages gives all the same size.
        const auto sent = [&](int i) {
            return ints_between(rank, std::max(0, destinations[static_cast<std::size_t>(i)]));
        };
        const auto got = [&](int i) { return ints_between(std::max(0, sources[static_cast<std::size_t>(i)]), rank); };
        switch (what_) {
            case What::neighbor_allgather: {
                LOOM_WAYS(Neighbor_allgather, Ineighbor_allgather, send, sn, st, recv, rn, rt);
                break;
            }
            case What::neighbor_allgatherv: {
                const Lists l = lists(
                    c, from, [&](int i) { return ints_between(std::max(0, sources[static_cast<std::size_t>(i)]), 0); },
                    r);
                const int mine = ints_between(rank, 0) / s.ints;
                LOOM_WAYS(Neighbor_allgatherv, Ineighbor_allgatherv, send, mine, st, recv, l.counts, l.displacements,
                          rt);
                break;
            }
            case What::neighbor_alltoall: {
                LOOM_WAYS(Neighbor_alltoall, Ineighbor_alltoall, send, sn, st, recv, rn, rt);
                break;
            }
            case What::neighbor_alltoallv: {
                const Lists a = lists(c, to, sent, s), b = lists(c, from, got, r);
                LOOM_WAYS(Neighbor_alltoallv, Ineighbor_alltoallv, send, a.counts, a.displacements, st, recv, b.counts,
                          b.displacements, rt);
                break;
            }
            default: {
                const Lists a = many_types(c, to, sent), b = many_types(c, from, got);
                c.wide.reserve(2);
                for (const Lists& l : {a, b})
                    c.wide.emplace_back(l.displacements, l.displacements + std::max(from, to));
                const MPI_Aint *sd = c.wide[0].data(), *rd = c.wide[1].data();
                const MPI_Datatype *sts = c.types[0].data(), *rts = c.types[1].data();
                LOOM_WAYS(Neighbor_alltoallw, Ineighbor_alltoallw, send, a.counts, sd, sts, recv, b.counts, rd, rts);
            }
        }
    }

    const Wardrobe& wardrobe_;
    Random common_, own_{0};
    std::unique_ptr<Case> made_;
    What what_ = What::barrier;
    int rank_ = 0, size_ = 1, peers_ = 1, root_ = 0, units_ = 0;
    int side_ = -1;  // of an intercommunicator
    bool in_place_ = false, at_root_ = false;
    std::string about_;
};

}  // namespace

void Case::ask_mpi() {
    expected = before;
    if (reference(memory(expected)) != MPI_SUCCESS) throw std::runtime_error(name + ": MPI refuses it");
}

std::string Case::wrong() const {
    if (packed_as == MPI_DATATYPE_NULL) {
        const auto [a, b] = std::mismatch(out.begin(), out.end(), expected.begin());
        if (a == out.end()) return {};
        return name + ": byte " + std::to_string(a - out.begin() - static_cast<std::ptrdiff_t>(margin)) + " differs";
    }
    int bytes = 0;
    PMPI_Pack_size(packed_count, packed_as, MPI_COMM_SELF, &bytes);
    std::vector<char> ours(static_cast<std::size_t>(bytes) + 1), theirs(ours.size());
    int at = 0;
    PMPI_Pack(out.data() + margin, packed_count, packed_as, ours.data(), bytes, &at, MPI_COMM_SELF);
    at = 0;
    PMPI_Pack(expected.data() + margin, packed_count, packed_as, theirs.data(), bytes, &at, MPI_COMM_SELF);
    return ours == theirs ? "" : name + ": the elements differ";
}

std::unique_ptr<Case> make_case(const Wardrobe& wardrobe, std::uint64_t number) {
    return Maker(wardrobe, number).make();
}

}  // namespace loom::workout
