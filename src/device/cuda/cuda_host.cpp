// dCUDA's host interface on CUDA devices: the same host, whose queues lie in pinned memory that the GPU sees, and
// blocks that are a real grid. Linked instead of the CPU device's (loom::device_cuda).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "device/host/host.hpp"
#include "device/host/words.hpp"
#include "loom/base/clock.hpp"
#include "loom/device/host.hpp"
#ifndef DCUDA_ONE_PROCESS  // gpu-proof --bare: neither network nor launcher
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/open.hpp"
#include "loom/window/world.hpp"
#endif

namespace loom::device {

namespace {

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) throw Error(std::string(what) + ": " + cudaGetErrorString(result));
}

Storage::Piece pinned(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "pinned memory");
    std::memset(memory, 0, bytes);
    return {memory, [](void* old) { cudaFreeHost(old); }};
}

Storage::Piece on_device(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "device memory");
    check(cudaMemset(memory, 0, bytes), "device memory");
    return {memory, [](void* old) { cudaFree(old); }};
}

Storage cuda_storage() {
    return {pinned, on_device, [](void* memory, std::uint32_t value, std::size_t count) {
                std::vector<std::uint32_t> values(count, value);
                check(cudaMemcpy(memory, values.data(), count * sizeof value, cudaMemcpyHostToDevice), "device memory");
            }};
}

std::uint32_t resident(dcuda_kernel_t kernel, int threads) {
    int device = 0, blocks = 0;
    cudaDeviceProp properties{};
    check(cudaGetDevice(&device), "the GPU");
    check(cudaGetDeviceProperties(&properties, device), "the GPU");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernel), threads, 0),
          "occupancy");
    return static_cast<std::uint32_t>(blocks * properties.multiProcessorCount);
}

}  // namespace

}  // namespace loom::device

struct dcuda_host_context {
#ifndef DCUDA_ONE_PROCESS
    std::unique_ptr<loom::transport::Bootstrap> bootstrap;
    std::unique_ptr<loom::transport::Transport> transport;
    std::unique_ptr<loom::window::World> world;
#endif
    loom::device::Options options;
    std::uint32_t threads = 0;
    dcuda_kernel_t kernel = nullptr;
    std::unique_ptr<loom::device::Network> network;
    loom::device::Storage::Piece memory;  // windows lie there: the GPU's where nobody else is in the job, else pinned,
                                          // so that the network reads and writes it
    std::uint64_t used = 0;
    loom::device::Shape shape;
    std::unique_ptr<loom::device::Tables> tables;
    loom::device::Bell bell;
    cudaStream_t stream = nullptr;
    std::vector<double> timings;
};

namespace {

using namespace loom::device;

// Nobody else is in the job.
std::span<std::byte> open_alone(dcuda_host_context& context, std::uint32_t ranks) {
    context.network = open_peer(make_hub(1), 0);
    context.shape.starts = {0, ranks};
    context.memory = on_device(context.options.memory);
    return {static_cast<std::byte*>(context.memory.get()), context.options.memory};
}

#ifndef DCUDA_ONE_PROCESS
std::span<std::byte> open_with_others(dcuda_host_context& context, std::uint32_t ranks) {
    context.transport = loom::transport::open_transport(*context.bootstrap);
    context.world = std::make_unique<loom::window::World>(*context.transport, context.bootstrap.get());
    context.network = open_window(*context.world, context.options.manager, 1 << 17);
    context.network->exchange(std::as_bytes(std::span(&ranks, 1)));
    std::optional<std::vector<std::vector<std::byte>>> parts;
    while (!(parts = context.network->exchanged()))
        if (!context.network->progress()) context.network->pause();
    context.shape.starts = {0};
    for (const auto& part : *parts) {
        std::uint32_t theirs = 0;
        if (part.size() != sizeof theirs) throw loom::Error("a process of the job is no dCUDA program");
        std::memcpy(&theirs, part.data(), sizeof theirs);
        context.shape.starts.push_back(context.shape.starts.back() + std::min(theirs, 4096u));
    }
    const std::span<std::byte> memory = context.network->allocate(context.options.memory);
    check(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped),
          "registering the windows' memory");
    return memory;
}
#endif

void open_network(dcuda_host_context& context, std::uint32_t ranks) {
    std::span<std::byte> memory;
#ifndef DCUDA_ONE_PROCESS
    context.bootstrap = loom::transport::find_bootstrap();
    if (context.bootstrap->size() > 1)
        memory = open_with_others(context, ranks);
    else
#endif
        memory = open_alone(context, ranks);
    const std::uint32_t process = context.network->process();
    context.tables =
        std::make_unique<Tables>(context.options, context.shape.starts.back(), context.shape.starts[process], ranks,
                                 context.threads, memory, cuda_storage());
}

std::string who_waits(dcuda_host_context& context) {
    std::string text;
    for (std::uint32_t rank = 0; rank < context.tables->size(); ++rank) {
        const std::uint32_t word = load_acquire(context.tables->rank(rank).waits);
        if (word == 0) continue;
        const auto function = static_cast<Function>(word >> 24 & 0x7f);
        text += (text.empty() ? "rank " : "; rank ") + std::to_string(context.tables->context().world_start + rank) +
                " waits in " + name_of(function);
        if (function == Function::wait_notifications)
            text += " for " + std::to_string(word & 0xffff) + " of tag " + std::to_string(word >> 16 & 0xff);
    }
    return text;
}

