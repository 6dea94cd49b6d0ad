// Keys: who may open a session, and what its segments are sealed with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace loom::session {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

[[nodiscard]] Nonce random_nonce();
[[nodiscard]] std::uint32_t random_number();

// Shows that this end has the key, without showing the key: HMAC-SHA256 over both nonces, who shows it, and all that
// was said before. An end's proof is no other end's and no other session's.
[[nodiscard]] Proof prove(std::span<const std::byte> key, bool opener, const Nonce& openers, const Nonce& acceptors,
                          std::span<const std::byte> said);
// In a time that does not depend on where they differ.
[[nodiscard]] bool same(const Proof& a, const Proof& b);

// AES-256-GCM with a key for each direction of each session (HKDF-SHA256). A count is used once in a session.
class Sealer {
public:
    static constexpr std::size_t tag_bytes = 16;

    Sealer(std::span<const std::byte> key, bool opener, const Nonce& openers, const Nonce& acceptors);
    ~Sealer();
    Sealer(const Sealer&) = delete;
    Sealer& operator=(const Sealer&) = delete;

    [[nodiscard]] std::uint64_t next() { return ++count_; }
    // In place; the tag goes to 16 bytes at `tag`.
    void seal(std::uint32_t epoch, std::uint64_t count, std::span<std::byte> text, std::byte* tag);
    // False when the peer did not seal it so; the text is of no use then.
    [[nodiscard]] bool open(std::uint32_t epoch, std::uint64_t count, std::span<std::byte> text, const std::byte* tag);

private:
    struct Ciphers;
    std::unique_ptr<Ciphers> ciphers_;
    std::uint64_t count_ = 0;
};

}  // namespace loom::session
