// The device functions of dcuda.hpp, for both back ends.
#pragma once

#include "loom/device/dcuda.hpp"

namespace loom::device::library {

// Where the caller stands; the CPU alone keeps it.
#if DCUDA_ON_GPU
#define DCUDA_ENTER(function_name)
#define DCUDA_OBSERVE(call)
#define DCUDA_AT
#else
#define DCUDA_AT , [[maybe_unused]] const char *file, [[maybe_unused]] int line
#define DCUDA_ENTER(function_name) gst.block->place = {loom::device::Function::function_name, file, line}
#define DCUDA_OBSERVE(call) \
    if (gst.block->observer != nullptr) gst.block->observer->call
#endif

DCUDA_DEVICE inline RankMemory& mine(dcuda_state& gst) {
    return gst.context->ranks[gst.rank];
}
DCUDA_DEVICE inline std::uint32_t world_rank(const dcuda_state& gst) {
    return gst.context->world_start + gst.rank;
}

// By the leader alone. False: the kernel is to end (GPU; on the CPU it does not return then).
template <class Ready>
DCUDA_DEVICE inline bool leader_wait(dcuda_state& gst, const Ready& ready, [[maybe_unused]] Function function,
                                     [[maybe_unused]] std::uint32_t tag = 0, [[maybe_unused]] std::uint32_t count = 0,
                                     [[maybe_unused]] int comm = 0) {
#if DCUDA_ON_GPU
    constexpr std::uint32_t long_wait = 1u << 20;  // looks
    std::uint32_t* const waits = mine(gst).waits;
    std::uint32_t looks = 0;
    while (!ready()) {
        if (++looks % 64 == 0 && load_relaxed(gst.context->ended) != 0) {
            gst.ended = 1;
            return false;
        }
        if (looks == long_wait) store_release(waits, waiting_word(function, tag, count));
    }
    if (looks >= long_wait) store_release(waits, 0u);
#else
    if (!ready())
        gst.block->wait([](const void* subject) { return (*static_cast<const Ready*>(subject))(); }, &ready,
                        {function, tag, count, comm});
#endif
    return true;
}

// All threads, after what the leader did: nobody goes on before it, and all end with it.
DCUDA_DEVICE inline void join([[maybe_unused]] dcuda_state& gst) {
#if DCUDA_ON_GPU
    __syncthreads();
    if (gst.ended != 0) asm volatile("exit;");
#endif
}

DCUDA_DEVICE inline void ring_bell([[maybe_unused]] dcuda_state& gst) {
#if !DCUDA_ON_GPU
    gst.block->ring();
#endif
}

DCUDA_DEVICE inline Entry command(Function function, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0,
                                  std::uint32_t d = 0) {
    return {{static_cast<std::uint32_t>(function), a, b, c, d, 0, 0}, 0};
}

DCUDA_DEVICE inline Entry three(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    Entry entry{};
    set_wide(entry, 0, a);
    set_wide(entry, 2, b);
    set_wide(entry, 4, c);
    return entry;
}

// By the leader.
DCUDA_DEVICE inline bool send(dcuda_state& gst, const Entry& entry, Function function) {
    RankMemory& own = mine(gst);
    if (!leader_wait(
            gst, [&] { return has_room(own.commands, gst.commands); }, function))
        return false;
    push(own.commands, gst.commands, entry);
    ring_bell(gst);
    return true;
}

// All threads; does not return. The host makes a sentence of it.
DCUDA_DEVICE inline void fail(dcuda_state& gst, Function function, Fault fault, std::uint32_t window,
                              std::uint32_t rank, std::uint32_t tag, std::uint64_t a = 0, std::uint64_t b = 0,
                              std::uint64_t c = 0) {
    sync_threads();
    if (is_leader()) {
        Entry first = command(function, window, rank, tag);
        first.word[0] |= static_cast<std::uint32_t>(fault) << fault_shift;
        if (send(gst, first, function)) send(gst, three(a, b, c), function);
        gst.ended = 1;
    }
#if DCUDA_ON_GPU
    join(gst);
#else
    gst.block->end();
#endif
}

DCUDA_DEVICE inline bool is_comm(dcuda_comm comm) {
    return comm == DCUDA_COMM_WORLD || comm == DCUDA_COMM_DEVICE;
}
DCUDA_DEVICE inline std::uint32_t size_of(const dcuda_state& gst, dcuda_comm comm) {
    return comm == DCUDA_COMM_DEVICE ? gst.context->device_size : gst.context->world_size;
}

// The target as a rank of the world, or the end of the kernel.
DCUDA_DEVICE inline std::uint32_t target_of(dcuda_state& gst, Function function, int rank, dcuda_comm comm, int win,
                                            int tag) {
    if (!is_comm(comm)) fail(gst, function, Fault::no_communicator, static_cast<std::uint32_t>(comm), 0, 0);
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= size_of(gst, comm))
        fail(gst, function, Fault::no_rank, static_cast<std::uint32_t>(win), static_cast<std::uint32_t>(rank),
             static_cast<std::uint32_t>(tag), size_of(gst, comm));
    return static_cast<std::uint32_t>(rank) + (comm == DCUDA_COMM_DEVICE ? gst.context->world_start : 0);
}