// Serves the kernel until it is over.
void serve(dcuda_host_context& context, Host& host) {
    loom::Time moved_at = loom::now();
    while (true) {
        const bool moved = host.main_step() | host.receive_step() | host.log_step();
        if (moved) {
            moved_at = loom::now();
            continue;
        }
        const cudaError_t state = cudaStreamQuery(context.stream);
        if (state == cudaSuccess) {
            if (host.failed() ? host.has_told() : host.is_quiet()) return;
        } else if (state != cudaErrorNotReady) {
            check(state, "the kernel");
        } else if (!host.failed() && loom::now() - moved_at > context.options.patience) {
            const std::string waiting = who_waits(context);
            if (!waiting.empty())
                host.fail(std::make_exception_ptr(Stall(Stall::Kind::lost, {}, "nothing moves: " + waiting)));
            moved_at = loom::now();
        }
    }
}

}  // namespace

void dcuda_host_init(int /*argc*/, char** /*argv*/, dcuda_host_context_handle* ctx, dcuda_kernel_t kernel,
                     int threads_per_rank) {
    auto context = std::make_unique<dcuda_host_context>();
    context->options = Options::from_environment();
    context->options.memory = std::uint64_t{512} << 20;
    context->threads = static_cast<std::uint32_t>(threads_per_rank);
    context->kernel = kernel;
    const std::uint32_t fit = resident(kernel, threads_per_rank);
    const std::uint32_t most = context->options.occupancy.most_blocks;
    const std::uint32_t ranks = context->options.ranks == 0 ? std::min(fit, most) : context->options.ranks;
    if (ranks > fit || ranks == 0)
        throw TooManyBlocks("the GPU holds " + std::to_string(fit) + " blocks of " + std::to_string(threads_per_rank) +
                            " threads at once, not " + std::to_string(ranks));
    check(cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking), "a stream");
    open_network(*context, ranks);
    *ctx = context.release();
}

void dcuda_host_get_rank_info(dcuda_host_context_handle ctx, dcuda_rank_info* info) {
    const std::uint32_t process = ctx->network->process(), node = ctx->network->node_of(process);
    *info = {};
    info->rank_count = static_cast<int>(ctx->shape.starts.back());
    info->rank_start = static_cast<int>(ctx->shape.starts[process]);
    info->rank_responsible = static_cast<int>(ctx->tables->size());
    for (std::uint32_t each = 0; each < ctx->network->processes(); ++each) {
        info->node_count = std::max(info->node_count, static_cast<int>(ctx->network->node_of(each)) + 1);
        info->device_count += ctx->network->node_of(each) == node;
        info->device_index += ctx->network->node_of(each) == node && each < process;
    }
    info->node_index = static_cast<int>(node);
    info->process_count = static_cast<int>(ctx->network->processes());
    info->process_index = static_cast<int>(process);
}

double dcuda_host_run(dcuda_host_context_handle ctx, void* gpu_data, std::size_t gpu_size) {
    ctx->tables->reset(ctx->options.first_count);
    const Storage::Piece data = pinned(std::max<std::size_t>(gpu_size, 64));
    if (gpu_size != 0) std::memcpy(data.get(), gpu_data, gpu_size);
    ctx->tables->context().user_data = data.get();
    Host host(ctx->options, *ctx->network, *ctx->tables, ctx->shape, ctx->bell, nullptr);
    dcuda_context_handle handle = &ctx->tables->context();
    void* arguments[] = {&handle};
    const loom::Time begin = loom::now();
    check(cudaLaunchKernel(reinterpret_cast<const void*>(ctx->kernel), dim3(ctx->tables->size()), dim3(ctx->threads),
                           arguments, 0, ctx->stream),
          "the launch");
    serve(*ctx, host);
    const double milliseconds = (loom::now() - begin).microseconds() / 1000;
    ctx->timings = host.timings();
    if (host.failed()) std::rethrow_exception(host.failure());
    if (gpu_size != 0) std::memcpy(gpu_data, data.get(), gpu_size);
    return milliseconds;
}

std::vector<double> dcuda_host_get_timings(dcuda_host_context_handle ctx) {
    return ctx->timings;
}

void dcuda_host_finish(dcuda_host_context_handle ctx) {
    const std::unique_ptr<dcuda_host_context> own(ctx);
    cudaStreamDestroy(own->stream);
    own->tables.reset();
    own->network.reset();
#ifndef DCUDA_ONE_PROCESS
    if (own->world != nullptr) own->world->close();
    own->bootstrap->finished();
#endif
}

void* dcuda_malloc(dcuda_host_context_handle ctx, std::size_t bytes) {
    const std::uint64_t whole = (bytes + 255) / 256 * 256;
    const dcuda_context& context = ctx->tables->context();
    if (whole < bytes || whole > context.memory_size - ctx->used) throw loom::Error("the device's memory is used up");
    ctx->used += whole;
    return reinterpret_cast<void*>(context.memory + ctx->used - whole);
}

void dcuda_to_device(dcuda_host_context_handle, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying to the device");
}

void dcuda_from_device(dcuda_host_context_handle, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying from the device");
}
