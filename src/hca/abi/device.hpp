// The devices as programs see them.
#pragma once

#include "hca/abi/exports.hpp"
#include "hca/device/config.hpp"

namespace loom::hca::abi {

// Lives as long as the process: programs may use a device after they have freed the list it was in.
struct Device {
    ibv_device abi{};
    // Vendors' libraries look behind the public struct for their own table of functions to tell their devices from
    // others': what they find must be readable and nobody's.
    void* driver[64]{};
    const HcaConfig* hca = nullptr;

    static Device& of(ibv_device* abi) { return *reinterpret_cast<Device*>(abi); }
};

ibv_device_attr device_attributes(const HcaConfig& hca);
ibv_port_attr port_attributes(const HcaConfig& hca);

// Fills in the table of operations of an open device.
void set_operations(verbs_context& verbs);

}  // namespace loom::hca::abi
