// The tables of dCUDA: the claims follow the measurements. Whole runs are in ./loom test -C Reproduce -L whole.
#ifdef WITH_DCUDA

#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

using Path = DevicePing::Path;

// A device that takes what the paper's parts sum up to, so that a verdict depends on nothing else.
Parts with_ideal_device() {
    Parts parts = standard_parts();
    parts.device_ping = [](const DevicePing& ping) {
        if (ping.path == Path::device) return 0.1 + static_cast<double>(ping.bytes) / 7e3;
        const double payload = ping.bytes == 0 ? 0 : 0.3 + ping.direct_us;
        const double rate = ping.rate == 0 ? 0 : static_cast<double>(ping.bytes) / ping.rate * 1e6;
        return 1.2 + (ping.two_messages ? 0.5 : 0) + 2 * ping.bus_us + payload + ping.wire_us + rate;
    };
    return parts;
}

TEST(Dcuda, TablesHoldOnAnIdealDevice) {
    for (const auto table : {dcuda_5_1, dcuda_5_2, dcuda_5_3, dcuda_5_4}) {
        const Result result = table(with_ideal_device(), quick());

        for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << result.name << ": " << claim.text;
        EXPECT_TRUE(result.holds()) << result.name;
    }
}

TEST(Dcuda, Table52HoldsWithOurQueues) {
    const Result result = dcuda_5_2(standard_parts(), quick());

    EXPECT_TRUE(result.holds());
    EXPECT_EQ(result.rows.size(), 6u);
}

TEST(Dcuda, TablesFailWhereOneMessageCostsMoreThanTwo) {
    Parts parts = with_ideal_device();
    parts.device_ping = [ping = parts.device_ping](const DevicePing& asked) {
        DevicePing other = asked;
        other.two_messages = !asked.two_messages;
        return ping(other);
    };

    EXPECT_FALSE(dcuda_5_1(parts, quick()).holds());
    EXPECT_FALSE(dcuda_5_3(parts, quick()).holds());
}

TEST(Dcuda, Table51FailsWhereTheHostServesTheDeviceItself) {
    Parts parts = with_ideal_device();
    parts.device_ping = [ping = parts.device_ping](const DevicePing& asked) {
        DevicePing other = asked;
        other.path = Path::peer;
        return ping(other);
    };

    EXPECT_FALSE(dcuda_5_1(parts, quick()).holds());
}

TEST(Dcuda, Table52FailsWhereQueuesLieOnTheOtherSide) {
    Parts parts = standard_parts();
    parts.device_queue = [queue = parts.device_queue](const DeviceQueue& asked) {
        DeviceQueue other = asked;
        other.ping_on_device = !asked.ping_on_device;
        other.pong_on_device = !asked.pong_on_device;
        return queue(other);
    };

    EXPECT_FALSE(dcuda_5_2(parts, quick()).holds());
}

TEST(Dcuda, Table54FailsWithoutALimitOfTheBus) {
    Parts parts = with_ideal_device();
    parts.device_ping = [ping = parts.device_ping](const DevicePing& asked) {
        DevicePing other = asked;
        if (other.rate > 0) other.rate = 100e9;
        return ping(other);
    };

    EXPECT_FALSE(dcuda_5_4(parts, quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce

#endif
