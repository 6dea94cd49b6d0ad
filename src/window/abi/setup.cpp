// Of libloom-shmem.so: beginning and end, the symmetric heap, teams, contexts.
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "loom/base/settings.hpp"
#include "loom/base/time.hpp"
#include "window/abi/state.hpp"
#include "window/world_state.hpp"

namespace loom::window::abi {

namespace {

constexpr std::uint64_t heap_by_default = 64 << 20;
constexpr std::uint64_t line = 64;

State the_state;
loom_shmem_team world_team, shared_team;
loom_shmem_ctx default_ctx{&world_team};
bool ended = false;

// The program's own variables, without those that are read-only once it runs.
std::span<std::byte> variables() {
    std::span<std::byte> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            std::uintptr_t begin = 0, end = 0, fixed = 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& part = info->dlpi_phdr[i];
                const std::uintptr_t at = info->dlpi_addr + part.p_vaddr;
                if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0) begin = at, end = at + part.p_memsz;
                if (part.p_type == PT_GNU_RELRO) fixed = at + part.p_memsz;
            }
            begin = (std::max(begin, fixed) + line - 1) / line * line;
            if (begin < end)
                *static_cast<std::span<std::byte>*>(result) = {reinterpret_cast<std::byte*>(begin), end - begin};
            return 1;  // the first is the program
        },
        &found);
    return found;
}

std::uint64_t heap_bytes() {
    const auto text = settings::variable("SHMEM_SYMMETRIC_SIZE");
    if (!text) return heap_by_default;
    const auto bytes = parse_bytes(*text);
    if (!bytes || *bytes == 0) throw UsageError("SHMEM_SYMMETRIC_SIZE='" + *text + "': expected a size, like 64M");
    return *bytes;
}

void begin() {
    if (the_state.world != nullptr || ended) return;
    the_state.world = World::open();
    World& world = *the_state.world;
    const Team all = world.team();
    the_state.heap_memory = world.transport().allocate(heap_bytes());
    the_state.data_memory = variables();
    the_state.heap_window = all.create(the_state.heap_memory);
    the_state.data_window = all.create(the_state.data_memory);
    for (std::uint32_t pe = 0; pe < world.size(); ++pe)
        if (the_state.heap_window.bytes(Rank{pe}) != the_state.heap_memory.size() ||
            the_state.data_window.bytes(Rank{pe}) != the_state.data_memory.size())
            throw UsageError("PE " + std::to_string(pe) + " is another program, or has another SHMEM_SYMMETRIC_SIZE");
    the_state.heap.begin(the_state.heap_memory);
    world_team.team = all;
    shared_team.team = all.split(world.transport().hosts()[world.rank().value], world.rank().value);
    std::atexit([] { shmem_finalize(); });
}

void end() {
    if (the_state.world == nullptr) return;
    quiet();
    the_state.world->close();
    world_team.team.reset();
    shared_team.team.reset();
    the_state.heap_window = the_state.data_window = Window(nullptr);
    the_state.world.reset();
    ended = true;
}

}  // namespace

State& state() {
    if (the_state.world == nullptr)
        throw UsageError("OpenSHMEM is not running: before shmem_init, or after shmem_finalize");
    return the_state;
}

void die(const std::exception& error) {
    const int pe = the_state.world == nullptr ? -1 : static_cast<int>(the_state.world->rank().value);
    std::fprintf(stderr, "shmem: PE %d: %s\n", pe, error.what());
    std::fflush(nullptr);
    _exit(1);
}

void Heap::begin(std::span<std::byte> memory) {
    memory_ = memory;
    free_ = {{0, memory.size()}};
    taken_.clear();
}

std::uint64_t Heap::offset_of(const void* memory) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - memory_.data());
}