DCUDA_DEVICE inline void check_tag(dcuda_state& gst, Function function, int tag, int count = 0) {
    if (tag < 0 || static_cast<std::uint32_t>(tag) >= tag_count)
        fail(gst, function, Fault::no_tag, 0, 0, static_cast<std::uint32_t>(tag));
    if (count < 0)
        fail(gst, function, Fault::no_count, 0, 0, static_cast<std::uint32_t>(tag), static_cast<std::uint64_t>(count));
}

DCUDA_DEVICE inline std::uint32_t slot_of(dcuda_state& gst, Function function, dcuda_win win) {
    const std::uint32_t slot = static_cast<std::uint32_t>(win) % most_windows;
    if (win < 0 || gst.context->windows[slot].id != win)
        fail(gst, function, Fault::no_window, static_cast<std::uint32_t>(win), 0, 0);
    return slot;
}

DCUDA_DEVICE inline bool is_here(const dcuda_state& gst, std::uint32_t world) {
    return world - gst.context->world_start < gst.context->device_size;
}

DCUDA_DEVICE inline void local_notification(dcuda_state& gst, std::uint32_t target, std::uint32_t tag) {
    publish();
    sync_threads();
    if (is_leader()) {
        DCUDA_OBSERVE(local_notify(world_rank(gst), target, tag));
        add_ordered(&gst.context->ranks[target - gst.context->world_start].local[tag], 1u);
        ring_bell(gst);
    }
    sync_threads();
}

// put and put_notify (tag -1: without a notification).
DCUDA_DEVICE inline void write(dcuda_state& gst, Function function, dcuda_win win, int rank, std::uint64_t offset,
                               std::uint64_t size, void* buffer, int tag) {
    dcuda_context& context = *gst.context;
    const std::uint32_t slot = slot_of(gst, function, win);
    const std::uint32_t target = target_of(gst, function, rank, context.windows[slot].communicator, win, tag);
    if (function == Function::put_notify) check_tag(gst, function, tag);
    const WindowRange* const ranges = context.ranges + static_cast<std::uint64_t>(slot) * context.world_size;
    const WindowRange there = ranges[target], own = ranges[world_rank(gst)];
    if (offset > there.size || size > there.size - offset)
        fail(gst, function, Fault::beyond_target, static_cast<std::uint32_t>(win), static_cast<std::uint32_t>(rank),
             static_cast<std::uint32_t>(tag), offset, size, there.size);
    const std::uint64_t from = reinterpret_cast<std::uint64_t>(buffer) - own.base;
    if (size != 0 && (from > own.size || size > own.size - from))
        fail(gst, function, Fault::outside_source, static_cast<std::uint32_t>(win), static_cast<std::uint32_t>(rank),
             static_cast<std::uint32_t>(tag), from, size, own.size);

    if (is_here(gst, target)) {
        void* const to = reinterpret_cast<void*>(there.base + offset);
        if (to != buffer && size != 0) {
            DCUDA_OBSERVE(local_put(world_rank(gst), target, to, buffer, size, gst.block->place));
            sync_threads();  // what the block's threads wrote into the buffer
            copy_together(to, buffer, size);
        }
        if (function == Function::put_notify)
            local_notification(gst, target, static_cast<std::uint32_t>(tag));
        else
            publish();
        return;
    }
    publish();
    sync_threads();
    if (is_leader()) {
        DCUDA_OBSERVE(remote_put(world_rank(gst), target, win, there.base + offset, buffer, size, gst.block->place));
        if (function == Function::put_notify) {
            DCUDA_OBSERVE(remote_notify(world_rank(gst), target, static_cast<std::uint32_t>(tag)));
        }
        const std::uint32_t number = gst.next_operation++;
        gst.last_put[slot] = number;
        if (send(gst,
                 command(function, static_cast<std::uint32_t>(win), target, static_cast<std::uint32_t>(tag), number),
                 function))
            send(gst, three(reinterpret_cast<std::uint64_t>(buffer), offset, size), function);
    }
    join(gst);
}

