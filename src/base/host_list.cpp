#include "loom/base/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom {
namespace {

// At the comma outside brackets, or the end.
std::size_t end_of_name(std::string_view text) {
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[') inside = true;
        if (text[i] == ']') inside = false;
        if (text[i] == ',' && !inside) return i;
    }
    return text.size();
}

// The numbers of "001-018,020" as text.
std::vector<std::string> expand_ranges(std::string_view inside, std::size_t most) {
    std::vector<std::string> result;
    while (true) {
        const auto comma = inside.find(',');
        const std::string_view range = inside.substr(0, comma);
        const auto dash = range.find('-');
        const std::string_view first = range.substr(0, dash);
        const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
        const auto low = parse_decimal(first), high = parse_decimal(last);
        if (!low || !high || *high < *low || first.size() > 18 || last.size() > 18)
            throw Error("expected numbers such as 001-018 in the brackets of a host list, found " + excerpt(range));
        if (*high - *low >= most - result.size())
            throw Error(fmt::format("the host list has more than {} names", most));
        for (std::uint64_t i = *low; i <= *high; ++i) result.push_back(fmt::format("{:0{}}", i, first.size()));
        if (comma == std::string_view::npos) return result;
        inside.remove_prefix(comma + 1);
    }
}

void expand_name(std::string_view name, std::size_t most, std::vector<std::string>& out) {
    std::vector<std::string> heads{""};
    while (!name.empty()) {
        const auto open = name.find('[');
        const std::string_view plain = name.substr(0, open);
        if (plain.find(']') != std::string_view::npos)
            throw Error("expected [ before ] in the host list, found " + excerpt(name));
        for (std::string& head : heads) head += plain;
        if (open == std::string_view::npos) break;
        const auto close = name.find(']', open);
        if (close == std::string_view::npos) throw Error("expected ] in the host list, found " + excerpt(name));
        const auto numbers = expand_ranges(name.substr(open + 1, close - open - 1), most);
        if (heads.size() > most / numbers.size())
            throw Error(fmt::format("the host list has more than {} names", most));
        std::vector<std::string> next;
        next.reserve(heads.size() * numbers.size());
        for (const std::string& head : heads)
            for (const std::string& number : numbers) next.push_back(head + number);
        heads = std::move(next);
        name.remove_prefix(close + 1);
    }
    if (out.size() + heads.size() > most) throw Error(fmt::format("the host list has more than {} names", most));
    for (std::string& head : heads) {
        if (head.empty()) throw Error("expected a name between the commas of a host list");
        out.push_back(std::move(head));
    }
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text, std::size_t most) {
    std::vector<std::string> names;
    while (true) {
        const std::size_t end = end_of_name(text);
        expand_name(trim(text.substr(0, end)), most, names);
        if (end == text.size()) return names;
        text.remove_prefix(end + 1);
    }
}

std::string compress_host_list(std::span<const std::string> names) {
    // Numbers of one width share brackets: 9 and 10 do, 09 and 10 do, 9 and 010 do not.
    struct Group {
        std::vector<std::uint64_t> numbers;
    };
    std::map<std::tuple<std::string, std::string, std::size_t>, Group> groups;  // before, after, digits when padded
    std::vector<std::string> plain;
    for (const std::string& name : names) {
        const auto last = name.find_last_of("0123456789");
        if (last == std::string::npos) {
            plain.push_back(name);
            continue;
        }
        const auto before_digits = name.find_last_not_of("0123456789", last);
        std::size_t first = before_digits == std::string::npos ? 0 : before_digits + 1;
        if (last - first >= 18) first = last - 17;
        const std::string digits = name.substr(first, last - first + 1);
        const bool padded = digits.size() > 1 && digits.front() == '0';
        groups[{name.substr(0, first), name.substr(last + 1), padded ? digits.size() : 0}].numbers.push_back(
            parse_decimal(digits).value_or(0));
    }
    // 08, 09 belong with 10, 11: all of the padded group's width.
    for (auto& [key, group] : groups) {
        const auto& [before, after, width] = key;
        if (width == 0) continue;
        const auto wide = groups.find({before, after, 0});
        if (wide == groups.end()) continue;
        auto& loose = wide->second.numbers;
        const auto fits = [width = width](std::uint64_t n) { return fmt::formatted_size("{}", n) == width; };
        std::copy_if(loose.begin(), loose.end(), std::back_inserter(group.numbers), fits);
        std::erase_if(loose, fits);
    }
    std::sort(plain.begin(), plain.end());
    plain.erase(std::unique(plain.begin(), plain.end()), plain.end());
    std::string text;
    const auto add = [&](const std::string& item) {
        if (!text.empty()) text += ',';
        text += item;
    };
    for (const std::string& name : plain) add(name);
    for (auto& [key, group] : groups) {
        const auto& [before, after, width] = key;
        auto& numbers = group.numbers;
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        if (numbers.empty()) continue;
        std::string ranges;
        for (std::size_t i = 0; i < numbers.size();) {
            std::size_t j = i;
            while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
            if (!ranges.empty()) ranges += ',';
            ranges += fmt::format("{:0{}}", numbers[i], width);
            if (j > i) ranges += fmt::format("-{:0{}}", numbers[j], width);
            i = j + 1;
        }
        add(before + (numbers.size() == 1 ? ranges : "[" + ranges + "]") + after);
    }
    return text;
}

}  // namespace loom
