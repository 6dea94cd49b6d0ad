// The first software HCA, open for a test.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace loom::test {

class OpenDevice : public testing::Test {
protected:
    void SetUp() override {
        list = ibv_get_device_list(nullptr);
        ASSERT_NE(list, nullptr);
        ASSERT_NE(list[0], nullptr);
        context = ibv_open_device(list[0]);
        ASSERT_NE(context, nullptr);
    }
    void TearDown() override {
        if (context != nullptr) {
            EXPECT_EQ(ibv_close_device(context), 0);
        }
        ibv_free_device_list(list);
    }

    ibv_device** list = nullptr;
    ibv_context* context = nullptr;
};

}  // namespace loom::test