void* Heap::take(std::size_t bytes, std::size_t alignment) {
    const std::uint64_t wanted = (std::max<std::uint64_t>(bytes, 1) + line - 1) / line * line;
    if (wanted < bytes) return nullptr;
    alignment = std::max<std::size_t>(alignment, line);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
        const auto [begin, length] = *at;
        const std::uint64_t address = reinterpret_cast<std::uintptr_t>(memory_.data()) + begin;
        // By the offset, which is the same everywhere; the memory begins at a page.
        const std::uint64_t skip = (alignment - address % alignment) % alignment;
        if (skip > length || wanted > length - skip) continue;
        free_.erase(at);
        if (skip != 0) free_[begin] = skip;
        if (length - skip > wanted) free_[begin + skip + wanted] = length - skip - wanted;
        taken_[begin + skip] = wanted;
        return memory_.data() + begin + skip;
    }
    return nullptr;
}

std::size_t Heap::bytes_of(const void* memory) const {
    const auto found = taken_.find(offset_of(memory));
    if (found == taken_.end()) throw UsageError("memory that was not allocated on the symmetric heap");
    return found->second;
}

void Heap::give_back(void* memory) {
    std::uint64_t begin = offset_of(memory), end = begin + bytes_of(memory);
    taken_.erase(begin);
    const auto after = free_.find(end);
    if (after != free_.end()) {
        end += after->second;
        free_.erase(after);
    }
    const auto next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == begin) {
            begin = before->first;
            free_.erase(before);
        }
    }
    free_[begin] = end - begin;
}

bool is_symmetric(const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    const auto holds = [&](std::span<std::byte> memory) {
        return at >= memory.data() && at < memory.data() + memory.size();
    };
    return holds(state().heap_memory) || holds(state().data_memory);
}

Place place_of(const void* address, std::size_t bytes) {
    const auto* at = static_cast<const std::byte*>(address);
    State& all = state();
    for (const auto& [memory, window] :
         {std::pair(all.heap_memory, &all.heap_window), std::pair(all.data_memory, &all.data_window)})
        if (at >= memory.data() && at <= memory.data() + memory.size() &&
            bytes <= static_cast<std::size_t>(memory.data() + memory.size() - at))
            return {window, static_cast<std::uint64_t>(at - memory.data())};
    throw UsageError("an address that is neither on the symmetric heap nor a variable of the program");
}

Rank rank_of(int pe) {
    if (pe < 0 || static_cast<std::uint32_t>(pe) >= state().world->size())
        throw NoSuchRank("there is no PE " + std::to_string(pe) + " of " + std::to_string(state().world->size()));
    return Rank{static_cast<std::uint32_t>(pe)};
}

Rank rank_of(shmem_ctx_t ctx, int pe) {
    if (ctx == nullptr) throw UsageError("a context that is none");
    if (ctx == &default_ctx || ctx->team == &world_team) return rank_of(pe);
    if (pe < 0) throw NoSuchRank("there is no PE " + std::to_string(pe));
    return team_of(ctx->team).world_rank(Rank{static_cast<std::uint32_t>(pe)});
}

Team team_of(shmem_team_t team) {
    (void)state();
    if (team == nullptr || !team->team) throw UsageError("a team that is none");
    return *team->team;
}

// Its members alone know of it. Two sets with one number have their messages in one order between any two members.
Team active_set(int start, int log_stride, int size) {
    World::State& world = state().world->state();
    const std::int64_t stride = std::int64_t{1} << std::clamp(log_stride, 0, 30);
    if (start < 0 || size < 1 || start + (size - 1) * stride >= world.transport.size())
        throw UsageError("an active set with PEs that there are not");
    std::vector<Rank> members;
    bool among = false;
    for (int i = 0; i < size; ++i) {
        members.emplace_back(static_cast<std::uint32_t>(start + i * stride));
        among |= members.back() == world.me;
    }
    if (!among) throw UsageError("a collective call by a PE that is not of its active set");
    const auto mix = static_cast<std::uint32_t>(start) * 2654435761u + static_cast<std::uint32_t>(log_stride) * 40503u +
                     static_cast<std::uint32_t>(size);
    return Team(std::make_shared<Team::State>(world, (1u << 19) + mix % ((1u << 19) - 2), std::move(members)));
}

void quiet() {
    state().heap_window.flush();
    state().data_window.flush();
}

Poll::Poll() : pauses_(state().world->transport().waiting(), state().world->transport()) {}

