// Names of node types, states, events and completion statuses, as programs print them.
#include <infiniband/verbs.h>

extern "C" const char* ibv_node_type_str(enum ibv_node_type node_type) {
    return node_type == IBV_NODE_CA ? "InfiniBand channel adapter" : "unknown";
}
