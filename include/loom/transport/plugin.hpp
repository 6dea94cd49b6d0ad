// What a plug-in and the program that loads it agree on. The classes cross the border, so both must be of one build's
// headers: the version says so.
#pragma once

#include <chrono>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport::plugin {

inline constexpr const char* version = "loomband transport 2";

struct Settings {
    const char* version = plugin::version;
    std::chrono::milliseconds bootstrap_timeout{60'000};
};

// Exported by a plug-in under these names. What they return belongs to the caller; they throw what their C++ namesakes
// throw, and are never unloaded.
using OpenBootstrap = Bootstrap*(const Settings&);
using OpenTransport = Transport*(Bootstrap&, const Settings&);
inline constexpr const char* open_bootstrap_name = "loom_open_bootstrap";
inline constexpr const char* open_transport_name = "loom_open_transport";
inline constexpr const char* version_name = "loom_plugin_version";
using Version = const char*();

}  // namespace loom::transport::plugin
