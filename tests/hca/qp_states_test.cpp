#include "hca/objects/qp_states.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace loom::hca {
namespace {

// The arrows of the specification's diagram; into RESET and ERR one comes from everywhere.
TEST(QpStates, HaveTheTransitionsOfTheSpecificationAndNoOthers) {
    constexpr ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                       IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
    const std::set<std::pair<ibv_qp_state, ibv_qp_state>> arrows{
        {IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RTR},
        {IBV_QPS_RTR, IBV_QPS_RTS},    {IBV_QPS_RTS, IBV_QPS_RTS},   {IBV_QPS_RTS, IBV_QPS_SQD},
        {IBV_QPS_SQD, IBV_QPS_RTS},    {IBV_QPS_SQD, IBV_QPS_SQD},
    };
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
        for (const ibv_qp_state from : states)
            for (const ibv_qp_state to : states) {
                const bool repaired = from == IBV_QPS_SQE && to == IBV_QPS_RTS && type != IBV_QPT_RC;
                const bool expected =
                    to == IBV_QPS_RESET || to == IBV_QPS_ERR || repaired || arrows.contains({from, to});

                EXPECT_EQ(transition(type, from, to).legal, expected) << type << ": " << from << " to " << to;
            }
}

}  // namespace
}  // namespace loom::hca
