// The state machine: every transition of every transport, with every attribute that it must, may and must not have.
#include <cstdio>
#include <set>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

struct Transition {
    ibv_qp_state from, to;
    int required = 0;
    int optional = 0;
};

// The tables of chapter 10 of the InfiniBand specification, in attributes of the verbs ABI.
std::vector<Transition> transitions(ibv_qp_type type) {
    constexpr int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    constexpr int migration = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
    const bool rc = type == IBV_QPT_RC;
    const bool ud = type == IBV_QPT_UD;
    const int own = ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    const int running = IBV_QP_CUR_STATE | own | (ud ? 0 : migration) | (rc ? IBV_QP_MIN_RNR_TIMER : 0);
    std::vector<Transition> table = {
        {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | own, 0},
        {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | own},
        {IBV_QPS_INIT, IBV_QPS_RTR,
         ud   ? 0
         : rc ? connected | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
              : connected,
         IBV_QP_PKEY_INDEX | own | (ud ? 0 : IBV_QP_ALT_PATH)},
        {IBV_QPS_RTR, IBV_QPS_RTS,
         IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0),
         running},
        {IBV_QPS_RTS, IBV_QPS_RTS, 0, running},
        {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPS_SQD, IBV_QPS_RTS, 0, running},
        {IBV_QPS_SQD, IBV_QPS_SQD, 0,
         IBV_QP_PKEY_INDEX | own | (ud ? 0 : IBV_QP_AV | migration) |
             (rc ? IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
                 : 0)},
    };
    if (!rc) table.push_back({IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | own});
    for (const ibv_qp_state from :
         {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
        table.push_back({from, IBV_QPS_RESET});
        if (from != IBV_QPS_RESET) table.push_back({from, IBV_QPS_ERR});
    }
    return table;
}

class States : public Bed, public testing::WithParamInterface<ibv_qp_type> {
protected:
    // A queue pair that has come to `state` the ordinary way, joined to itself.
    Node in(ibv_qp_state state) {
        NodeOptions options;
        options.type = GetParam();
        Node result = node(options);
        if (state == IBV_QPS_RESET) return result;
        EXPECT_EQ(to_init(result, GetParam()), 0);
        if (state == IBV_QPS_INIT) return result;
        if (state == IBV_QPS_ERR) {
            EXPECT_EQ(to_state(result, IBV_QPS_ERR), 0);
            return result;
        }
        EXPECT_EQ(to_rtr(result, GetParam(), path(), result.qp->qp_num, result.psn), 0);
        if (state == IBV_QPS_RTR) return result;
        EXPECT_EQ(to_rts(result, GetParam()), 0);
        if (state == IBV_QPS_SQD) {
            EXPECT_EQ(to_state(result, IBV_QPS_SQD), 0);
        }
        if (state == IBV_QPS_SQE) break_send_queue(result);
        return result;
    }

    // A send whose key is nobody's stops the send queue alone.
    void break_send_queue(const Node& node) {
        const Buffer memory = buffer(16);
        const Ah ah = address_handle();
        Work work(IBV_WR_SEND, 1, {{memory.address(), 16, memory.mr->lkey ^ 0x5500}});
        if (GetParam() == IBV_QPT_UD) work.datagram(ah.get(), node.qp->qp_num);
        ASSERT_EQ(work.post(node), 0);
        EXPECT_STATUS(next(node.send_cq), IBV_WC_LOC_PROT_ERR);
    }

    // Sensible values for everything that may be asked for.
    ibv_qp_attr sensible(const Node& node, ibv_qp_state from, ibv_qp_state to) const {
        ibv_qp_attr attributes{};
        attributes.qp_state = to;
        attributes.cur_qp_state = from;
        attributes.port_num = port_number;
        attributes.qkey = qkey;
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        attributes.ah_attr = path();
        attributes.path_mtu = IBV_MTU_1024;
        attributes.dest_qp_num = node.qp->qp_num;
        attributes.rq_psn = node.psn;
        attributes.sq_psn = node.psn;
        attributes.max_dest_rd_atomic = 1;
        attributes.max_rd_atomic = 1;
        attributes.min_rnr_timer = 1;
        attributes.timeout = 10;
        attributes.retry_cnt = 3;
        attributes.rnr_retry = 3;
        return attributes;
    }

    // The states that a queue pair of this transport can be in.
    [[nodiscard]] std::vector<ibv_qp_state> reachable() const {
        std::vector<ibv_qp_state> states = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
                                            IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
        if (GetParam() != IBV_QPT_RC) states.push_back(IBV_QPS_SQE);
        return states;
    }

