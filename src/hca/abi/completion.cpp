// Completion queues and channels, and the extended polling interface on top of the engine's.
#include <ctime>

#include "hca/abi/operations.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"

namespace loom::hca::abi {

namespace {

constexpr std::uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

const ibv_wc& shown(ibv_cq_ex* cq) {
    return Cq::of(cq).current.wc;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
    if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
    return api::poll_one(Cq::of(cq));
}

int next_poll(ibv_cq_ex* cq) {
    return api::poll_one(Cq::of(cq));
}

void end_poll(ibv_cq_ex*) {}

int traced_take(const char* call, ibv_cq_ex* cq, int error) {
    trace_completions(call, ibv_cq_ex_to_cq(cq), error == 0 ? 1 : 0, &shown(cq));
    return error;
}

int traced_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
    return traced_take("ibv_start_poll", cq, start_poll(cq, attr));
}

int traced_next_poll(ibv_cq_ex* cq) {
    return traced_take("ibv_next_poll", cq, next_poll(cq));
}

// Time stamps are of the clock that ibv_query_rt_values shows (monotonic); the wall clock's is worked out from it.
std::uint64_t nanoseconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t read_wallclock(ibv_cq_ex* cq) {
    const std::uint64_t ago = nanoseconds_of(CLOCK_MONOTONIC) - Cq::of(cq).current.time;
    return nanoseconds_of(CLOCK_REALTIME) - ago;
}

void set_functions(ibv_cq_ex& cq, std::uint64_t wanted) {
    cq.start_poll = tracing() ? traced_start_poll : start_poll;
    cq.next_poll = tracing() ? traced_next_poll : next_poll;
    cq.end_poll = end_poll;
    cq.read_opcode = [](ibv_cq_ex* of) { return shown(of).opcode; };
    cq.read_vendor_err = [](ibv_cq_ex* of) { return shown(of).vendor_err; };
    cq.read_wc_flags = [](ibv_cq_ex* of) { return shown(of).wc_flags; };
    cq.read_byte_len = [](ibv_cq_ex* of) { return shown(of).byte_len; };
    cq.read_imm_data = [](ibv_cq_ex* of) { return shown(of).imm_data; };
    cq.read_qp_num = [](ibv_cq_ex* of) { return shown(of).qp_num; };
    cq.read_src_qp = [](ibv_cq_ex* of) { return shown(of).src_qp; };
    cq.read_slid = [](ibv_cq_ex* of) { return std::uint32_t{shown(of).slid}; };
    cq.read_sl = [](ibv_cq_ex* of) { return shown(of).sl; };
    cq.read_dlid_path_bits = [](ibv_cq_ex* of) { return shown(of).dlid_path_bits; };
    if ((wanted & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
        cq.read_completion_ts = [](ibv_cq_ex* of) { return Cq::of(of).current.time; };
    if ((wanted & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) cq.read_completion_wallclock_ns = read_wallclock;
}

int check_cq(const ibv_context* context, std::int64_t cqe, const ibv_comp_channel* channel, std::int64_t vector) {
    if (cqe < 1 || cqe > api::max_cqe) return EINVAL;
    if (channel != nullptr && channel->context != context) return EINVAL;
    if (vector < 0 || vector >= context->num_comp_vectors) return EINVAL;
    return 0;
}

int check_extended(const ibv_context* context, const ibv_cq_init_attr_ex& attr) {
    if ((attr.comp_mask & ~std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS}) != 0) return EOPNOTSUPP;
    if ((attr.wc_flags & ~(std::uint64_t{IBV_WC_STANDARD_FLAGS} | stamps)) != 0) return EOPNOTSUPP;
    constexpr std::uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    if ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (attr.flags & ~flags) != 0) return EOPNOTSUPP;
    return check_cq(context, attr.cqe, attr.channel, attr.comp_vector);
}

Cq* make_cq(ibv_context* context, int error, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
            std::uint32_t vector) {
    if (error != 0) {
        errno = error;
        return nullptr;
    }
    return api::create_cq(Context::of(context), static_cast<int>(cqe), cq_context, channel, static_cast<int>(vector));
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
    Cq* cq =
        make_cq(context, check_extended(context, *attr), attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
    trace("ibv_create_cq_ex(cqe=%u, channel=%p, wc_flags=0x%llx) = %p%s%s", attr->cqe,
          static_cast<void*>(attr->channel), static_cast<unsigned long long>(attr->wc_flags), static_cast<void*>(cq),
          cq == nullptr ? " " : "", cq == nullptr ? error_name(errno) : "");
    if (cq == nullptr) return nullptr;
    cq->extended = true;
    cq->stamped = (attr->wc_flags & stamps) != 0;
    set_functions(cq->abi, attr->wc_flags);
    return &cq->abi;
}

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    ibv_comp_channel* channel = api::create_channel(Context::of(context));
    trace("ibv_create_comp_channel(%s) = %p fd=%d", context->device->name, static_cast<void*>(channel),
          channel == nullptr ? -1 : channel->fd);
    return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    const int error = api::destroy_channel(channel);
    trace("ibv_destroy_comp_channel(%p) = %s", static_cast<void*>(channel), error_name(error));
    return error;
}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int vector) {
    Cq* cq = make_cq(context, check_cq(context, cqe, channel, vector), static_cast<std::uint32_t>(cqe), cq_context,
                     channel, static_cast<std::uint32_t>(vector));
    trace("ibv_create_cq(cqe=%d, channel=%p, vector=%d) = %p%s%s", cqe, static_cast<void*>(channel), vector,
          static_cast<void*>(cq), cq == nullptr ? " " : "", cq == nullptr ? error_name(errno) : "");
    return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(&cq->abi);
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
    const int error = cqe < 1 || cqe > static_cast<int>(api::max_cqe) ? EINVAL : api::resize_cq(cq, cqe);
    trace("ibv_resize_cq(cq=%p, %d) = %s", static_cast<void*>(cq), cqe, error_name(error));
    return error;
}

int ibv_destroy_cq(ibv_cq* cq) {
    const int error = api::destroy_cq(cq);
    trace("ibv_destroy_cq(%p) = %s", static_cast<void*>(cq), error_name(error));
    return error;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
    const int result = api::get_cq_event(channel, cq, cq_context);
    trace("ibv_get_cq_event(channel=%p) = %d cq=%p", static_cast<void*>(channel), result,
          result == 0 ? static_cast<void*>(*cq) : nullptr);
    return result;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
    trace("ibv_ack_cq_events(cq=%p, %u)", static_cast<void*>(cq), count);
    api::ack_cq_events(cq, count);
}

int loom_wait(ibv_comp_channel* channel, int other, uint64_t most_ns) {
    const int result = api::wait(channel, other, most_ns);
    trace("loom_wait(channel=%p, %d, %llu) = %d", static_cast<void*>(channel), other,
          static_cast<unsigned long long>(most_ns), result);
    return result;
}

void loom_hush(ibv_context* context, int on) {
    api::hush(context, on != 0);
    trace("loom_hush(%s, %d)", context->device->name, on);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    const int result = api::get_async_event(Context::of(context), event);
    trace("ibv_get_async_event(%s) = %d %s", context->device->name, result,
          result == 0 ? ibv_event_type_str(event->event_type) : error_name(errno));
    return result;
}

void ibv_ack_async_event(ibv_async_event* event) {
    trace("ibv_ack_async_event(%s)", ibv_event_type_str(event->event_type));
    api::ack_async_event(event);
}