// By the leader: the number `wanted` and all before it are complete.
DCUDA_DEVICE inline bool wait_flushed(dcuda_state& gst, std::uint32_t wanted, Function function) {
    std::uint32_t* const flushed = mine(gst).flushed;
    return leader_wait(
        gst, [&] { return load_acquire(flushed) - wanted < 0x80000000u; }, function);
}

// By the leader: asks the host and waits for its answer, which is in word 0.
DCUDA_DEVICE inline bool ask(dcuda_state& gst, const Entry& first, const Entry* second, Function function, int comm,
                             Entry& answer) {
    if (!send(gst, first, function)) return false;
    if (second != nullptr && !send(gst, *second, function)) return false;
    RankMemory& own = mine(gst);
    if (!leader_wait(
            gst, [&] { return has_entry(own.acks, gst.acks); }, function, 0, 0, comm))
        return false;
    answer = pop(own.acks, gst.acks);
    return true;
}

DCUDA_DEVICE inline void device_barrier(dcuda_state& gst, Function function) {
    publish();
    sync_threads();
    if (is_leader()) {
        std::uint32_t* const arrived = gst.context->barrier;
        std::uint32_t* const generation = gst.context->barrier + 1;
        const std::uint32_t now = load_acquire(generation);
        if (add_ordered(arrived, 1u) + 1 == gst.context->device_size) {
            store_release(arrived, 0u);
            store_release(generation, now + 1);
            ring_bell(gst);
        } else {
            leader_wait(
                gst, [&] { return load_acquire(generation) != now; }, function, 0, 0, DCUDA_COMM_DEVICE);
        }
    }
    join(gst);
}

// All ranks of the world, by way of their hosts.
DCUDA_DEVICE inline void world_barrier(dcuda_state& gst, Function function) {
    publish();
    sync_threads();
    if (is_leader()) {
        Entry answer;
        ask(gst, command(function), nullptr, function, DCUDA_COMM_WORLD, answer);
    }
    join(gst);
}

DCUDA_DEVICE inline void timer(dcuda_state& gst, Function function) {
    device_barrier(gst, function);
    if (is_leader() && gst.rank == 0) send(gst, command(function), function);
    join(gst);
}

// By the leader: the notifications of a tag that are there, less those that were used up.
DCUDA_DEVICE inline bool are_there(dcuda_state& gst, std::uint32_t tag, std::uint32_t count) {
    const RankMemory& own = mine(gst);
    const std::uint32_t wanted = gst.consumed[tag] + count;
    const std::uint32_t have = load_acquire(&own.local[tag]) + load_acquire(&own.remote[tag]);
    return have - wanted < 0x80000000u;  // "have >= wanted" modulo 2^32
}

// By one thread.
DCUDA_DEVICE inline void log_piece(dcuda_state& gst, LogPiece kind, const void* from, std::uint32_t bytes) {
    Entry entry{};
    entry.word[0] = static_cast<std::uint32_t>(kind) | bytes << 8;
    char* const to = reinterpret_cast<char*>(&entry.word[1]);
    for (std::uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<const char*>(from)[i];
    RankMemory& own = mine(gst);
    if (!leader_wait(
            gst, [&] { return has_room(own.logs, gst.logs); }, Function::log))
        return;
    push(own.logs, gst.logs, entry);
    ring_bell(gst);
}

}  // namespace loom::device::library

DCUDA_DEVICE inline void dcuda_gpu_init(dcuda_context_handle dcuda, dcuda_state& gst DCUDA_AT) {
    namespace library = loom::device::library;
#if DCUDA_ON_GPU
    const std::uint32_t rank = blockIdx.x;
#else
    gst.block = loom::device::this_block();
    const std::uint32_t rank = gst.block->index();
    DCUDA_ENTER(init);
#endif
    if (loom::device::is_leader()) {
        gst.context = dcuda;
        gst.rank = rank;
        gst.ended = gst.answer = 0;
        gst.next_operation = loom::device::no_operation + 1;
        gst.commands = gst.logs = {0, 0};
        gst.acks = {0};
        for (std::uint32_t tag = 0; tag < loom::device::tag_count; ++tag)
            gst.consumed[tag] = dcuda->ranks[rank].local[tag] + dcuda->ranks[rank].remote[tag];
        for (auto& number : gst.last_put) number = loom::device::no_operation;
    }
    loom::device::sync_threads();
#if !DCUDA_ON_GPU
    gst.block->state = &gst;
#endif
    DCUDA_OBSERVE(barrier_entered(library::world_rank(gst), DCUDA_COMM_WORLD));
    library::world_barrier(gst, loom::device::Function::init);
    DCUDA_OBSERVE(barrier_left(library::world_rank(gst), DCUDA_COMM_WORLD));
}

