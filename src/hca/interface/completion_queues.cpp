// Completion queues, channels and asynchronous events as programs use them.
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <memory>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/objects/events.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t polls_before_rest = 512, polls_between_rests = 128;  // the latter a power of two
constexpr std::uint64_t crowded_ns = 800'000;

// A program that polls in vain for long, on a core that others want too, sleeps for a moment: the one it waits for may
// be among them. Others want it when so many polls took far longer than they can: the core was taken away meanwhile,
// and not only by our own thread. (sched_yield is worse than nothing on kernels that take a yield as a wish to run
// last.)
void rest_if_idle(bool found) {
    thread_local std::uint32_t in_vain = 0;
    thread_local std::uint64_t looked_at = 0;
    if (found) {
        in_vain = 0;
        return;
    }
    if (++in_vain < polls_before_rest || (in_vain & (polls_between_rests - 1)) != 0) return;
    const std::uint64_t now = now_ns();
    const bool crowded = in_vain > polls_before_rest && now - looked_at > crowded_ns;
    looked_at = now;
    if (!crowded) return;
    const timespec moment{0, 1'000};
    nanosleep(&moment, nullptr);
    looked_at = now_ns();
}

// Waits for one event as a read of the descriptor does: blocking unless the program made it non-blocking.
template <class Event, class Give>
int next_event(ibv_context* context, EventQueue<Event>& queue, Give give) {
    while (true) {
        // The descriptor that a child has inherited counts its parent's events.
        Engine* a = engine_of(context);
        if (a == nullptr) return errno = ENODEV, -1;
        eventfd_t one = 0;
        if (eventfd_read(queue.fd, &one) != 0) return -1;  // EINTR too: programs leave their wait by a signal
        const Guard guard(*a);
        if (queue.waiting.empty()) continue;
        const Event event = queue.waiting.front();
        queue.waiting.pop_front();
        give(event);
        return 0;
    }
}

}  // namespace

