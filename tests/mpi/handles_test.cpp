#include "mpi/handles.hpp"

#include <gtest/gtest.h>

#include <map>

#include "loom/base/random.hpp"

namespace {

using loom::mpi::Handles;

TEST(Handles, AreWhatAMapWouldSay) {
    loom::Random random(7);
    Handles<int> handles;
    std::map<std::uint64_t, int*> reference;
    std::vector<int> values(50);

    for (int step = 0; step < 20000; ++step) {
        const std::uint64_t key = 64 * random.below(300);  // like pointers: low bits are zero
        if (random.below(2) == 0) {
            int* value = &values[random.below(50)];
            handles.put(key, value);
            reference[key] = value;
        } else {
            handles.remove(key);
            reference.erase(key);
        }
        const std::uint64_t asked = 64 * random.below(300);
        const auto found = reference.find(asked);
        ASSERT_EQ(handles.find(asked), found == reference.end() ? nullptr : found->second) << "step " << step;
    }

    EXPECT_EQ(handles.size(), reference.size());
}

}  // namespace
