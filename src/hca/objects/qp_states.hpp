// Which changes of a queue pair's state are legal, and which attributes each needs and allows: the table of the
// InfiniBand specification (volume 1, chapters 10 and 11).
#pragma once

#include <infiniband/verbs.h>

namespace loom::hca {

struct Transition {
    bool legal = false;
    int required = 0, optional = 0;  // ibv_qp_attr_mask bits besides IBV_QP_STATE and IBV_QP_CUR_STATE
};

Transition transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to);

}  // namespace loom::hca