DCUDA_DEVICE inline void dcuda_gpu_finish(dcuda_state& gst DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(finish);
    library::world_barrier(gst, loom::device::Function::finish);
#if !DCUDA_ON_GPU
    std::memcpy(gst.block->consumed, gst.consumed, sizeof gst.consumed);
    gst.block->finished = true;
    gst.block->state = nullptr;
#endif
}

DCUDA_DEVICE inline void dcuda_get_data(dcuda_state& gst, void** data) {
    *data = gst.context->user_data;
}

DCUDA_DEVICE inline void dcuda_comm_size(dcuda_state& gst, dcuda_comm comm, int* size DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(get_rank);
    if (!library::is_comm(comm))
        library::fail(gst, loom::device::Function::get_rank, loom::device::Fault::no_communicator,
                      static_cast<std::uint32_t>(comm), 0, 0);
    *size = static_cast<int>(library::size_of(gst, comm));
}

DCUDA_DEVICE inline void dcuda_comm_rank(dcuda_state& gst, dcuda_comm comm, int* rank DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(get_rank);
    if (!library::is_comm(comm))
        library::fail(gst, loom::device::Function::get_rank, loom::device::Fault::no_communicator,
                      static_cast<std::uint32_t>(comm), 0, 0);
    *rank = static_cast<int>(comm == DCUDA_COMM_DEVICE ? gst.rank : library::world_rank(gst));
}

DCUDA_DEVICE inline void dcuda_start_cpu_timer(dcuda_state& gst DCUDA_AT) {
    DCUDA_ENTER(start_timer);
    DCUDA_OBSERVE(barrier_entered(loom::device::library::world_rank(gst), DCUDA_COMM_DEVICE));
    loom::device::library::timer(gst, loom::device::Function::start_timer);
    DCUDA_OBSERVE(barrier_left(loom::device::library::world_rank(gst), DCUDA_COMM_DEVICE));
}

DCUDA_DEVICE inline void dcuda_stop_cpu_timer(dcuda_state& gst DCUDA_AT) {
    DCUDA_ENTER(stop_timer);
    DCUDA_OBSERVE(barrier_entered(loom::device::library::world_rank(gst), DCUDA_COMM_DEVICE));
    loom::device::library::timer(gst, loom::device::Function::stop_timer);
    DCUDA_OBSERVE(barrier_left(loom::device::library::world_rank(gst), DCUDA_COMM_DEVICE));
}

DCUDA_DEVICE inline void dcuda_comm_barrier(dcuda_state& gst, dcuda_comm comm DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(barrier);
    if (!library::is_comm(comm))
        library::fail(gst, loom::device::Function::barrier, loom::device::Fault::no_communicator,
                      static_cast<std::uint32_t>(comm), 0, 0);
    DCUDA_OBSERVE(barrier_entered(library::world_rank(gst), comm));
    if (comm == DCUDA_COMM_DEVICE)
        library::device_barrier(gst, loom::device::Function::barrier);
    else
        library::world_barrier(gst, loom::device::Function::barrier);
    DCUDA_OBSERVE(barrier_left(library::world_rank(gst), comm));
}

