#include "hca/objects/qp_states.hpp"

namespace loom::hca {

namespace {

constexpr int migration = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;

Transition into_init(ibv_qp_type type, bool first) {
    const int attributes = IBV_QP_PKEY_INDEX | IBV_QP_PORT | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    return first ? Transition{true, attributes, 0} : Transition{true, 0, attributes};
}

Transition into_rtr(ibv_qp_type type) {
    if (type == IBV_QPT_UD) return {true, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
    int required = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (type == IBV_QPT_RC) required |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return {true, required, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX};
}

// What may change while requests are served, without and with a pause of the send queue.
int while_ready(ibv_qp_type type) {
    if (type == IBV_QPT_UD) return IBV_QP_QKEY;
    return IBV_QP_ACCESS_FLAGS | migration | (type == IBV_QPT_RC ? IBV_QP_MIN_RNR_TIMER : 0);
}

Transition into_rts(ibv_qp_type type) {
    int required = IBV_QP_SQ_PSN;
    if (type == IBV_QPT_RC) required |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return {true, required, while_ready(type)};
}

int while_drained(ibv_qp_type type) {
    if (type == IBV_QPT_UD) return IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
    int optional = IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | migration;
    if (type == IBV_QPT_RC)
        optional |= IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return optional;
}

}  // namespace

Transition transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return {true, 0, 0};
    if (from == IBV_QPS_RESET && to == IBV_QPS_INIT) return into_init(type, true);
    if (from == IBV_QPS_INIT && to == IBV_QPS_INIT) return into_init(type, false);
    if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) return into_rtr(type);
    if (from == IBV_QPS_RTR && to == IBV_QPS_RTS) return into_rts(type);
    if (from == IBV_QPS_RTS && to == IBV_QPS_RTS) return {true, 0, while_ready(type) | IBV_QP_RATE_LIMIT};
    if (from == IBV_QPS_RTS && to == IBV_QPS_SQD) return {true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY};
    if (from == IBV_QPS_SQD && to == IBV_QPS_RTS) return {true, 0, while_ready(type)};
    if (from == IBV_QPS_SQD && to == IBV_QPS_SQD) return {true, 0, while_drained(type)};
    if (from == IBV_QPS_SQE && to == IBV_QPS_RTS && type != IBV_QPT_RC)
        return {true, 0, type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS};
    return {};
}

}  // namespace loom::hca
