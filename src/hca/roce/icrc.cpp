#include "hca/roce/icrc.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace loom::hca::roce {
namespace {

static_assert(std::endian::native == std::endian::little, "registers are read from memory low byte first");

// Polynomials modulo Ethernet's are 32 bits with the coefficient of x^0 in the top bit, as the register has it.
constexpr std::uint32_t polynomial = 0xedb88320;

constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a >> 1) ^ ((a & 1) != 0 ? polynomial : 0);
}
constexpr std::uint32_t over_x(std::uint32_t a) {
    return (a >> 31) != 0 ? ((a ^ polynomial) << 1) | 1 : a << 1;
}
constexpr std::uint32_t power_of_x(unsigned exponent) {
    std::uint32_t a = 0x80000000;
    for (unsigned i = 0; i < exponent; ++i) a = times_x(a);
    return a;
}

// tables[k][b]: the register after byte b and k zero bytes.
constexpr auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 16> result{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t a = b;
        for (int i = 0; i < 8; ++i) a = times_x(a);
        result[0][b] = a;
    }
    for (std::size_t k = 1; k < 16; ++k)
        for (std::size_t b = 0; b < 256; ++b)
            result[k][b] = (result[k - 1][b] >> 8) ^ result[0][result[k - 1][b] & 0xff];
    return result;
}();

template <class Word>
Word load(const std::byte* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Eight bytes that are followed by `after` more.
template <std::size_t after>
std::uint32_t look_up(std::uint64_t word) {
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < 8; ++i) result ^= tables[after + 7 - i][(word >> (8 * i)) & 0xff];
    return result;
}

std::uint32_t update_table(std::uint32_t crc, const std::byte* at, std::size_t size) {
    for (; size >= 16; at += 16, size -= 16)
        crc = look_up<8>(load<std::uint64_t>(at) ^ crc) ^ look_up<0>(load<std::uint64_t>(at + 8));
    if (size >= 8) {
        crc = look_up<0>(load<std::uint64_t>(at) ^ crc);
        at += 8;
        size -= 8;
    }
    for (; size > 0; ++at, --size) crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
    return crc;
}

std::uint64_t carryless_by_bit(std::uint32_t a, std::uint32_t b) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 32; ++i) result ^= ((b >> i) & 1) != 0 ? std::uint64_t{a} << i : 0;
    return result;
}

#if defined(__x86_64__)

// To move a 128-bit block `bits` ahead, its first half is multiplied by x^(bits+64) and its second by x^bits, both less
// one: the product of two 64-bit numbers whose top bit is x^0 has 127 bits, so that it reads as x times too much.
constexpr std::uint64_t factor(unsigned exponent) {
    return std::uint64_t{power_of_x(exponent - 1)} << 32;
}
struct Ahead {
    std::uint64_t first;
    std::uint64_t second;
};
constexpr Ahead ahead(unsigned bits) {
    return {factor(bits + 64), factor(bits)};
}

#define LOOM_MULTIPLY128 __attribute__((target("pclmul,sse4.1")))
#define LOOM_MULTIPLY512 __attribute__((target("pclmul,sse4.1,avx512f,avx512vl,vpclmulqdq")))

LOOM_MULTIPLY128 inline __m128i spread(Ahead by) {
    return _mm_set_epi64x(static_cast<long long>(by.second), static_cast<long long>(by.first));
}
LOOM_MULTIPLY128 inline __m128i fold(__m128i block, __m128i by, __m128i onto) {
    const __m128i first = _mm_clmulepi64_si128(block, by, 0x00);
    const __m128i second = _mm_clmulepi64_si128(block, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), onto);
}
LOOM_MULTIPLY128 inline __m128i load128(const std::byte* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// What remains after the first block that stands for everything so far.
LOOM_MULTIPLY128 inline std::uint32_t finish128(__m128i block, const std::byte* at, std::size_t size) {
    const __m128i by16 = spread(ahead(128));
    for (; size >= 16; at += 16, size -= 16) block = fold(block, by16, load128(at));
    std::array<std::byte, 16> bytes;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes.data()), block);
    return update_table(update_table(0, bytes.data(), bytes.size()), at, size);
}

LOOM_MULTIPLY128 std::uint32_t update128(std::uint32_t crc, const std::byte* at, std::size_t size) {
    if (size < 32) return update_table(crc, at, size);
    __m128i a = _mm_xor_si128(load128(at), _mm_cvtsi32_si128(static_cast<int>(crc)));
    if (size < 128) return finish128(a, at + 16, size - 16);
    __m128i b = load128(at + 16);
    __m128i c = load128(at + 32);
    __m128i d = load128(at + 48);
    const __m128i by64 = spread(ahead(512));
    for (at += 64, size -= 64; size >= 64; at += 64, size -= 64) {
        a = fold(a, by64, load128(at));
        b = fold(b, by64, load128(at + 16));
        c = fold(c, by64, load128(at + 32));
        d = fold(d, by64, load128(at + 48));
    }
    const __m128i by16 = spread(ahead(128));
    return finish128(fold(fold(fold(a, by16, b), by16, c), by16, d), at, size);
}