void Poll::rest() {
    World& world = *state().world;
    if (world.progress()) return;
    if (const auto lost = world.transport().lost()) throw transport::loss_of(*lost, world.transport());
    pauses_.next();
}

}  // namespace loom::window::abi

using namespace loom;
using namespace loom::window;
using namespace loom::window::abi;

extern "C" {

shmem_ctx_t const loom_shmem_ctx_default = &default_ctx;
shmem_team_t const loom_shmem_team_world = &world_team;
shmem_team_t const loom_shmem_team_shared = &shared_team;

void shmem_init(void) {
    guarded(begin);
}
void start_pes(int) {
    guarded(begin);
}
// Calls are not locked: one thread at a time.
int shmem_init_thread(int requested, int* provided) {
    guarded(begin);
    if (provided != nullptr) *provided = std::min(requested, SHMEM_THREAD_SERIALIZED);
    return requested > SHMEM_THREAD_SERIALIZED ? 1 : 0;
}
void shmem_query_thread(int* provided) {
    *provided = SHMEM_THREAD_SERIALIZED;
}
void shmem_finalize(void) {
    guarded(end);
}
void shmem_global_exit(int status) {
    std::fflush(nullptr);
    _exit(status);
}
int shmem_my_pe(void) {
    return guarded([] { return static_cast<int>(state().world->rank().value); });
}
int shmem_n_pes(void) {
    return guarded([] { return static_cast<int>(state().world->size()); });
}
int _my_pe(void) {
    return shmem_my_pe();
}
int _num_pes(void) {
    return shmem_n_pes();
}
int shmem_pe_accessible(int pe) {
    return guarded([&] { return pe >= 0 && static_cast<std::uint32_t>(pe) < state().world->size() ? 1 : 0; });
}
int shmem_addr_accessible(const void* addr, int pe) {
    return guarded([&] { return shmem_pe_accessible(pe) != 0 && is_symmetric(addr) ? 1 : 0; });
}
void* shmem_ptr(const void* dest, int pe) {
    return guarded([&]() -> void* {
        if (shmem_addr_accessible(dest, pe) == 0) return nullptr;
        if (rank_of(pe) == state().world->rank()) return const_cast<void*>(dest);
        const Place place = place_of(dest, 0);
        std::byte* const direct = place.window->direct(rank_of(pe));
        return direct == nullptr ? nullptr : direct + place.offset;
    });
}
void shmem_info_get_version(int* major, int* minor) {
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}
void shmem_info_get_name(char* name) {
    std::strcpy(name, SHMEM_VENDOR_STRING);
}

void* shmem_malloc(size_t size) {
    return shmem_align(64, size);
}
void* shmem_malloc_with_hints(size_t size, long) {
    return shmem_align(64, size);
}
void* shmem_align(size_t alignment, size_t size) {
    return guarded([&]() -> void* {
        State& all = state();
        if (size == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
        void* const memory = all.heap.take(size, alignment);
        all.world->team().barrier();
        return memory;
    });
}
void* shmem_calloc(size_t count, size_t size) {
    return guarded([&]() -> void* {
        State& all = state();
        if (count == 0 || size == 0 || count > SIZE_MAX / size) return nullptr;
        void* const memory = all.heap.take(count * size, 64);
        if (memory != nullptr) std::memset(memory, 0, count * size);
        all.world->team().barrier();
        return memory;
    });
}
void shmem_free(void* ptr) {
    guarded([&] {
        State& all = state();
        if (ptr == nullptr) return;
        quiet();
        all.world->team().barrier();
        all.heap.give_back(ptr);
    });
}
void* shmem_realloc(void* ptr, size_t size) {
    return guarded([&]() -> void* {
        if (ptr == nullptr) return shmem_malloc(size);
        if (size == 0) return shmem_free(ptr), nullptr;
        State& all = state();
        quiet();
        all.world->team().barrier();
        const std::size_t before = all.heap.bytes_of(ptr);
        void* const memory = all.heap.take(size, 64);
        if (memory != nullptr) {
            std::memcpy(memory, ptr, std::min(before, size));
            all.heap.give_back(ptr);
        }
        all.world->team().barrier();
        return memory;
    });
}

int shmem_ctx_create(long, shmem_ctx_t* ctx) {
    *ctx = new loom_shmem_ctx{&world_team};
    return 0;
}
int shmem_team_create_ctx(shmem_team_t team, long, shmem_ctx_t* ctx) {
    if (team == nullptr) return *ctx = nullptr, 1;
    *ctx = new loom_shmem_ctx{team};
    return 0;
}
void shmem_ctx_destroy(shmem_ctx_t ctx) {
    if (ctx == nullptr) return;
    guarded(quiet);
    if (ctx != &default_ctx) delete ctx;
}
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team) {
    *team = ctx == nullptr ? nullptr : ctx->team;
    return ctx == nullptr ? 1 : 0;
}
void shmem_fence(void) {
    guarded(quiet);
}
void shmem_quiet(void) {
    guarded(quiet);
}
void shmem_ctx_fence(shmem_ctx_t ctx) {
    if (ctx != nullptr) guarded(quiet);
}
void shmem_ctx_quiet(shmem_ctx_t ctx) {
    if (ctx != nullptr) guarded(quiet);
}

int shmem_team_my_pe(shmem_team_t team) {
    if (team == nullptr) return -1;
    return guarded([&] { return static_cast<int>(team_of(team).rank().value); });
}
int shmem_team_n_pes(shmem_team_t team) {
    if (team == nullptr) return -1;
    return guarded([&] { return static_cast<int>(team_of(team).size()); });
}
int shmem_team_get_config(shmem_team_t team, long, shmem_team_config_t* config) {
    if (team == nullptr) return 1;
    if (config != nullptr) config->num_contexts = 0;
    return 0;
}
int shmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to) {
    if (from == nullptr || to == nullptr || pe < 0) return -1;
    return guarded([&] {
        const Team one = team_of(from);
        if (static_cast<std::uint32_t>(pe) >= one.size()) return -1;
        const auto found = team_of(to).member(one.world_rank(Rank{static_cast<std::uint32_t>(pe)}));
        return found ? static_cast<int>(found->value) : -1;
    });
}
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t*, long,
                             shmem_team_t* team) {
    *team = nullptr;
    if (parent == nullptr) return 1;
    return guarded([&] {
        const Team all = team_of(parent);
        const auto ranks = static_cast<std::int64_t>(all.size()), mine = static_cast<std::int64_t>(all.rank().value);
        const std::int64_t last = start + std::int64_t{stride} * (size - 1);
        if (size < 1 || start < 0 || start >= ranks || last < 0 || last >= ranks || (stride == 0 && size != 1))
            return 1;
        std::optional<std::uint32_t> colour;
        std::uint32_t key = 0;
        for (int i = 0; i < size; ++i)
            if (start + std::int64_t{i} * stride == mine) colour = 0, key = static_cast<std::uint32_t>(i);
        auto made = all.split(colour, key);
        if (made) *team = new loom_shmem_team{std::move(made)};
        return 0;
    });
}
int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t*, long, shmem_team_t* xteam,
                        const shmem_team_config_t*, long, shmem_team_t* yteam) {
    *xteam = *yteam = nullptr;
    if (parent == nullptr || xrange < 1) return 1;
    return guarded([&] {
        const Team all = team_of(parent);
        const std::uint32_t width = std::min(static_cast<std::uint32_t>(xrange), all.size());
        const std::uint32_t x = all.rank().value % width, y = all.rank().value / width;
        *xteam = new loom_shmem_team{all.split(y, x)};
        *yteam = new loom_shmem_team{all.split(x, y)};
        return 0;
    });
}
void shmem_team_destroy(shmem_team_t team) {
    if (team == nullptr || team == &world_team || team == &shared_team) return;
    delete team;
}
void* shmem_team_ptr(shmem_team_t team, const void* dest, int pe) {
    const int of_world = shmem_team_translate_pe(team, pe, &world_team);
    return of_world < 0 ? nullptr : shmem_ptr(dest, of_world);
}
}
