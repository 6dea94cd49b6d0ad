#include "loom/verbs/functions.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "verbs/choosing.hpp"

namespace loom::verbs {

namespace fs = std::filesystem;

namespace {

template <class Function>
void find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw IoError(std::string("no ") + name + " in the verbs library");
}

// The shared library into which this code was linked; empty when it is the program itself.
fs::path own_library() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&own_library), &info) == 0 || info.dli_fname == nullptr) return {};
    const fs::path self = info.dli_fname;
    return self.extension() == ".so" ? self : fs::path();
}

// The folder of the program or shared library into which this code was linked; empty when nobody knows.
fs::path own_folder() {
    std::error_code gone;
    if (const fs::path library = own_library(); !library.empty())
        if (const fs::path self = fs::canonical(library, gone); !gone) return self.parent_path();
    // A program's name is as it was called; /proc has the file.
    const fs::path program = fs::read_symlink("/proc/self/exe", gone);
    return gone ? fs::path() : program.parent_path();
}

// Where the system's linker would look for us: LD_LIBRARY_PATH, the run path of the program or library that this code
// is part of (which the CMake package sets to where it is installed), the system's folders.
std::vector<fs::path> linker_folders() {
    const fs::path library = own_library();
    void* const self = dlopen(library.empty() ? nullptr : library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    Dl_serinfo size{};
    std::vector<fs::path> folders;
    if (self == nullptr) return folders;
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
        std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
        auto* const all = reinterpret_cast<Dl_serinfo*>(memory.data());
        std::memcpy(all, &size, sizeof size);
        if (dlinfo(self, RTLD_DI_SERINFO, all) == 0)
            for (unsigned i = 0; i < all->dls_cnt; ++i) folders.emplace_back(all->dls_serpath[i].dls_name);
    }
    dlclose(self);
    return folders;
}

bool lists_devices(const Functions& functions) {
    int count = 0;
    ibv_device** list = functions.get_device_list(&count);
    if (list == nullptr) return false;
    functions.free_device_list(list);
    return count > 0;
}

Adapter soft(const std::string& why) {
    const std::string library = soft_library().string();
    return {Functions(library), true, library, why};
}

}  // namespace

Functions::Functions(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw IoError("cannot load " + library + ": " + dlerror());
    find(handle, "ibv_get_device_list", get_device_list);
    find(handle, "ibv_free_device_list", free_device_list);
    find(handle, "ibv_get_device_name", get_device_name);
    find(handle, "ibv_open_device", open_device);
    find(handle, "ibv_close_device", close_device);
    find(handle, "ibv_query_device", query_device);
    find(handle, "ibv_query_port", query_port);
    find(handle, "ibv_query_gid", query_gid);
    find(handle, "ibv_alloc_pd", alloc_pd);
    find(handle, "ibv_dealloc_pd", dealloc_pd);
    find(handle, "ibv_reg_mr_iova2", reg_mr);
    find(handle, "ibv_dereg_mr", dereg_mr);
    find(handle, "ibv_create_comp_channel", create_comp_channel);
    find(handle, "ibv_destroy_comp_channel", destroy_comp_channel);
    find(handle, "ibv_create_cq", create_cq);
    find(handle, "ibv_destroy_cq", destroy_cq);
    find(handle, "ibv_get_cq_event", get_cq_event);
    find(handle, "ibv_ack_cq_events", ack_cq_events);
    find(handle, "ibv_create_srq", create_srq);
    find(handle, "ibv_destroy_srq", destroy_srq);
    find(handle, "ibv_create_qp", create_qp);
    find(handle, "ibv_modify_qp", modify_qp);
    find(handle, "ibv_destroy_qp", destroy_qp);
    find(handle, "ibv_create_ah", create_ah);
    find(handle, "ibv_destroy_ah", destroy_ah);
    find(handle, "ibv_attach_mcast", attach_mcast);
    find(handle, "ibv_detach_mcast", detach_mcast);
    find(handle, "ibv_wc_status_str", wc_status_str);
    lend = reinterpret_cast<decltype(lend)>(dlsym(handle, "loom_lend"));
    take_back = reinterpret_cast<decltype(take_back)>(dlsym(handle, "loom_take_back"));
    if (lend == nullptr || take_back == nullptr) lend = nullptr, take_back = nullptr;
    wait = reinterpret_cast<decltype(wait)>(dlsym(handle, "loom_wait"));
    hush = reinterpret_cast<decltype(hush)>(dlsym(handle, "loom_hush"));
    if (wait == nullptr || hush == nullptr) wait = nullptr, hush = nullptr;
    map = reinterpret_cast<decltype(map)>(dlsym(handle, "loom_map"));
    unmap = reinterpret_cast<decltype(unmap)>(dlsym(handle, "loom_unmap"));
    if (map == nullptr || unmap == nullptr) map = nullptr, unmap = nullptr;
    if (lend != nullptr) past_caches = LOOM_SEND_PAST_CACHES;
}

Adapter choose_adapter(const std::string& how, const std::string& system_library) {
    if (how == "soft") return soft("LOOM_HCA=soft");
    if (how == "system") return {Functions(system_library), false, system_library, "LOOM_HCA=system"};
    if (how != "auto") throw UsageError("LOOM_HCA='" + how + "': expected auto, system or soft");
    try {
        const Functions functions(system_library);
        if (lists_devices(functions)) return {functions, false, system_library, "the system's library lists a device"};
    } catch (const IoError&) {
        return soft("the system has no libibverbs");
    }
    return soft("the system's library lists no device");
}

const Adapter& adapter() {
    static const Adapter chosen = [] {
        return choose_adapter(settings::read(Setting::hca).value_or("auto"), "libibverbs.so.1");
    }();
    return chosen;
}

fs::path soft_library() {
    if (const auto given = settings::read(Setting::verbs_library)) {
        if (!fs::exists(*given)) throw UsageError("LOOM_VERBS_LIBRARY='" + *given + "': there is no such file");
        return fs::absolute(*given);
    }
    const fs::path name = "libloom-verbs.so";
    std::vector<fs::path> places;
    if (const fs::path folder = own_folder(); !folder.empty())
        places = {folder / name, folder / "lib" / name, folder / "../lib" / name, folder / "../../lib" / name};
    for (const fs::path& folder : linker_folders()) places.push_back(folder / name);
    places.push_back(fs::path(LOOM_LIBRARY_FOLDER) / name);
    if (const auto folder = settings::read(Setting::libraries)) places.push_back(fs::path(*folder) / name);
    std::error_code gone;
    for (const fs::path& place : places)
        if (fs::exists(place, gone)) return fs::canonical(place);
    std::string all;
    for (const fs::path& place : places) all += (all.empty() ? "" : ", ") + place.lexically_normal().string();
    throw UsageError("cannot find libloom-verbs.so (looked for " + all + "); build it, or set LOOM_VERBS_LIBRARY");
}

}  // namespace loom::verbs
