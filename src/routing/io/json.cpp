// Loomband's own form (docs/formats.md): events, not a tree, so that rows are decoded as they come and
// every complaint has its line.
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "loom/base/text.hpp"
#include "routing/io/base64.hpp"
#include "routing/io/collector.hpp"

namespace loom::routing::io {
namespace {

constexpr std::uint8_t last_data_lane = 14;  // lane 15 is for management packets
constexpr unsigned most_lids_a_port = 128;   // LMC 7

// Counts the lines before the character last read (a number is only complete with the one after it).
struct Position {
    std::size_t line = 1;
    bool at_line_end = false;
};

class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
    const char& operator*() const { return *at_; }
    CountingIterator& operator++() {
        position_->line += position_->at_line_end ? 1 : 0;
        position_->at_line_end = *at_ == '\n';
        ++at_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at_ == b.at_; }
    friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return a.at_ != b.at_; }

private:
    const char* at_;
    Position* position_;
};

class Handler : public nlohmann::json_sax<nlohmann::json> {
public:
    Handler(TableFile& file, std::size_t text_size, const Position& position)
        : file_(&file), collector_(file, text_size), position_(&position) {}

    bool null() override { return value("null"); }
    bool boolean(bool) override { return value("true or false"); }
    bool number_integer(number_integer_t) override { return value("a negative number"); }
    bool number_float(number_float_t, const string_t&) override { return value("a fraction"); }
    bool binary(binary_t&) override { return value("binary data"); }

    bool number_unsigned(number_unsigned_t number) override {
        if (skip_ != 0) return true;
        switch (place_) {
            case Place::top:
                if (key_ == "version") {
                    if (number != 1) fail(fmt::format("version {} of the table form; expected 1", number));
                    has_version_ = true;
                    return true;
                }
                break;
            case Place::destination:
                if (field_ < 2) {
                    destination_[field_++] = number;
                    return true;
                }
                break;
            case Place::table:
                if (key_ == "lid") {
                    if (number > max_unicast_lid)
                        fail(fmt::format("LID {} of a switch; expected at most 49151", number));
                    table_.lid = Lid{static_cast<std::uint16_t>(number)};
                    return true;
                }
                break;
            default:
                break;
        }
        return value("a number");
    }

    bool string(string_t& text) override {
        if (skip_ != 0) return true;
        switch (place_) {
            case Place::top:
                if (key_ == "loom") {
                    if (text != "tables") fail("\"loom\" is " + excerpt(text) + "; expected \"tables\"");
                    has_mark_ = true;
                    return true;
                }
                if (key_ == "engine") {
                    file_->engine = text;
                    return true;
                }
                break;
            case Place::destination:
                if (field_ == 2) {
                    destination_[field_++] = guid(text);
                    return true;
                }
                break;
            case Place::table:
                if (key_ == "guid")
                    table_.guid = Guid{guid(text)};
                else if (key_ == "name")
                    table_.name = text;
                else if (key_ == "ports")
                    table_.ports = row(text);
                else if (key_ == "lanes")
                    table_.lanes = row(text);
                else
                    break;
                return true;
            default:
                break;
        }
        return value("a string");
    }

    bool start_object(std::size_t) override {
        if (skip_ != 0) return enter_skipped();
        if (place_ == Place::outside) {
            place_ = Place::top;
        } else if (place_ == Place::switches) {
            place_ = Place::table;
            table_ = {};
            table_.line = position_->line;
        } else {
            return open("an object");
        }
        return true;
    }

    bool key(string_t& text) override {
        if (skip_ == 0) key_ = text;
        return true;
    }

    bool end_object() override {
        if (skip_ != 0) return leave_skipped();
        if (place_ == Place::table) {
            end_table();
            place_ = Place::switches;
        } else {
            if (!has_mark_ || !has_version_) fail("expected \"loom\": \"tables\" and \"version\": 1");
            if (!has_switches_) fail("expected \"switches\": [...]");
            place_ = Place::outside;
        }
        return true;
    }

    bool start_array(std::size_t) override {
        if (skip_ != 0) return enter_skipped();
        if (place_ == Place::top && key_ == "switches") {
            if (has_switches_) fail("\"switches\" a second time; expected it once");
            has_switches_ = true;
            place_ = Place::switches;
        } else if (place_ == Place::top && key_ == "destinations") {
            place_ = Place::destinations;
        } else if (place_ == Place::destinations) {
            place_ = Place::destination;
            field_ = 0;
        } else {
            return open("an array");
        }
        return true;
    }

