#include "session/seal/sealer.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "loom/base/error.hpp"
#include "session/stack/bytes.hpp"

namespace loom::session {

namespace {

void check(bool fine, const char* what) {
    if (!fine) throw Error(std::string("cannot ") + what);
}

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

std::array<std::byte, 32> derive(std::span<const std::byte> key, const Nonce& openers, const Nonce& acceptors,
                                 std::string_view purpose) {
    std::vector<std::byte> salt(openers.begin(), openers.end());
    salt.insert(salt.end(), acceptors.begin(), acceptors.end());
    std::array<std::byte, 32> out{};
    std::size_t size = out.size();
    EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr);
    const bool fine = context != nullptr && EVP_PKEY_derive_init(context) > 0 &&
                      EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) > 0 &&
                      EVP_PKEY_CTX_set1_hkdf_salt(context, raw(salt.data()), static_cast<int>(salt.size())) > 0 &&
                      EVP_PKEY_CTX_set1_hkdf_key(context, raw(key.data()), static_cast<int>(key.size())) > 0 &&
                      EVP_PKEY_CTX_add1_hkdf_info(context, reinterpret_cast<const unsigned char*>(purpose.data()),
                                                  static_cast<int>(purpose.size())) > 0 &&
                      EVP_PKEY_derive(context, raw(out.data()), &size) > 0;
    EVP_PKEY_CTX_free(context);
    check(fine, "derive a key");
    return out;
}

std::array<unsigned char, 12> iv_of(std::uint32_t epoch, std::uint64_t count) {
    std::array<std::byte, 12> bytes{};
    put<4>(bytes.data(), epoch);
    put<8>(bytes.data() + 4, count);
    std::array<unsigned char, 12> iv;
    std::memcpy(iv.data(), bytes.data(), iv.size());
    return iv;
}

}  // namespace

Nonce random_nonce() {
    Nonce nonce;
    check(RAND_bytes(raw(nonce.data()), static_cast<int>(nonce.size())) == 1, "get random bytes");
    return nonce;
}

std::uint32_t random_number() {
    std::array<std::byte, 4> bytes{};
    check(RAND_bytes(raw(bytes.data()), 4) == 1, "get random bytes");
    return static_cast<std::uint32_t>(get<4>(bytes.data()));
}

Proof prove(std::span<const std::byte> key, bool opener, const Nonce& openers, const Nonce& acceptors,
            std::span<const std::byte> said) {
    std::vector<std::byte> text;
    for (const char letter : std::string_view("loomband session proof")) text.push_back(static_cast<std::byte>(letter));
    text.push_back(opener ? std::byte{1} : std::byte{2});
    text.insert(text.end(), openers.begin(), openers.end());
    text.insert(text.end(), acceptors.begin(), acceptors.end());
    text.insert(text.end(), said.begin(), said.end());
    Proof proof{};
    unsigned size = 0;
    check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(text.data()), text.size(), raw(proof.data()),
               &size) != nullptr,
          "prove a key");
    return proof;
}

bool same(const Proof& a, const Proof& b) {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Sealer::Ciphers {
    EVP_CIPHER_CTX* seal = EVP_CIPHER_CTX_new();
    EVP_CIPHER_CTX* open = EVP_CIPHER_CTX_new();
    ~Ciphers() {
        EVP_CIPHER_CTX_free(seal);
        EVP_CIPHER_CTX_free(open);
    }
};

Sealer::Sealer(std::span<const std::byte> key, bool opener, const Nonce& openers, const Nonce& acceptors)
    : ciphers_(std::make_unique<Ciphers>()) {
    auto forth = derive(key, openers, acceptors, "loomband session opener to acceptor");
    auto back = derive(key, openers, acceptors, "loomband session acceptor to opener");
    if (!opener) std::swap(forth, back);
    check(EVP_EncryptInit_ex(ciphers_->seal, EVP_aes_256_gcm(), nullptr, raw(forth.data()), nullptr) == 1 &&
              EVP_DecryptInit_ex(ciphers_->open, EVP_aes_256_gcm(), nullptr, raw(back.data()), nullptr) == 1,
          "set up a cipher");
    OPENSSL_cleanse(forth.data(), forth.size());
    OPENSSL_cleanse(back.data(), back.size());
}

Sealer::~Sealer() = default;

void Sealer::seal(std::uint32_t epoch, std::uint64_t count, std::span<std::byte> text, std::byte* tag) {
    const auto iv = iv_of(epoch, count);
    int size = 0;
    check(EVP_EncryptInit_ex(ciphers_->seal, nullptr, nullptr, nullptr, iv.data()) == 1 &&
              EVP_EncryptUpdate(ciphers_->seal, raw(text.data()), &size, raw(text.data()),
                                static_cast<int>(text.size())) == 1 &&
              EVP_EncryptFinal_ex(ciphers_->seal, raw(text.data()) + size, &size) == 1 &&
              EVP_CIPHER_CTX_ctrl(ciphers_->seal, EVP_CTRL_GCM_GET_TAG, tag_bytes, tag) == 1,
          "seal a segment");
}

bool Sealer::open(std::uint32_t epoch, std::uint64_t count, std::span<std::byte> text, const std::byte* tag) {
    const auto iv = iv_of(epoch, count);
    std::array<std::byte, tag_bytes> expected;
    std::memcpy(expected.data(), tag, tag_bytes);
    int size = 0;
    return EVP_DecryptInit_ex(ciphers_->open, nullptr, nullptr, nullptr, iv.data()) == 1 &&
           EVP_DecryptUpdate(ciphers_->open, raw(text.data()), &size, raw(text.data()),
                             static_cast<int>(text.size())) == 1 &&
           EVP_CIPHER_CTX_ctrl(ciphers_->open, EVP_CTRL_GCM_SET_TAG, tag_bytes, expected.data()) == 1 &&
           EVP_DecryptFinal_ex(ciphers_->open, raw(text.data()) + size, &size) == 1;
}

}  // namespace loom::session
