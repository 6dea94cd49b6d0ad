// Asynchronous events: which object each is about.
#pragma once

#include "hca/objects/objects.hpp"

namespace loom::hca {

[[nodiscard]] ibv_async_event make_event(ibv_event_type type, void* element);
// How often the program was given events about the same object, and gave them back. Null: it is about the port.
[[nodiscard]] EventCounts* counts_of(const ibv_async_event& event);
// Takes back what the program has not read yet of events about this object, which is about to go.
void withdraw_events(Context& context, const void* element);

// Takes one count off an eventfd that was given for an event which is withdrawn.
void take_event(int fd);

}  // namespace loom::hca