DCUDA_DEVICE inline void dcuda_win_create(dcuda_state& gst, dcuda_comm comm, void* base, std::uint64_t size,
                                          dcuda_win* win DCUDA_AT) {
    namespace library = loom::device::library;
    using loom::device::Function;
    DCUDA_ENTER(win_create);
    if (!library::is_comm(comm))
        library::fail(gst, Function::win_create, loom::device::Fault::no_communicator, static_cast<std::uint32_t>(comm),
                      0, 0);
    const std::uint64_t at = reinterpret_cast<std::uint64_t>(base) - gst.context->memory;
    if (size != 0 && (at > gst.context->memory_size || size > gst.context->memory_size - at))
        library::fail(gst, Function::win_create, loom::device::Fault::not_in_memory, 0, 0, 0,
                      reinterpret_cast<std::uint64_t>(base), size, gst.context->memory_size);
    DCUDA_OBSERVE(barrier_entered(library::world_rank(gst), comm));
    loom::device::publish();
    loom::device::sync_threads();
    if (loom::device::is_leader()) {
        loom::device::Entry answer{};
        const loom::device::Entry second = library::three(reinterpret_cast<std::uint64_t>(base), size, 0);
        if (library::ask(gst, library::command(Function::win_create, static_cast<std::uint32_t>(comm)), &second,
                         Function::win_create, comm, answer)) {
            gst.window = static_cast<std::int32_t>(answer.word[0]);
            if (gst.window >= 0)
                gst.last_put[static_cast<std::uint32_t>(gst.window) % loom::device::most_windows] =
                    loom::device::no_operation;
        }
    }
    library::join(gst);
    DCUDA_OBSERVE(barrier_left(library::world_rank(gst), comm));
    *win = gst.window;
    loom::device::sync_threads();
}

DCUDA_DEVICE inline void dcuda_win_free(dcuda_state& gst, dcuda_win win DCUDA_AT) {
    namespace library = loom::device::library;
    using loom::device::Function;
    DCUDA_ENTER(win_free);
    const std::uint32_t slot = library::slot_of(gst, Function::win_free, win);
    const int comm = gst.context->windows[slot].communicator;
    loom::device::sync_threads();
    if (loom::device::is_leader() && gst.last_put[slot] != loom::device::no_operation)
        library::wait_flushed(gst, gst.last_put[slot], Function::win_free);
    library::join(gst);
    DCUDA_OBSERVE(flushed(library::world_rank(gst), win));
    DCUDA_OBSERVE(barrier_entered(library::world_rank(gst), comm));
    if (loom::device::is_leader()) {
        loom::device::Entry answer;
        library::ask(gst, library::command(Function::win_free, static_cast<std::uint32_t>(win)), nullptr,
                     Function::win_free, comm, answer);
    }
    library::join(gst);
    DCUDA_OBSERVE(barrier_left(library::world_rank(gst), comm));
}

DCUDA_DEVICE inline void dcuda_notify(dcuda_state& gst, int rank, dcuda_comm comm, int tag DCUDA_AT) {
    namespace library = loom::device::library;
    using loom::device::Function;
    DCUDA_ENTER(notify);
    const std::uint32_t target = library::target_of(gst, Function::notify, rank, comm, -1, tag);
    library::check_tag(gst, Function::notify, tag);
    if (library::is_here(gst, target)) return library::local_notification(gst, target, static_cast<std::uint32_t>(tag));
    loom::device::publish();
    loom::device::sync_threads();
    if (loom::device::is_leader()) {
        DCUDA_OBSERVE(remote_notify(library::world_rank(gst), target, static_cast<std::uint32_t>(tag)));
        library::send(gst, library::command(Function::notify, 0, target, static_cast<std::uint32_t>(tag)),
                      Function::notify);
    }
    library::join(gst);
}

DCUDA_DEVICE inline void dcuda_put(dcuda_state& gst, dcuda_win win, int rank, std::uint64_t offset, std::uint64_t size,
                                   void* buffer DCUDA_AT) {
    DCUDA_ENTER(put);
    loom::device::library::write(gst, loom::device::Function::put, win, rank, offset, size, buffer, -1);
}

DCUDA_DEVICE inline void dcuda_put_notify(dcuda_state& gst, dcuda_win win, int rank, std::uint64_t offset,
                                          std::uint64_t size, void* buffer, int tag DCUDA_AT) {
    DCUDA_ENTER(put_notify);
    loom::device::library::write(gst, loom::device::Function::put_notify, win, rank, offset, size, buffer, tag);
}

DCUDA_DEVICE inline void dcuda_win_flush(dcuda_state& gst, dcuda_win win DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(win_flush);
    const std::uint32_t slot = library::slot_of(gst, loom::device::Function::win_flush, win);
    loom::device::sync_threads();
    if (loom::device::is_leader() && gst.last_put[slot] != loom::device::no_operation)
        library::wait_flushed(gst, gst.last_put[slot], loom::device::Function::win_flush);
    library::join(gst);
    DCUDA_OBSERVE(flushed(library::world_rank(gst), win));
}

