#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "loom/device/host.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/open.hpp"
#include "loom/window/world.hpp"

struct dcuda_host_context {
    std::unique_ptr<loom::transport::Bootstrap> bootstrap;
    std::unique_ptr<loom::transport::Transport> transport;  // null, as the next: alone
    std::unique_ptr<loom::window::World> world;
    std::unique_ptr<loom::device::Job> job;
    dcuda_kernel_t kernel;
};

void dcuda_host_init(int /*argc*/, char** /*argv*/, dcuda_host_context_handle* ctx, dcuda_kernel_t kernel,
                     int threads_per_rank) {
    using loom::device::Job;
    if (threads_per_rank <= 0)
        throw loom::UsageError(std::to_string(threads_per_rank) + " threads a rank: expected at least 1");
    const auto options = loom::device::Options::from_environment();
    const auto threads = static_cast<std::uint32_t>(threads_per_rank);
    auto context = std::make_unique<dcuda_host_context>();
    context->kernel = kernel;
    context->bootstrap = loom::transport::find_bootstrap();
    if (context->bootstrap->size() == 1) {
        context->job = std::make_unique<Job>(options, 1, threads);
    } else {
        context->transport = loom::transport::open_transport(*context->bootstrap);
        context->world = std::make_unique<loom::window::World>(*context->transport, context->bootstrap.get());
        context->job = std::make_unique<Job>(options, *context->world, threads);
    }
    *ctx = context.release();
}

void dcuda_host_get_rank_info(dcuda_host_context_handle ctx, dcuda_rank_info* info) {
    *info = ctx->job->info(0);
}

double dcuda_host_run(dcuda_host_context_handle ctx, void* gpu_data, std::size_t gpu_size) {
    const std::span<std::byte> data(static_cast<std::byte*>(gpu_data), gpu_size);
    return ctx->job->run(ctx->kernel, std::span(&data, 1));
}

std::vector<double> dcuda_host_get_timings(dcuda_host_context_handle ctx) {
    return ctx->job->timings(0);
}

void dcuda_host_finish(dcuda_host_context_handle ctx) {
    const std::unique_ptr<dcuda_host_context> own(ctx);
    own->job.reset();
    if (own->world != nullptr) own->world->close();
    own->bootstrap->finished();
}

void* dcuda_malloc(dcuda_host_context_handle ctx, std::size_t bytes) {
    return ctx->job->allocate(0, bytes);
}

void dcuda_to_device(dcuda_host_context_handle, void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

void dcuda_from_device(dcuda_host_context_handle, void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