LOOM_MULTIPLY512 inline __m512i fold512(__m512i block, __m512i by, __m512i onto) {
    const __m512i first = _mm512_clmulepi64_epi128(block, by, 0x00);
    const __m512i second = _mm512_clmulepi64_epi128(block, by, 0x11);
    return _mm512_ternarylogic_epi64(first, second, onto, 0x96);
}
LOOM_MULTIPLY512 inline __m512i spread512(Ahead by) {
    const auto first = static_cast<long long>(by.first);
    const auto second = static_cast<long long>(by.second);
    return _mm512_set_epi64(second, first, second, first, second, first, second, first);
}
LOOM_MULTIPLY512 inline __m512i load512(const std::byte* at) {
    return _mm512_loadu_si512(at);
}

LOOM_MULTIPLY512 std::uint32_t update512(std::uint32_t crc, const std::byte* at, std::size_t size) {
    if (size < 512) return update128(crc, at, size);
    __m512i a = _mm512_xor_si512(load512(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
    __m512i b = load512(at + 64);
    __m512i c = load512(at + 128);
    __m512i d = load512(at + 192);
    const __m512i by256 = spread512(ahead(2048));
    for (at += 256, size -= 256; size >= 256; at += 256, size -= 256) {
        a = fold512(a, by256, load512(at));
        b = fold512(b, by256, load512(at + 64));
        c = fold512(c, by256, load512(at + 128));
        d = fold512(d, by256, load512(at + 192));
    }
    const __m512i by64 = spread512(ahead(512));
    a = fold512(fold512(fold512(a, by64, b), by64, c), by64, d);
    for (; size >= 64; at += 64, size -= 64) a = fold512(a, by64, load512(at));
    std::array<std::byte, 64> bytes;
    _mm512_storeu_si512(bytes.data(), a);
    const __m128i by16 = spread(ahead(128));
    __m128i block = load128(bytes.data());
    for (std::size_t i = 16; i < 64; i += 16) block = fold(block, by16, load128(bytes.data() + i));
    return finish128(block, at, size);
}

LOOM_MULTIPLY128 std::uint64_t carryless128(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0x00)));
}

#endif

CrcKind fastest() {
    // Asked once; not at load time, because the library sits in programs that never send a packet.
    static const CrcKind kind = has(CrcKind::multiply512)   ? CrcKind::multiply512
                                : has(CrcKind::multiply128) ? CrcKind::multiply128
                                                            : CrcKind::table;
    return kind;
}

// The product of two 32-bit polynomials times x^32, modulo Ethernet's.
std::uint32_t product_times_x32(std::uint32_t a, std::uint32_t b) {
#if defined(__x86_64__)
    const std::uint64_t bits = fastest() != CrcKind::table ? carryless128(a, b) : carryless_by_bit(a, b);
#else
    const std::uint64_t bits = carryless_by_bit(a, b);
#endif
    return look_up<0>(bits << 1);  // the product has 63 bits
}

// Bytes of IPv4 and UDP header after identification and fragment fields.
constexpr std::size_t after_identification = 20;
constexpr std::size_t ipv4_bytes = 28;
constexpr std::size_t ipv6_bytes = 48;
constexpr std::size_t max_datagram = 8192;

// back[n / 4]: x^-(8 n + 64), which takes a difference in the CRC back to the four bytes that n bytes follow.
constexpr auto back = [] {
    std::array<std::uint32_t, (max_datagram + after_identification) / 4 + 1> result{};
    std::uint32_t a = 0x80000000;
    for (int i = 0; i < 64; ++i) a = over_x(a);
    for (auto& entry : result) {
        entry = a;
        for (int i = 0; i < 32; ++i) a = over_x(a);
    }
    return result;
}();

void store16(std::byte* at, std::size_t number) {
    at[0] = static_cast<std::byte>(number >> 8);
    at[1] = static_cast<std::byte>(number);
}

}  // namespace

bool has(CrcKind kind) {
#if defined(__x86_64__)
    const bool small = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    if (kind == CrcKind::multiply128) return small;
    if (kind == CrcKind::multiply512)
        return small && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
               __builtin_cpu_supports("vpclmulqdq") != 0;
#endif
    return kind == CrcKind::table;
}