    static std::string words(ibv_qp_state from, ibv_qp_state to, int mask) {
        static constexpr const char* names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
        char text[64];
        std::snprintf(text, sizeof text, "%s to %s with 0x%x", names[from], names[to], unsigned(mask));
        return text;
    }
};

TEST_P(States, OfANewQueuePairIsReset) {
    const Node fresh = in(IBV_QPS_RESET);

    EXPECT_EQ(fresh.state(), IBV_QPS_RESET);
    EXPECT_EQ(fresh.qp->state, IBV_QPS_RESET);
}

TEST_P(States, TakeEveryLegalTransitionWithItsRequiredAttributes) {
    for (const Transition& legal : transitions(GetParam())) {
        if (legal.from == IBV_QPS_SQE && GetParam() == IBV_QPT_RC) continue;
        const Node node = in(legal.from);
        ibv_qp_attr attributes = sensible(node, legal.from, legal.to);

        const int result = ibv_modify_qp(node.qp.get(), &attributes, IBV_QP_STATE | legal.required);

        EXPECT_EQ(result, 0) << words(legal.from, legal.to, legal.required);
        EXPECT_EQ(node.state(), legal.to) << words(legal.from, legal.to, legal.required);
        EXPECT_EQ(node.qp->state, legal.to) << words(legal.from, legal.to, legal.required);
    }
}

TEST_P(States, RefuseATransitionThatLacksARequiredAttribute) {
    for (const Transition& legal : transitions(GetParam())) {
        for (int bit = 1; bit < (1 << 21); bit <<= 1) {
            if ((legal.required & bit) == 0) continue;
            const Node node = in(legal.from);
            ibv_qp_attr attributes = sensible(node, legal.from, legal.to);
            const int mask = IBV_QP_STATE | (legal.required & ~bit);

            const int result = ibv_modify_qp(node.qp.get(), &attributes, mask);

            EXPECT_EQ(result, EINVAL) << words(legal.from, legal.to, mask);
            EXPECT_EQ(node.state(), legal.from) << words(legal.from, legal.to, mask);
        }
    }
}

TEST_P(States, TakeEachOptionalAttributeAndRefuseEveryOther) {
    // What an adapter without path migration or rate limits may refuse although the table has it.
    constexpr int features = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT;
    for (const Transition& legal : transitions(GetParam())) {
        if (legal.from == IBV_QPS_SQE && GetParam() == IBV_QPT_RC) continue;
        for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
            if (((legal.required | features) & bit) != 0) continue;
            const Node node = in(legal.from);
            ibv_qp_attr attributes = sensible(node, legal.from, legal.to);
            const int mask = IBV_QP_STATE | legal.required | bit;
            const bool allowed = (legal.optional & bit) != 0;

            const int result = ibv_modify_qp(node.qp.get(), &attributes, mask);

            EXPECT_EQ(result, allowed ? 0 : EINVAL) << words(legal.from, legal.to, mask);
            EXPECT_EQ(node.state(), allowed ? legal.to : legal.from) << words(legal.from, legal.to, mask);
        }
    }
}

TEST_P(States, RefuseEveryTransitionThatIsNotInTheTable) {
    std::set<std::pair<ibv_qp_state, ibv_qp_state>> legal;
    for (const Transition& transition : transitions(GetParam())) legal.insert({transition.from, transition.to});
    for (const ibv_qp_state from : reachable()) {
        for (const ibv_qp_state to :
             {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
            if (legal.contains({from, to})) continue;
            if (from == IBV_QPS_RESET && to == IBV_QPS_ERR) continue;  // harmless, and adapters differ
            const Node node = in(from);
            ibv_qp_attr attributes = sensible(node, from, to);

            const int result = ibv_modify_qp(node.qp.get(), &attributes, IBV_QP_STATE);

            EXPECT_EQ(result, EINVAL) << words(from, to, IBV_QP_STATE);
            EXPECT_EQ(node.state(), from) << words(from, to, IBV_QP_STATE);
        }
    }
}

TEST_P(States, RefuseACurrentStateThatIsNotTheCurrentOne) {
    const Node node = in(IBV_QPS_RTS);
    ibv_qp_attr attributes = sensible(node, IBV_QPS_SQD, IBV_QPS_RTS);

    const int result = ibv_modify_qp(node.qp.get(), &attributes, IBV_QP_STATE | IBV_QP_CUR_STATE);

    EXPECT_EQ(result, EINVAL);
    EXPECT_EQ(node.state(), IBV_QPS_RTS);
}

TEST_P(States, WorkAgainAfterAReset) {
    Node node = in(IBV_QPS_ERR);
    const Buffer memory = buffer(64);
    ASSERT_EQ(to_state(node, IBV_QPS_RESET), 0);

    ASSERT_EQ(to_init(node, GetParam()), 0);
    ASSERT_EQ(to_rtr(node, GetParam(), path(), node.qp->qp_num, node.psn), 0);
    ASSERT_EQ(to_rts(node, GetParam()), 0);
    const Ah ah = address_handle();
    ASSERT_EQ(post_receive(node, 7, {memory.all()}), 0);
    Work work(IBV_WR_SEND, 8, {memory.piece(0, 4)});
    if (GetParam() == IBV_QPT_UD) work.datagram(ah.get(), node.qp->qp_num);
    ASSERT_EQ(work.post(node), 0);

    EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(node.recv_cq), IBV_WC_SUCCESS);
}

