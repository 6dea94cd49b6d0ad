// An operation of one's own that does not commute: words are joined in the order of ranks.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "loom/coll/typed.hpp"

namespace {

// Any trivially copyable type will do.
struct Word {
    std::array<char, 60> text{};
    std::uint32_t length = 0;
};

Word make_word(const std::string& text) {
    Word word;
    word.length = static_cast<std::uint32_t>(text.copy(word.text.data(), word.text.size()));
    return word;
}

}  // namespace

int main() try {
    const auto world = loom::coll::World::open();
    const auto comm = world->communicator();
    const auto join = loom::coll::ordered([](const Word& a, const Word& b) {
        return make_word(std::string(a.text.data(), a.length) + std::string(b.text.data(), b.length));
    });

    const Word mine = make_word(std::string("<") + static_cast<char>('a' + comm.rank().value) + ">");
    Word before, all;
    auto prefix = comm.iexscan(mine, before, join);
    auto whole = comm.iallreduce(mine, all, join);
    prefix.wait();
    whole.wait();

    if (comm.rank().value + 1 == comm.size())
        std::printf("before the last rank: %.*s; altogether: %.*s\n", static_cast<int>(before.length),
                    before.text.data(), static_cast<int>(all.length), all.text.data());
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
