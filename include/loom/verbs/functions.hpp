// Whose adapter? libibverbs' functions, found at run time: the system's library when it lists a device, else the
// software HCA. Nothing is linked, so a program with Loomband inside runs on machines with adapters and without.
#pragma once

#include <infiniband/verbs.h>
#include <loom/softhca.h>

#include <filesystem>
#include <string>

namespace loom::verbs {

// What verbs.h only declares; the rest (posting, polling) is inline there and goes through the device's own table.
struct Functions {
    decltype(&::ibv_get_device_list) get_device_list;
    decltype(&::ibv_free_device_list) free_device_list;
    decltype(&::ibv_get_device_name) get_device_name;
    decltype(&::ibv_open_device) open_device;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_query_device) query_device;
    int (*query_port)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*);  // fills the front of an ibv_port_attr
    decltype(&::ibv_query_gid) query_gid;
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    decltype(&::ibv_reg_mr_iova2) reg_mr;
    decltype(&::ibv_dereg_mr) dereg_mr;
    decltype(&::ibv_create_comp_channel) create_comp_channel;
    decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
    decltype(&::ibv_create_cq) create_cq;
    decltype(&::ibv_destroy_cq) destroy_cq;
    decltype(&::ibv_get_cq_event) get_cq_event;
    decltype(&::ibv_ack_cq_events) ack_cq_events;
    decltype(&::ibv_create_srq) create_srq;
    decltype(&::ibv_destroy_srq) destroy_srq;
    decltype(&::ibv_create_qp) create_qp;
    decltype(&::ibv_modify_qp) modify_qp;
    decltype(&::ibv_destroy_qp) destroy_qp;
    decltype(&::ibv_create_ah) create_ah;
    decltype(&::ibv_destroy_ah) destroy_ah;
    decltype(&::ibv_attach_mcast) attach_mcast;
    decltype(&::ibv_detach_mcast) detach_mcast;
    decltype(&::ibv_wc_status_str) wc_status_str;
    // The software HCA's own (loom/softhca.h), null elsewhere.
    decltype(&::loom_lend) lend = nullptr;
    decltype(&::loom_take_back) take_back = nullptr;
    decltype(&::loom_wait) wait = nullptr;
    decltype(&::loom_hush) hush = nullptr;
    decltype(&::loom_map) map = nullptr;
    decltype(&::loom_unmap) unmap = nullptr;
    unsigned past_caches = 0;  // LOOM_SEND_PAST_CACHES, 0 elsewhere

    // Throws IoError when the library cannot be loaded or lacks one of them. Stays loaded.
    explicit Functions(const std::string& library);
};

// Which library serves, where it is, and why.
struct Adapter {
    Functions functions;
    bool soft = true;
    std::string library;
    std::string why;
};

// Chosen once for the process. LOOM_HCA=auto (default), system or soft. Throws UsageError for another word, IoError
// when there is neither.
[[nodiscard]] const Adapter& adapter();

// libloom-verbs.so: LOOM_VERBS_LIBRARY, beside the program or library that this code is part of (as built or as
// installed), where the linker looks for that one's libraries, where it was installed to, or in LOOM_LIBRARIES, which
// `loom run` sets for its ranks to where its own libraries are. Throws UsageError when it is nowhere.
[[nodiscard]] std::filesystem::path soft_library();

}  // namespace loom::verbs
