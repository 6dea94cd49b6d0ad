#include "cli/verbs_functions.hpp"

#include <dlfcn.h>

#include "loom/base/error.hpp"

namespace loom::cli {

namespace {

template <class Function>
void find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw IoError(std::string("no ") + name + " in the verbs library");
}

}  // namespace

VerbsFunctions::VerbsFunctions(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw IoError("cannot load " + library + ": " + dlerror());
    find(handle, "ibv_get_device_list", get_device_list);
    find(handle, "ibv_free_device_list", free_device_list);
    find(handle, "ibv_open_device", open_device);
    find(handle, "ibv_close_device", close_device);
    find(handle, "ibv_query_gid", query_gid);
    find(handle, "ibv_alloc_pd", alloc_pd);
    find(handle, "ibv_dealloc_pd", dealloc_pd);
    find(handle, "ibv_reg_mr_iova2", reg_mr);
    find(handle, "ibv_dereg_mr", dereg_mr);
    find(handle, "ibv_create_cq", create_cq);
    find(handle, "ibv_destroy_cq", destroy_cq);
    find(handle, "ibv_create_qp", create_qp);
    find(handle, "ibv_modify_qp", modify_qp);
    find(handle, "ibv_destroy_qp", destroy_qp);
    find(handle, "ibv_wc_status_str", wc_status_str);
}

}  // namespace loom::cli
