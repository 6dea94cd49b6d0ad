#include "loom/verbs/functions.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "loom/base/error.hpp"
#include "support/variable.hpp"
#include "verbs/choosing.hpp"

namespace loom::verbs {
namespace {

using test::Variable;

namespace fs = std::filesystem;

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
    const Functions f("libibverbs.so.1");
    EXPECT_EQ(f.lend, nullptr);
    EXPECT_EQ(f.past_caches, 0u);
}

TEST(Functions, are_the_librarys_own_each_under_its_name) {
    const std::string library = soft_library().string();
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto named = [&](const char* name) { return dlsym(handle, name); };
    const auto address = [](auto function) { return reinterpret_cast<void*>(function); };

    const Functions f(library);

    EXPECT_EQ(f.past_caches, 1u << 30);
    EXPECT_EQ(address(f.get_device_list), named("ibv_get_device_list"));
    EXPECT_EQ(address(f.free_device_list), named("ibv_free_device_list"));
    EXPECT_EQ(address(f.get_device_name), named("ibv_get_device_name"));
    EXPECT_EQ(address(f.open_device), named("ibv_open_device"));
    EXPECT_EQ(address(f.close_device), named("ibv_close_device"));
    EXPECT_EQ(address(f.query_device), named("ibv_query_device"));
    EXPECT_EQ(address(f.query_port), named("ibv_query_port"));
    EXPECT_EQ(address(f.query_gid), named("ibv_query_gid"));
    EXPECT_EQ(address(f.alloc_pd), named("ibv_alloc_pd"));
    EXPECT_EQ(address(f.dealloc_pd), named("ibv_dealloc_pd"));
    EXPECT_EQ(address(f.reg_mr), named("ibv_reg_mr_iova2"));
    EXPECT_EQ(address(f.dereg_mr), named("ibv_dereg_mr"));
    EXPECT_EQ(address(f.create_comp_channel), named("ibv_create_comp_channel"));
    EXPECT_EQ(address(f.destroy_comp_channel), named("ibv_destroy_comp_channel"));
    EXPECT_EQ(address(f.create_cq), named("ibv_create_cq"));
    EXPECT_EQ(address(f.destroy_cq), named("ibv_destroy_cq"));
    EXPECT_EQ(address(f.get_cq_event), named("ibv_get_cq_event"));
    EXPECT_EQ(address(f.ack_cq_events), named("ibv_ack_cq_events"));
    EXPECT_EQ(address(f.create_srq), named("ibv_create_srq"));
    EXPECT_EQ(address(f.destroy_srq), named("ibv_destroy_srq"));
    EXPECT_EQ(address(f.create_qp), named("ibv_create_qp"));
    EXPECT_EQ(address(f.modify_qp), named("ibv_modify_qp"));
    EXPECT_EQ(address(f.destroy_qp), named("ibv_destroy_qp"));
    EXPECT_EQ(address(f.create_ah), named("ibv_create_ah"));
    EXPECT_EQ(address(f.destroy_ah), named("ibv_destroy_ah"));
    EXPECT_EQ(address(f.attach_mcast), named("ibv_attach_mcast"));
    EXPECT_EQ(address(f.detach_mcast), named("ibv_detach_mcast"));
    EXPECT_EQ(address(f.wc_status_str), named("ibv_wc_status_str"));
    dlclose(handle);
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

// The software HCA's library lists a device, so it can stand for the system's on a machine with an adapter.
TEST(Adapter, is_the_systems_where_that_lists_a_device) {
    const std::string with_device = soft_library().string();

    const Adapter chosen = choose_adapter("auto", with_device);

    EXPECT_FALSE(chosen.soft);
    EXPECT_EQ(chosen.library, with_device);
    EXPECT_EQ(chosen.why, "the system's library lists a device");
}

TEST(Adapter, is_the_software_one_where_the_system_has_no_library_or_a_wrong_one) {
    for (const char* library : {"libnowhere.so", "libm.so.6"}) {
        const Adapter chosen = choose_adapter("auto", library);

        EXPECT_TRUE(chosen.soft);
        EXPECT_EQ(chosen.library, soft_library().string());
        EXPECT_EQ(chosen.why, "the system has no libibverbs");
    }
}

TEST(Adapter, is_the_one_that_was_asked_for) {
    const std::string with_device = soft_library().string();

    const Adapter soft = choose_adapter("soft", with_device);
    const Adapter system = choose_adapter("system", "libibverbs.so.1");

    EXPECT_TRUE(soft.soft);
    EXPECT_EQ(soft.why, "LOOM_HCA=soft");
    EXPECT_FALSE(system.soft);
    EXPECT_EQ(system.library, "libibverbs.so.1");
    EXPECT_THROW((void)choose_adapter("system", "libnowhere.so"), IoError);
    EXPECT_THROW((void)choose_adapter("hard", with_device), UsageError);
}

TEST(SoftLibrary, is_the_one_that_was_given) {
    const fs::path usual = soft_library();
    const fs::path link = fs::temp_directory_path() / ("loom-verbs-" + std::to_string(getpid()) + ".so");
    fs::create_symlink(usual, link);
    {
        const Variable given("LOOM_VERBS_LIBRARY", link);
        EXPECT_EQ(soft_library(), link);
        EXPECT_EQ(choose_adapter("soft", "libibverbs.so.1").library, link);
    }
    fs::remove(link);
    {
        const Variable gone("LOOM_VERBS_LIBRARY", link);
        EXPECT_THROW((void)soft_library(), UsageError);
    }
    const Variable none("LOOM_VERBS_LIBRARY", "");
    EXPECT_EQ(soft_library(), usual);
}

}  // namespace
}  // namespace loom::verbs