CrcRegister crc_update(CrcKind kind, CrcRegister crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
    if (kind == CrcKind::multiply512) return update512(crc, bytes.data(), bytes.size());
    if (kind == CrcKind::multiply128) return update128(crc, bytes.data(), bytes.size());
#endif
    return update_table(crc, bytes.data(), bytes.size());
}

CrcRegister crc_update(CrcRegister crc, std::span<const std::byte> bytes) {
    return crc_update(fastest(), crc, bytes);
}

Envelope::Envelope(const Address& source, const Address& destination) {
    constexpr std::byte masked{0xff};
    constexpr std::byte udp{17};
    std::byte* at = headers_.data();
    const bool ipv6 = family(source.ip) == Family::ipv6 && family(destination.ip) == Family::ipv6;
    if (ipv6) {
        size_ = ipv6_bytes;
        at[0] = std::byte{0x6f};  // version; traffic class and flow label are masked
        at[1] = at[2] = at[3] = masked;
        at[6] = udp;
        at[7] = masked;  // hop limit
        std::memcpy(at + 8, source.ip.data(), 16);
        std::memcpy(at + 24, destination.ip.data(), 16);
    } else {
        size_ = ipv4_bytes;
        at[0] = std::byte{0x45};
        at[1] = masked;           // type of service
        at[6] = std::byte{0x40};  // do not fragment
        at[8] = masked;           // time to live
        at[9] = udp;
        at[10] = at[11] = masked;  // checksum
        std::memcpy(at + 12, source.ip.data() + 12, 4);
        std::memcpy(at + 16, destination.ip.data() + 12, 4);
    }
    at += size_ - 8;
    store16(at, source.port);
    store16(at + 2, destination.port);
    at[6] = at[7] = masked;  // checksum
}

CrcRegister Envelope::start(std::span<const std::byte> headers, std::size_t total, std::uint16_t id) const {
    constexpr CrcRegister after_ones = [] {  // the 8 bytes that stand for an InfiniBand header
        CrcRegister crc = ~CrcRegister{0};
        for (int i = 0; i < 8; ++i) crc = (crc >> 8) ^ tables[0][(crc ^ 0xff) & 0xff];
        return crc;
    }();
    std::array<std::byte, ipv6_bytes + 12> bytes;
    std::memcpy(bytes.data(), headers_.data(), headers_.size());
    if (size_ == ipv4_bytes) {
        store16(bytes.data() + 2, total + ipv4_bytes);
        store16(bytes.data() + 4, id);
    } else {
        store16(bytes.data() + 4, total + 8);
    }
    store16(bytes.data() + size_ - 4, total + 8);
    std::memcpy(bytes.data() + size_, headers.data(), 12);
    bytes[size_ + 4] = std::byte{0xff};  // the BTH byte with the congestion bits
    const CrcRegister crc = crc_update(after_ones, std::span(bytes).first(size_ + 12));
    return crc_update(crc, headers.subspan(12));
}

std::optional<std::uint32_t> Envelope::identify(std::span<const std::byte> datagram) const {
    if (datagram.size() < 16 || datagram.size() % 4 != 0 || datagram.size() > max_datagram) return std::nullopt;
    const auto covered = datagram.first(datagram.size() - 4);
    const CrcRegister crc = ~start(covered, datagram.size(), 0);
    const std::uint32_t difference = crc ^ load<std::uint32_t>(datagram.data() + covered.size());
    if (difference == 0) return 0;
    if (size_ == ipv6_bytes) return std::nullopt;
    // Identification and fragment field, as the bytes by which they differ from what was assumed.
    const std::uint32_t fields = product_times_x32(difference, back[(after_identification + covered.size()) / 4]);
    const std::uint32_t fragment = fields >> 16;
    if (fragment != 0 && fragment != 0x40) return std::nullopt;
    return std::uint32_t{__builtin_bswap16(static_cast<std::uint16_t>(fields))} | (fragment << 10);
}

IdentificationGuard::Source& IdentificationGuard::of(const Address& source) {
    std::uint32_t hash = source.port;
    for (const std::uint8_t byte : source.ip) hash = hash * 31 + byte;
    Source& known = sources_[(hash ^ hash >> 8) % sources_.size()];
    if (known.address != source) known = {source};
    return known;
}

bool IdentificationGuard::Source::plausible(std::uint32_t identification) {
    constexpr std::uint32_t longest_run = 128;
    constexpr std::uint16_t a_while = 32;
    if (identification < longest_run) {
        if (kept < a_while) ++kept;
        return true;
    }
    const bool believed = kept < a_while || doubted;
    doubted = true;
    return believed;
}

}  // namespace loom::hca::roce
