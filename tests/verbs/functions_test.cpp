#include "loom/verbs/functions.hpp"

#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::verbs {
namespace {

TEST(Functions, of_the_software_hca_open_a_device) {
    const Functions functions(soft_library().string());

    int count = 0;
    ibv_device** list = functions.get_device_list(&count);

    ASSERT_EQ(count, 1);
    EXPECT_STREQ(functions.get_device_name(list[0]), "loom0");
    ibv_context* context = functions.open_device(list[0]);
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(functions.close_device(context), 0);
    functions.free_device_list(list);
}

TEST(Functions, of_the_system_are_all_there) {
    EXPECT_NO_THROW(Functions("libibverbs.so.1"));
}

TEST(Functions, of_another_library_are_missed_by_name) {
    try {
        const Functions functions("libm.so.6");
        FAIL() << "libm has no verbs";
    } catch (const IoError& error) {
        EXPECT_STREQ(error.what(), "no ibv_get_device_list in the verbs library");
    }
}

TEST(Functions, of_a_library_that_is_not_there_are_an_error) {
    EXPECT_THROW(Functions("libnowhere.so"), IoError);
}

TEST(Adapter, is_the_software_one_where_the_system_lists_none_and_says_why) {
    const Adapter& chosen = adapter();

    EXPECT_TRUE(chosen.soft);
    EXPECT_EQ(chosen.why, "the system's library lists no device");
    EXPECT_EQ(chosen.library, soft_library().string());
}

}  // namespace
}  // namespace loom::verbs
