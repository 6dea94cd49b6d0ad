// Run it with `loom run -n 4`: each rank owns a part of a rod and its neighbours' edge cells. After every step it puts
// its own edges into their memory with a notification, and waits for theirs: no other synchronisation, no receive.
#include <array>
#include <cstdio>

#include "loom/base/error.hpp"
#include "loom/window/window.hpp"

using namespace loom;
using namespace loom::window;

constexpr std::size_t cells = 16;  // of each rank, and one of each neighbour
constexpr int steps = 200;

int main() {
    try {
        const auto world = World::open();
        const std::uint32_t me = world->rank().value, last = world->size() - 1;
        // Two rods, old and new: a neighbour may be a step ahead, never two.
        using Rod = std::array<double, cells + 2>;
        const std::span<std::byte> memory = world->allocate(2 * sizeof(Rod));
        auto* const rods = reinterpret_cast<Rod*>(memory.data());
        Window window = world->team().create(memory);
        if (me == 0) rods[0][0] = rods[1][0] = 100;  // one end is hot, the other cold

        for (int step = 0; step < steps; ++step) {
            const Rod& now = rods[step % 2];
            Rod& next = rods[(step + 1) % 2];
            for (std::size_t i = 1; i <= cells; ++i) next[i] = now[i] + 0.4 * (now[i - 1] - 2 * now[i] + now[i + 1]);
            const std::uint64_t rod = static_cast<std::uint64_t>((step + 1) % 2) * sizeof(Rod);
            const Tag tag{static_cast<std::uint32_t>(step % 256)};
            if (me > 0) window.put_value_notify(Rank{me - 1}, rod + (cells + 1) * sizeof(double), next[1], tag);
            if (me < last) window.put_value_notify(Rank{me + 1}, rod, next[cells], tag);
            window.wait(tag, (me > 0 ? 1u : 0u) + (me < last ? 1u : 0u));
        }

        double sum = 0;
        for (std::size_t i = 1; i <= cells; ++i) sum += rods[steps % 2][i];
        // Everybody tells rank 0, at its own place.
        const std::span<std::byte> means = world->allocate(world->size() * sizeof(double));
        Window results = world->team().create(means);
        results.put_value_notify(Rank{0}, me * sizeof(double), sum / cells, Tag{0});
        if (me == 0) {
            results.wait(Tag{0}, world->size());
            for (std::uint32_t rank = 0; rank <= last; ++rank)
                std::printf("rank %u: %.3f degrees\n", rank, reinterpret_cast<const double*>(means.data())[rank]);
        }
        world->close();
    } catch (const Error& error) {
        std::fprintf(stderr, "notified_halo: %s\n", error.what());
        return 2;
    }
}
