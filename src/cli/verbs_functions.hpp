// The functions of libloom-verbs.so that verbs.h only declares, found at run time; the rest is inline there.
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace loom::cli {

struct VerbsFunctions {
    decltype(&::ibv_get_device_list) get_device_list;
    decltype(&::ibv_free_device_list) free_device_list;
    decltype(&::ibv_open_device) open_device;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_query_gid) query_gid;
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    decltype(&::ibv_reg_mr_iova2) reg_mr;
    decltype(&::ibv_dereg_mr) dereg_mr;
    decltype(&::ibv_create_cq) create_cq;
    decltype(&::ibv_destroy_cq) destroy_cq;
    decltype(&::ibv_create_qp) create_qp;
    decltype(&::ibv_modify_qp) modify_qp;
    decltype(&::ibv_destroy_qp) destroy_qp;
    decltype(&::ibv_wc_status_str) wc_status_str;

    // Throws IoError when the library cannot be loaded or lacks one of them.
    explicit VerbsFunctions(const std::string& library);
};

}  // namespace loom::cli
