// What the ends find out about each other when a session opens, and what follows from it.
#pragma once

#include <string>

#include "loom/session/session.hpp"
#include "session/control/message.hpp"
#include "session/control/socket.hpp"
#include "session/core.hpp"

namespace loom::session {

// A name of this host (and network namespace) that no other has, and a number of this process.
[[nodiscard]] std::string host_name();
[[nodiscard]] std::uint64_t process_number();

// What this end says of itself, without sockets and queue pairs.
[[nodiscard]] Hello hello_of(const Options& options);

[[nodiscard]] Place place_of(const Hello& own, const Hello& peer);

// What both ends compute alike from both greetings.
[[nodiscard]] Start decide(bool opener, const Hello& own, const Hello& peer);

// Greets, and where both have a key shows it and looks at the other's. Throws Error when there must not be a session.
[[nodiscard]] Hello greet(ControlSocket& control, bool opener, const Hello& own, const std::string& key, Time deadline);

}  // namespace loom::session
