#pragma once

#include "loom/transport/transport.hpp"

namespace loom::conformance {

void puts(transport::Transport&);
void puts_with_notification(transport::Transport&);
void puts_among_messages(transport::Transport&);
void puts_behind_notifications(transport::Transport&);
void every_value(transport::Transport&);
void gets(transport::Transport&);
void atomics(transport::Transport&);
void mapped_memory(transport::Transport&);
void memory_to_share(transport::Transport&);
void sleeping(transport::Transport&);
void who_is_where(transport::Transport&);

}  // namespace loom::conformance