DCUDA_DEVICE inline int dcuda_test_notifications(dcuda_state& gst, int tag, int count DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(test_notifications);
    library::check_tag(gst, loom::device::Function::test_notifications, tag, count);
    loom::device::sync_threads();
    const auto which = static_cast<std::uint32_t>(tag), wanted = static_cast<std::uint32_t>(count);
    if (loom::device::is_leader()) {
        gst.answer = library::are_there(gst, which, wanted) ? 1 : 0;
        if (gst.answer != 0) gst.consumed[which] += wanted;
        if (loom::device::load_relaxed(gst.context->ended) != 0) gst.ended = 1;
#if !DCUDA_ON_GPU
        if (gst.answer == 0)
            gst.block->let_others({loom::device::Function::test_notifications, which, wanted, 0});
        else
            DCUDA_OBSERVE(consumed(library::world_rank(gst), which, wanted));
#endif
    }
    library::join(gst);
    const int answer = static_cast<int>(gst.answer);
    loom::device::sync_threads();
    return answer;
}

DCUDA_DEVICE inline void dcuda_wait_notifications(dcuda_state& gst, int tag, int count DCUDA_AT) {
    namespace library = loom::device::library;
    DCUDA_ENTER(wait_notifications);
    library::check_tag(gst, loom::device::Function::wait_notifications, tag, count);
    loom::device::sync_threads();
    if (loom::device::is_leader()) {
        const auto which = static_cast<std::uint32_t>(tag), wanted = static_cast<std::uint32_t>(count);
        if (library::leader_wait(
                gst, [&] { return library::are_there(gst, which, wanted); }, loom::device::Function::wait_notifications,
                which, wanted))
            gst.consumed[which] += wanted;
        DCUDA_OBSERVE(consumed(library::world_rank(gst), which, wanted));
    }
    library::join(gst);
}

DCUDA_DEVICE inline dcuda_log dcuda_log_get(dcuda_state& gst) {
    return {&gst};
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, const char* text) {
    while (*text != 0) {
        std::uint32_t bytes = 0;
        while (bytes < loom::device::log_bytes && text[bytes] != 0) ++bytes;
        loom::device::library::log_piece(*log.gst, loom::device::LogPiece::text, text, bytes);
        text += bytes;
    }
    return log;
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, long long value) {
    loom::device::library::log_piece(*log.gst, loom::device::LogPiece::integer, &value, sizeof value);
    return log;
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, unsigned long long value) {
    loom::device::library::log_piece(*log.gst, loom::device::LogPiece::unsigned_integer, &value, sizeof value);
    return log;
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, int value) {
    return log << static_cast<long long>(value);
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, unsigned value) {
    return log << static_cast<unsigned long long>(value);
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, double value) {
    loom::device::library::log_piece(*log.gst, loom::device::LogPiece::real, &value, sizeof value);
    return log;
}
DCUDA_DEVICE inline dcuda_log& operator<<(dcuda_log& log, dcuda_log::Flush) {
    loom::device::library::log_piece(*log.gst, loom::device::LogPiece::flush, nullptr, 0);
    return log;
}

DCUDA_DEVICE inline unsigned dcuda_threads(dcuda_state& gst) {
    return gst.context->threads;
}

template <class F>
DCUDA_DEVICE inline void dcuda_for_threads(dcuda_state& gst, F&& f) {
#if DCUDA_ON_GPU
    f(threadIdx.x);
    __syncthreads();
    (void)gst;
#else
    const unsigned threads = gst.context->threads;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (unsigned thread = 0; thread < threads; ++thread) f(thread);
#endif
}

template <class F>
DCUDA_DEVICE inline void dcuda_one_thread([[maybe_unused]] dcuda_state& gst, F&& f) {
    if (loom::device::is_leader()) f();
    loom::device::sync_threads();
}

DCUDA_DEVICE inline void dcuda_reads([[maybe_unused]] dcuda_state& gst, [[maybe_unused]] const void* memory,
                                     [[maybe_unused]] std::uint64_t bytes DCUDA_AT) {
#if !DCUDA_ON_GPU
    DCUDA_ENTER(kernel);
    DCUDA_OBSERVE(access(loom::device::library::world_rank(gst), memory, bytes, false, gst.block->place));
#endif
}
DCUDA_DEVICE inline void dcuda_writes([[maybe_unused]] dcuda_state& gst, [[maybe_unused]] const void* memory,
                                      [[maybe_unused]] std::uint64_t bytes DCUDA_AT) {
#if !DCUDA_ON_GPU
    DCUDA_ENTER(kernel);
    DCUDA_OBSERVE(access(loom::device::library::world_rank(gst), memory, bytes, true, gst.block->place));
#endif
}
