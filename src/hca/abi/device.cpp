// The list of devices; opening and closing one.
#include "hca/abi/device.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"

namespace loom::hca::abi {

namespace {

std::vector<Device>& devices() {
    static std::vector<Device>* const all = [] {
        auto* made = new std::vector<Device>(config().hcas.size());
        for (std::size_t i = 0; i < made->size(); ++i) {
            const HcaConfig& hca = config().hcas[i];
            Device& device = (*made)[i];
            device.hca = &hca;
            device.abi.node_type = IBV_NODE_CA;
            device.abi.transport_type = IBV_TRANSPORT_IB;
            std::snprintf(device.abi.name, sizeof device.abi.name, "%s", hca.name.c_str());
            std::snprintf(device.abi.dev_name, sizeof device.abi.dev_name, "uverbs%u", hca.index);
            std::snprintf(device.abi.dev_path, sizeof device.abi.dev_path, "/sys/class/infiniband_verbs/uverbs%u",
                          hca.index);
            std::snprintf(device.abi.ibdev_path, sizeof device.abi.ibdev_path, "/sys/class/infiniband/%s",
                          hca.name.c_str());
        }
        return made;
    }();
    return *all;
}

void close_command(const verbs_context& verbs) {
    if (verbs.context.cmd_fd >= 0) close(verbs.context.cmd_fd);
}

}  // namespace

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

ibv_device** ibv_get_device_list(int* num_devices) try {
    const std::size_t count = devices().size();
    auto** list = new ibv_device* [count + 1] {};
    for (std::size_t i = 0; i < count; ++i) list[i] = &devices()[i].abi;
    if (num_devices != nullptr) *num_devices = static_cast<int>(count);
    trace("ibv_get_device_list() = %zu devices", count);
    return list;
} catch (const std::exception& thrown) {
    errno = errno_of(thrown);
    return nullptr;
}

void ibv_free_device_list(ibv_device** list) {
    trace("ibv_free_device_list()");
    delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
    trace("ibv_get_device_name(%s)", device->name);
    return device->name;
}

int ibv_get_device_index(ibv_device* device) {
    trace("ibv_get_device_index(%s) = %u", device->name, Device::of(device).hca->index);
    return static_cast<int>(Device::of(device).hca->index);
}

__be64 ibv_get_device_guid(ibv_device* device) {
    trace("ibv_get_device_guid(%s) = %016llx", device->name,
          static_cast<unsigned long long>(Device::of(device).hca->guid));
    return __builtin_bswap64(Device::of(device).hca->guid);
}

ibv_context* ibv_open_device(ibv_device* device) try {
    auto context = std::make_unique<Context>();
    verbs_context& verbs = context->verbs;
    verbs.sz = sizeof verbs;
    verbs.context.device = device;
    verbs.context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);  // programs may duplicate it
    verbs.context.async_fd = -1;
    verbs.context.num_comp_vectors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));  // clients take a CPU's number
    verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&verbs.context.mutex, nullptr);
    set_operations(verbs);
    if (const int error = api::open(*context, *Device::of(device).hca); error != 0) {
        trace("ibv_open_device(%s) = NULL %s", device->name, error_name(error));
        close_command(verbs);
        errno = error;
        return nullptr;
    }
    trace("ibv_open_device(%s) = %p", device->name, static_cast<void*>(context->abi()));
    return context.release()->abi();
} catch (const std::exception& thrown) {
    errno = errno_of(thrown);
    return nullptr;
}

int ibv_close_device(ibv_context* context) {
    const int error = api::close(Context::of(context));
    if (error == 0) close_command(Context::of(context).verbs);
    trace("ibv_close_device(%p) = %s", static_cast<void*>(context), error_name(error));
    if (error == 0) delete &Context::of(context);
    return error;
}

ibv_context* ibv_import_device(int) {
    trace("ibv_import_device() = NULL EOPNOTSUPP");
    errno = EOPNOTSUPP;
    return nullptr;
}
