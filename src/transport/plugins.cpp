#include "transport/plugins.hpp"

#include <dlfcn.h>

#include <cstring>

#include "loom/base/settings.hpp"
#include "loom/transport/open.hpp"
#include "loom/transport/plugin.hpp"
#include "loom/verbs/functions.hpp"
#include "transport/bootstrap.hpp"

namespace loom::transport {

namespace {

namespace fs = std::filesystem;

fs::path plugin_file(const std::string& name) {
    const fs::path file = "libloom-" + name + ".so";
    if (const auto folder = settings::read(Setting::plugins)) return fs::path(*folder) / file;
    try {
        return verbs::soft_library().parent_path() / file;
    } catch (const Error&) {
        throw BootstrapError("cannot find " + file.string() + ": set LOOM_PLUGINS to its folder");
    }
}

// Stays loaded. MPI libraries load parts of their own that look for their symbols everywhere: hence global.
void* load(const std::string& name) {
    const std::string file = plugin_file(name).string();
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (handle == nullptr) throw BootstrapError("cannot load " + file + ": " + dlerror());
    const auto version = reinterpret_cast<plugin::Version*>(dlsym(handle, plugin::version_name));
    if (version == nullptr || std::strcmp(version(), plugin::version) != 0)
        throw BootstrapError(file + " is not of this version of Loomband");
    return handle;
}

template <class Function>
Function* find(void* handle, const char* function, const std::string& name) {
    auto* const found = reinterpret_cast<Function*>(dlsym(handle, function));
    if (found == nullptr) throw BootstrapError("libloom-" + name + ".so has no " + function);
    return found;
}

plugin::Settings settings() {
    plugin::Settings settings;
    settings.bootstrap_timeout = bootstrap_timeout();
    return settings;
}

bool is_loaded(const char* library) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
}

}  // namespace

std::unique_ptr<Bootstrap> plugged_bootstrap(const std::string& name) {
    auto* const open = find<plugin::OpenBootstrap>(load(name), plugin::open_bootstrap_name, name);
    return std::unique_ptr<Bootstrap>(open(settings()));
}

std::unique_ptr<Transport> plugged_transport(const std::string& name, Bootstrap& bootstrap) {
    auto* const open = find<plugin::OpenTransport>(load(name), plugin::open_transport_name, name);
    return std::unique_ptr<Transport>(open(bootstrap, settings()));
}

std::string mpi_of_this_process() {
    if (is_loaded("libmpi.so.40")) return "openmpi";
    if (is_loaded("libmpich.so.12")) return "mpich";
    if (settings::variable("OMPI_COMM_WORLD_RANK")) return "openmpi";
    if (settings::variable("PMI_RANK")) return "mpich";
    if (settings::variable("PMIX_RANK")) return "openmpi";
    return {};
}

std::unique_ptr<Transport> open_mpi(Bootstrap& bootstrap) {
    const std::string library = mpi_of_this_process();
    if (library.empty())
        throw Error("the MPI transport needs a process that mpirun started; neither Open MPI's nor MPICH's did");
    return plugged_transport("transport-" + library, bootstrap);
}

}  // namespace loom::transport
