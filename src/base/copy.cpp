#include "loom/base/copy.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace loom {

void copy_past_caches(void* to, const void* from, std::size_t bytes) {
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    const std::size_t before = (line - reinterpret_cast<std::uintptr_t>(target) % line) % line;
    if (bytes < before + line) {
        std::memcpy(to, from, bytes);
        return;
    }
    std::memcpy(target, source, before);
    std::size_t at = before;
    for (; at + line <= bytes; at += line) {  // a line at a time, which leaves the core whole
        const auto* const read = reinterpret_cast<const __m128i*>(source + at);
        auto* const write = reinterpret_cast<__m128i*>(target + at);
        const __m128i a = _mm_loadu_si128(read), b = _mm_loadu_si128(read + 1);
        const __m128i c = _mm_loadu_si128(read + 2), d = _mm_loadu_si128(read + 3);
        _mm_stream_si128(write, a);
        _mm_stream_si128(write + 1, b);
        _mm_stream_si128(write + 2, c);
        _mm_stream_si128(write + 3, d);
    }
    _mm_sfence();
    std::memcpy(target + at, source + at, bytes - at);
#else
    std::memcpy(to, from, bytes);
#endif
}

std::size_t last_caches_bytes() {
    static const std::size_t known = [] {
        std::map<std::string, std::size_t> sizes;  // of the last cache of each core, by who shares it
        const std::filesystem::path all = "/sys/devices/system/cpu";
        std::error_code none;
        for (const auto& core : std::filesystem::directory_iterator(all, none)) {
            const std::string name = core.path().filename();
            if (!name.starts_with("cpu") || name.find_first_not_of("0123456789", 3) != std::string::npos) continue;
            std::size_t largest = 0;
            std::string whose;
            for (const char* index : {"index0", "index1", "index2", "index3", "index4"}) {
                const auto cache = core.path() / "cache" / index;
                std::ifstream size(cache / "size");
                if (!size) break;
                std::ifstream shared(cache / "shared_cpu_list");
                std::size_t kib = 0;
                char unit = 0;
                std::string sharing;
                if (size >> kib >> unit && unit == 'K' && shared >> sharing && kib << 10 > largest) {
                    largest = kib << 10;
                    whose = sharing;
                }
            }
            if (largest != 0) sizes[whose] = largest;
        }
        std::size_t sum = 0;
        for (const auto& [whose, bytes] : sizes) sum += bytes;
        return sum != 0 ? sum : std::size_t{32} << 20;
    }();
    return known;
}

}  // namespace loom
