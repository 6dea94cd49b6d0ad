// The texts and numbers that the system's libibverbs gives are what programs and people know: ours must be the same.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace {

// In a namespace of its own, where none of our functions is found instead of its own.
template <class Function>
Function of_system(const char* name, Function) {
    static void* const library = dlmopen(LM_ID_NEWLM, "libibverbs.so.1", RTLD_NOW);
    auto* const function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string("no system function ") + name);
    return function;
}

template <class Enum>
void expect_same_names(const char* name, const char* (*ours)(Enum), int last) {
    const auto theirs = of_system(name, ours);

    for (int value = -1; value <= last; ++value)
        EXPECT_STREQ(ours(static_cast<Enum>(value)), theirs(static_cast<Enum>(value))) << name << ' ' << value;
}

TEST(Names, AreThoseOfLibibverbs) {
    expect_same_names("ibv_node_type_str", ibv_node_type_str, 9);
    expect_same_names("ibv_port_state_str", ibv_port_state_str, 8);
    expect_same_names("ibv_event_type_str", ibv_event_type_str, 24);
    expect_same_names("ibv_wc_status_str", ibv_wc_status_str, 28);
}

TEST(Rates, AreThoseOfLibibverbs) {
    const auto to_multiple = of_system("ibv_rate_to_mult", ibv_rate_to_mult);
    const auto to_mbps = of_system("ibv_rate_to_mbps", ibv_rate_to_mbps);
    const auto of_multiple = of_system("mult_to_ibv_rate", mult_to_ibv_rate);
    const auto of_mbps = of_system("mbps_to_ibv_rate", mbps_to_ibv_rate);

    for (int rate = 0; rate < 30; ++rate) {
        const auto value = static_cast<ibv_rate>(rate);
        EXPECT_EQ(ibv_rate_to_mult(value), to_multiple(value)) << rate;
        EXPECT_EQ(ibv_rate_to_mbps(value), to_mbps(value)) << rate;
        EXPECT_EQ(mbps_to_ibv_rate(ibv_rate_to_mbps(value)), of_mbps(to_mbps(value))) << rate;
    }
    for (int multiple = 0; multiple < 500; ++multiple)
        EXPECT_EQ(mult_to_ibv_rate(multiple), of_multiple(multiple)) << multiple;
}

}  // namespace
