#pragma once

#include "loom/transport/transport.hpp"

namespace loom::conformance {

void order_of_one_tag(transport::Transport&);
void tags_in_reverse(transport::Transport&);
void every_size(transport::Transport&);
void to_itself(transport::Transport&);
void many_in_flight(transport::Transport&);
void other_lengths(transport::Transport&);
void started_inside_finished(transport::Transport&);
void random_traffic(transport::Transport&);
void early_messages_are_bounded(transport::Transport&);

}  // namespace loom::conformance
