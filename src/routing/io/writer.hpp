// What all table writers share.
#pragma once

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

#include "loom/routing/table_io.hpp"

namespace loom::routing::io {

// Gathers small pieces into large writes: an ostream costs more for each piece than the piece.
class Sink {
public:
    explicit Sink(std::ostream& out) : out_(&out) { buffer_.reserve(capacity + slack); }
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    ~Sink() = default;

    // Room for `size` characters, size at most `slack`, to be filled by the caller.
    [[nodiscard]] char* take(std::size_t size) {
        const std::size_t at = buffer_.size();
        if (at >= capacity) {
            flush();
            return take(size);
        }
        buffer_.resize(at + size);
        return buffer_.data() + at;
    }
    void add(std::string_view text) {
        if (buffer_.size() + text.size() > capacity) flush();
        if (text.size() > capacity)
            out_->write(text.data(), static_cast<std::streamsize>(text.size()));
        else
            buffer_.append(text);
    }
    void flush() {
        out_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        buffer_.clear();
    }

    static constexpr std::size_t slack = 4096;

private:
    static constexpr std::size_t capacity = std::size_t{1} << 20;
    std::ostream* out_;
    std::string buffer_;
};

// Three decimal digits at `to`.
inline void put_port(char* to, std::uint8_t port) {
    to[0] = static_cast<char>('0' + port / 100);
    to[1] = static_cast<char>('0' + port / 10 % 10);
    to[2] = static_cast<char>('0' + port % 10);
}

// A node description as the text forms can carry it: one line, 64 bytes as on the wire. Long names
// would break OpenSM's reader, whose lines end at 1,023 characters.
[[nodiscard]] std::string plain_name(std::string_view name);

void write_lfts(const Tables& tables, const SwitchGraph& graph, std::ostream& out, TableFormat format);
void write_fdbs(const Tables& tables, const SwitchGraph& graph, std::ostream& out);
void write_json(const Tables& tables, const SwitchGraph& graph, std::ostream& out);

}  // namespace loom::routing::io