namespace api {

ibv_comp_channel* create_channel(Context& context) try {
    Engine* a = engine_of(context.abi());
    if (a == nullptr) return errno = ENODEV, nullptr;
    auto channel = std::make_unique<Channel>();
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (fd < 0) return nullptr;
    const Guard guard(*a);
    channel->abi.context = context.abi();
    channel->abi.fd = channel->events.fd = fd;
    ++context.users;
    return &channel.release()->abi;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int destroy_channel(ibv_comp_channel* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Channel& channel = Channel::of(abi);
    if (channel.users != 0 || a->service.waited_for() == &channel) return EBUSY;
    a->completions.settle_signals();
    ::close(channel.events.fd);
    --Context::of(abi->context).users;
    delete &channel;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int get_cq_event(ibv_comp_channel* abi, ibv_cq** cq, void** cq_context) try {
    return next_event(abi->context, Channel::of(abi).events, [&](Cq* event) {
        ++event->events;
        *cq = reinterpret_cast<ibv_cq*>(&event->abi);
        *cq_context = event->abi.cq_context;
    });
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), -1;
}

void ack_cq_events(ibv_cq* abi, unsigned count) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return;
    const Guard guard(*a);
    Cq::of(abi).acknowledged += count;
    a->acknowledged.notify_all();
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

int get_async_event(Context& context, ibv_async_event* out) try {
    return next_event(context.abi(), context.async, [&](const ibv_async_event& event) {
        *out = event;
        if (EventCounts* counts = counts_of(event); counts != nullptr) ++counts->given;
    });
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), -1;
}

void ack_async_event(ibv_async_event* event) try {
    Engine* a = engine();
    if (a == nullptr) return;
    const Guard guard(*a);
    if (EventCounts* counts = counts_of(*event); counts != nullptr) ++counts->acknowledged;
    a->acknowledged.notify_all();
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

Cq* create_cq(Context& context, int cqe, void* cq_context, ibv_comp_channel* channel, int vector) try {
    Engine* a = engine_of(context.abi());
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (cqe < 1 || cqe > static_cast<int>(max_cqe) || vector < 0 || vector >= context.verbs.context.num_comp_vectors)
        return errno = EINVAL, nullptr;
    const Guard guard(*a);
    auto cq = std::make_unique<Cq>();
    cq->context = &context;
    cq->channel = channel != nullptr ? &Channel::of(channel) : nullptr;
    cq->ring.resize(std::bit_ceil(static_cast<std::uint32_t>(cqe)));
    cq->abi.context = context.abi();
    cq->abi.channel = channel;
    cq->abi.cq_context = cq_context;
    cq->abi.cqe = static_cast<int>(cq->ring.size());
    pthread_mutex_init(&cq->abi.mutex, nullptr);
    pthread_cond_init(&cq->abi.cond, nullptr);
    if (cq->channel != nullptr) ++cq->channel->users;
    ++context.users;
    return cq.release();
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int resize_cq(ibv_cq* abi, int cqe) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Cq& cq = Cq::of(abi);
    if (cqe < 1 || cqe > static_cast<int>(max_cqe) || static_cast<std::uint32_t>(cqe) < cq.waiting()) return EINVAL;
    std::vector<Cqe> ring(std::bit_ceil(static_cast<std::uint32_t>(cqe)));
    const std::uint32_t waiting = cq.waiting();
    for (std::uint32_t i = 0; i < waiting; ++i) ring[i] = cq.ring[(cq.head + i) & (cq.ring.size() - 1)];
    cq.ring = std::move(ring);
    cq.head = 0;
    cq.tail = waiting;
    cq.abi.cqe = static_cast<int>(cq.ring.size());
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int destroy_cq(ibv_cq* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Guard guard(*a);
    Cq& cq = Cq::of(abi);
    if (cq.users != 0) return EBUSY;
    if (cq.channel != nullptr) {
        a->completions.settle_signals();
        for (std::size_t n = std::erase(cq.channel->events.waiting, &cq); n > 0; --n) take_event(cq.channel->events.fd);
        --cq.channel->users;
    }
    withdraw_events(*cq.context, abi);
    a->acknowledged.wait(guard.lock(), [&] { return cq.events == cq.acknowledged && cq.async_events.settled(); });
    --cq.context->users;
    pthread_mutex_destroy(&cq.abi.mutex);
    pthread_cond_destroy(&cq.abi.cond);
    delete &cq;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int poll_cq(ibv_cq* abi, int count, ibv_wc* wc) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return -1;
    int taken = 0;
    {
        const Guard guard(*a);
        Cq& cq = Cq::of(abi);
        a->service.attend();
        if (cq.waiting() == 0) a->progress(Acks::may_wait);
        const std::uint32_t mask = static_cast<std::uint32_t>(cq.ring.size()) - 1;
        while (taken < count && cq.head != cq.tail) {
            wc[taken] = cq.ring[cq.head++ & mask].wc;
            a->queue_pairs.taken(wc[taken++]);
        }
    }
    rest_if_idle(taken != 0);
    return taken;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), -1;
}

int poll_one(Cq& cq) try {
    Engine* a = engine_of(cq.context->abi());
    if (a == nullptr) return EINVAL;
    {
        const Guard guard(*a);
        a->service.attend();
        if (cq.waiting() == 0) a->progress(Acks::may_wait);
        const bool found = cq.waiting() != 0;
        if (found) {
            cq.current = cq.ring[cq.head++ & (cq.ring.size() - 1)];
            a->queue_pairs.taken(cq.current.wc);
        }
        cq.found = found;
    }
    rest_if_idle(cq.found);
    if (!cq.found) return ENOENT;
    cq.abi.wr_id = cq.current.wc.wr_id;
    cq.abi.status = cq.current.wc.status;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int req_notify(ibv_cq* abi, int solicited_only) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Cq& cq = Cq::of(abi);
    // What has arrived and was not taken in yet came before: it is seen by the poll that follows, without an event.
    a->progress();
    // Whoever serves has not told of it yet, and the caller looks once more after asking: it would be told in vain.
    if (cq.channel != nullptr && cq.channel == a->service.waited_for()) std::erase(cq.channel->events.waiting, &cq);
    if (cq.armed != Armed::any) cq.armed = solicited_only != 0 ? Armed::solicited : Armed::any;
    a->service.hand_over();
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

}  // namespace api

}  // namespace loom::hca
