#include "hca/objects/events.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

namespace loom::hca {

namespace {

enum class About : std::uint8_t { completion_queue, shared_receives, queue_pair, port };

About about(ibv_event_type type) {
    switch (type) {
        case IBV_EVENT_CQ_ERR:
            return About::completion_queue;
        case IBV_EVENT_SRQ_LIMIT_REACHED:
        case IBV_EVENT_SRQ_ERR:
            return About::shared_receives;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return About::queue_pair;
        default:
            return About::port;
    }
}

const void* element_of(const ibv_async_event& event) {
    switch (about(event.event_type)) {
        case About::completion_queue:
            return event.element.cq;
        case About::shared_receives:
            return event.element.srq;
        case About::queue_pair:
            return event.element.qp;
        default:
            return nullptr;
    }
}

}  // namespace

ibv_async_event make_event(ibv_event_type type, void* element) {
    ibv_async_event event{};
    event.event_type = type;
    switch (about(type)) {
        case About::completion_queue:
            event.element.cq = static_cast<ibv_cq*>(element);
            break;
        case About::shared_receives:
            event.element.srq = static_cast<ibv_srq*>(element);
            break;
        case About::queue_pair:
            event.element.qp = static_cast<ibv_qp*>(element);
            break;
        case About::port:
            event.element.port_num = 1;
            break;
    }
    return event;
}

EventCounts* counts_of(const ibv_async_event& event) {
    switch (about(event.event_type)) {
        case About::completion_queue:
            return &Cq::of(event.element.cq).async_events;
        case About::shared_receives:
            return &Srq::of(event.element.srq).events;
        case About::queue_pair:
            return &Qp::of(event.element.qp).events;
        default:
            return nullptr;
    }
}

void withdraw_events(Context& context, const void* element) {
    std::erase_if(context.async.waiting, [&](const ibv_async_event& event) {
        const bool gone = element_of(event) == element;
        if (gone) take_event(context.async.fd);
        return gone;
    });
}

void take_event(int fd) {
    // The program may read it at the same time: then that read was for this event, and finds nothing.
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return;
    if ((flags & O_NONBLOCK) == 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    eventfd_t one = 0;
    eventfd_read(fd, &one);
    if ((flags & O_NONBLOCK) == 0) fcntl(fd, F_SETFL, flags);
}

}  // namespace loom::hca
