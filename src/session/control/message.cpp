#include "session/control/message.hpp"

#include <algorithm>
#include <string_view>

#include "loom/base/error.hpp"
#include "session/stack/bytes.hpp"

namespace loom::session {

namespace {

constexpr std::uint64_t magic = 0x6c6f6f6d73657331;  // "loomses1"

[[noreturn]] void refuse(const char* expected) {
    throw ParseError("control message", 0, std::string("expected ") + expected);
}

// One walk over the members serves both directions, so that they cannot differ.
class Writer {
public:
    Bytes bytes;

    template <std::size_t width, class Number>
    void number(const Number& value) {
        const std::size_t at = bytes.size();
        bytes.resize(at + width);
        put<width>(bytes.data() + at, static_cast<std::uint64_t>(value));
    }
    void text(const std::string& value) {
        const std::size_t size = std::min(value.size(), most_words);
        number<1>(size);
        for (const char letter : std::string_view(value).substr(0, size))
            bytes.push_back(static_cast<std::byte>(letter));
    }
    template <std::size_t size>
    void raw(const std::array<std::byte, size>& value) {
        bytes.insert(bytes.end(), value.begin(), value.end());
    }
    template <class Enum>
    void word(const Enum& value, unsigned) {
        number<1>(static_cast<std::uint8_t>(value));
    }
};

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <std::size_t width, class Number>
    void number(Number& value) {
        value = static_cast<Number>(get<width>(take(width).data()));
    }
    void text(std::string& value) {
        std::uint8_t size = 0;
        number<1>(size);
        if (size > most_words) refuse("a shorter text");
        for (const std::byte each : take(size)) {
            const auto letter = static_cast<char>(each);
            if (letter < ' ' || letter > '~') refuse("letters");
            value.push_back(letter);
        }
    }
    template <std::size_t size>
    void raw(std::array<std::byte, size>& value) {
        const auto bytes = take(size);
        std::copy(bytes.begin(), bytes.end(), value.begin());
    }
    template <class Enum>
    void word(Enum& value, unsigned count) {
        std::uint8_t number_of = 0;
        number<1>(number_of);
        if (number_of >= count) refuse("a known word");
        value = static_cast<Enum>(number_of);
    }
    void end() const {
        if (!left_.empty()) refuse("the end of the message");
    }

private:
    std::span<const std::byte> take(std::size_t size) {
        if (left_.size() < size) refuse("more bytes");
        const auto part = left_.first(size);
        left_ = left_.subspan(size);
        return part;
    }
    std::span<const std::byte> left_;
};

template <class Walk, class Value>
void walk_settings(Walk& walk, Value& settings) {
    walk.word(settings.scheme, 2);
    walk.word(settings.network, 2);
    walk.word(settings.controller, 3);
    walk.word(settings.selective, 2);
    walk.word(settings.sealed, 2);
}

template <class Walk, class Value>
void walk_resume(Walk& walk, Value& resume) {
    walk.template number<8>(resume.number);
    walk.template number<8>(resume.offset);
    walk.template number<8>(resume.taken);
}

template <class Walk, class Value>
void walk_queue_pairs(Walk& walk, Value& pairs) {
    walk.template number<2>(pairs.lid);
    walk.raw(pairs.gid);
    walk.template number<3>(pairs.reliable);
    walk.template number<3>(pairs.unreliable);
    walk.template number<3>(pairs.reliable_psn);
    walk.template number<3>(pairs.unreliable_psn);
    walk.word(pairs.mtu, 6);
    walk.word(pairs.link, 3);
    walk.template number<4>(pairs.block_bytes);
    walk.template number<4>(pairs.rkey);
}

template <class Walk, class Value>
void walk_hello(Walk& walk, Value& hello) {
    std::uint64_t seen_magic = magic;
    std::uint32_t seen_version = Hello::version;
    walk.template number<8>(seen_magic);
    walk.template number<4>(seen_version);
    if (seen_magic != magic) refuse("a session of Loomband");
    if (seen_version != Hello::version) refuse("version 1 of the control channel");
    walk.text(hello.cluster);
    walk.text(hello.host);
    walk.template number<8>(hello.process);
    walk.template number<2>(hello.port);
    walk.template number<2>(hello.udp_port);
    walk.template number<4>(hello.segment_bytes);
    walk.template number<8>(hello.most_message);
    walk.template number<4>(hello.epoch);
    walk.word(hello.scheme, 2);
    walk.word(hello.controller, 3);
    walk.word(hello.selective, 2);
    walk.word(hello.has_key, 2);
    walk.word(hello.has_infiniband, 2);
    walk_queue_pairs(walk, hello.queue_pairs);
    walk.raw(hello.nonce);
}

template <class Walk, class Value>
void walk(Walk& with, Value& value) {
    using Message = std::remove_const_t<Value>;
    if constexpr (std::is_same_v<Message, Hello>) {
        walk_hello(with, value);
    } else if constexpr (std::is_same_v<Message, KeyProof>) {
        with.raw(value.proof);
    } else if constexpr (std::is_same_v<Message, Propose> || std::is_same_v<Message, Ready>) {
        with.template number<4>(value.epoch);
        walk_settings(with, value.settings);
        walk_resume(with, value.resume);
        if constexpr (std::is_same_v<Message, Propose>) with.text(value.reason);
    } else if constexpr (std::is_same_v<Message, Begin>) {
        with.word(value.infiniband, 2);
    } else if constexpr (std::is_same_v<Message, Reconnect>) {
        with.template number<4>(value.generation);
        walk_queue_pairs(with, value.queue_pairs);
    } else if constexpr (std::is_same_v<Message, Connected>) {
        with.template number<4>(value.generation);
    } else if constexpr (std::is_same_v<Message, Close>) {
        with.text(value.reason);
    }
}

template <std::size_t index = 0>
ControlMessage read_as(std::size_t kind, Reader& reader) {
    if constexpr (index == std::variant_size_v<ControlMessage>) {
        refuse("a known kind of message");
    } else {
        if (kind != index) return read_as<index + 1>(kind, reader);
        std::variant_alternative_t<index, ControlMessage> message;
        walk(reader, message);
        return message;
    }
}

}  // namespace

Bytes encode(const ControlMessage& message) {
    Writer writer;
    writer.number<1>(message.index());
    std::visit([&](const auto& each) { walk(writer, each); }, message);
    return std::move(writer.bytes);
}

ControlMessage decode(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    std::uint8_t kind = 0;
    reader.number<1>(kind);
    ControlMessage message = read_as(kind, reader);
    reader.end();
    return message;
}

}  // namespace loom::session