    bool end_array() override {
        if (skip_ != 0) return leave_skipped();
        if (place_ == Place::destination) {
            end_destination();
            place_ = Place::destinations;
        } else {
            place_ = Place::top;
        }
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        std::string_view what = error.what();
        if (const auto at = what.find("column "); at != std::string_view::npos)
            if (const auto colon = what.find(": ", at); colon != std::string_view::npos) what.remove_prefix(colon + 2);
        std::string message = "not JSON: ";
        for (const char c : what.substr(0, 160)) message += c >= ' ' && c != 127 ? c : '?';
        fail(message);
    }

private:
    enum class Place : std::uint8_t { outside, top, destinations, destination, switches, table };

    // A value where none of its kind has a meaning: known keys complain, unknown ones are passed over.
    bool value(std::string_view found) {
        if (skip_ == 0 && !ignorable()) expected(found);
        return true;
    }
    bool open(std::string_view found) {
        if (!ignorable()) expected(found);
        skip_ = 1;
        return true;
    }
    bool enter_skipped() {
        ++skip_;
        return true;
    }
    bool leave_skipped() {
        --skip_;
        return true;
    }

    [[nodiscard]] bool ignorable() const {
        const auto unknown = [this](std::initializer_list<std::string_view> known) {
            return std::find(known.begin(), known.end(), key_) == known.end();
        };
        if (place_ == Place::top) return unknown({"loom", "version", "engine", "destinations", "switches"});
        if (place_ == Place::table) return unknown({"guid", "lid", "name", "ports", "lanes"});
        return false;
    }

    [[noreturn]] void expected(std::string_view found) const {
        switch (place_) {
            case Place::outside:
                fail(fmt::format("expected an object, found {}", found));
            case Place::destinations:
            case Place::destination:
                fail(fmt::format("expected destinations as [LID, COUNT, \"0xGUID\"], found {}", found));
            case Place::switches:
                fail(fmt::format("expected a switch as an object, found {}", found));
            default:
                break;
        }
        const bool number = key_ == "version" || key_ == "lid";
        const bool array = key_ == "switches" || key_ == "destinations";
        fail(fmt::format("\"{}\": expected {}, found {}", key_,
                         number  ? "a number"
                         : array ? "an array"
                                 : "a string",
                         found));
    }

    std::uint64_t guid(std::string_view text) const {
        const auto value = text.starts_with("0x") ? parse_hex(text) : std::nullopt;
        if (!value || *value == 0) fail("expected a GUID like \"0x0002c90200000001\", found " + excerpt(text));
        return *value;
    }

    std::vector<std::uint8_t> row(std::string_view text) const {
        auto bytes = decode_base64(text);
        if (!bytes) fail(fmt::format("\"{}\": expected base64, found {}", key_, excerpt(text)));
        if (bytes->size() > std::size_t{max_unicast_lid} + 1)
            fail(fmt::format("\"{}\" has {} entries; expected at most 49152, one a LID", key_, bytes->size()));
        return std::move(*bytes);
    }

    void end_destination() {
        const auto [lid, count, owner] = destination_;
        if (field_ != 3) fail("expected a destination as [LID, COUNT, \"0xGUID\"]");
        if (count == 0 || count > most_lids_a_port || lid == 0 || lid > max_unicast_lid ||
            lid + count - 1 > max_unicast_lid)
            fail(fmt::format("destination [{}, {}, ...]: expected LIDs from 1 to 49151, and 1 to 128 of them", lid,
                             count));
        for (std::uint64_t i = 0; i < count; ++i) collector_.owner(lid + i, Guid{owner});
    }

    void end_table() {
        if (table_.guid == no_guid) fail("a switch without \"guid\"; expected one");
        if (!table_.lanes.empty() && table_.lanes.size() != table_.ports.size())
            fail(fmt::format("{} lanes for {} ports; expected as many", table_.lanes.size(), table_.ports.size()));
        for (const std::uint8_t lane : table_.lanes)
            if (lane > last_data_lane) fail(fmt::format("virtual lane {}; expected 0 to {}", lane, last_data_lane));
        collector_.begin_switch(table_.line, table_.guid, table_.lid, {});
        file_->switches.back() = std::move(table_);
    }

    [[noreturn]] void fail(const std::string& message) const { collector_.fail(position_->line, message); }

    TableFile* file_;
    Collector collector_;
    const Position* position_;
    Place place_ = Place::outside;
    std::size_t skip_ = 0;  // depth inside a value that means nothing here
    std::string key_;
    SwitchTable table_;
    std::array<std::uint64_t, 3> destination_{};
    std::size_t field_ = 0;
    bool has_mark_ = false;
    bool has_version_ = false;
    bool has_switches_ = false;
};

}  // namespace

void parse_json(std::string_view text, TableFile& file) {
    file.format = TableFormat::json;
    Position position;
    Handler handler(file, text.size(), position);
    nlohmann::json::sax_parse(CountingIterator(text.data(), &position),
                              CountingIterator(text.data() + text.size(), &position), &handler);
}

}  // namespace loom::routing::io