TEST_P(States, RefuseValuesOutOfRange) {
    struct Wrong {
        const char* what;
        ibv_qp_state from, to;
        int bit;
        void (*spoil)(ibv_qp_attr&, const ibv_device_attr&, const ibv_port_attr&);
    };
    using A = ibv_qp_attr;
    using D = ibv_device_attr;
    using P = ibv_port_attr;
    const std::vector<Wrong> cases = {
        {"port 0", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, [](A& a, const D&, const P&) { a.port_num = 0; }},
        {"a port too many", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT,
         [](A& a, const D& d, const P&) { a.port_num = static_cast<std::uint8_t>(d.phys_port_cnt + 1); }},
        {"P_Key index", IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX,
         [](A& a, const D&, const P& p) { a.pkey_index = p.pkey_tbl_len; }},
        {"path MTU above the port's", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU,
         [](A& a, const D&, const P& p) { a.path_mtu = static_cast<ibv_mtu>(p.max_mtu + 1); }},
        {"path MTU 0", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU,
         [](A& a, const D&, const P&) { a.path_mtu = static_cast<ibv_mtu>(0); }},
        {"port of the path", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV,
         [](A& a, const D& d, const P&) { a.ah_attr.port_num = static_cast<std::uint8_t>(d.phys_port_cnt + 1); }},
        {"source GID index", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV,
         [](A& a, const D&, const P& p) {
             a.ah_attr.is_global = 1;
             a.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(p.gid_tbl_len);
         }},
        {"reads served", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_MAX_DEST_RD_ATOMIC,
         [](A& a, const D& d, const P&) { a.max_dest_rd_atomic = static_cast<std::uint8_t>(d.max_qp_rd_atom + 1); }},
        {"RNR timer", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_MIN_RNR_TIMER,
         [](A& a, const D&, const P&) { a.min_rnr_timer = 32; }},
        {"reads issued", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_MAX_QP_RD_ATOMIC,
         [](A& a, const D& d, const P&) { a.max_rd_atomic = static_cast<std::uint8_t>(d.max_qp_init_rd_atom + 1); }},
        {"timeout", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT, [](A& a, const D&, const P&) { a.timeout = 32; }},
        {"retries", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RETRY_CNT, [](A& a, const D&, const P&) { a.retry_cnt = 8; }},
        {"RNR retries", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_RNR_RETRY, [](A& a, const D&, const P&) { a.rnr_retry = 8; }},
    };
    const auto table = transitions(GetParam());
    std::size_t tried = 0;
    for (const Wrong& wrong : cases)
        for (const Transition& legal : table) {
            if (legal.from != wrong.from || legal.to != wrong.to || (legal.required & wrong.bit) == 0) continue;
            const Node node = in(legal.from);
            ibv_qp_attr attributes = sensible(node, legal.from, legal.to);
            wrong.spoil(attributes, device, port);

            const int result = ibv_modify_qp(node.qp.get(), &attributes, IBV_QP_STATE | legal.required);

            EXPECT_EQ(result, EINVAL) << wrong.what;
            EXPECT_EQ(node.state(), legal.from) << wrong.what;
            ++tried;
        }
    EXPECT_GE(tried, 3u);
}

INSTANTIATE_TEST_SUITE_P(Each, States, testing::Values(IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD),
                         [](const auto& tested) { return name(tested.param); });

}  // namespace
}  // namespace loom::conformance
