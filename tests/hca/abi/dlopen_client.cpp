// A client that loads verbs itself, in the way of NCCL: the soname, and each function by name and version. Its other
// library lies where only its own RPATH leads.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cstdio>

namespace {

template <class Function>
Function find(void* library, const char* name, const char* version, Function) {
    auto* const function = reinterpret_cast<Function>(dlvsym(library, name, version));
    if (function == nullptr) std::printf("no %s of %s\n", name, version);
    return function;
}

}  // namespace

int main() {
    void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (library == nullptr) return std::printf("%s\n", dlerror()), 1;
    const auto get_list = find(library, "ibv_get_device_list", "IBVERBS_1.1", ibv_get_device_list);
    const auto free_list = find(library, "ibv_free_device_list", "IBVERBS_1.1", ibv_free_device_list);
    const auto name_of = find(library, "ibv_get_device_name", "IBVERBS_1.1", ibv_get_device_name);
    const auto reg_mr = find(library, "ibv_reg_mr_iova2", "IBVERBS_1.8", ibv_reg_mr_iova2);
    const auto query_ece = find(library, "ibv_query_ece", "IBVERBS_1.10", ibv_query_ece);
    if (!get_list || !free_list || !name_of || !reg_mr || !query_ece) return 1;
    int count = 0;
    ibv_device** const list = get_list(&count);
    for (int i = 0; i < count; ++i) std::printf("%s\n", name_of(list[i]));
    if (list != nullptr) free_list(list);

    void* const neighbour = dlopen("libloom-test-neighbour.so", RTLD_NOW);
    std::printf("neighbour %s\n", neighbour != nullptr ? "found" : "not found");
    return 0;
}
