#include "transport/launch/tagger.hpp"

namespace loom::transport::launching {

std::string Tagger::add(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        line_ += text.substr(0, end);
        if (end == std::string_view::npos) break;
        out += tag_ + line_ + '\n';
        line_.clear();
        text.remove_prefix(end + 1);
    }
    if (line_.size() > longest_line) out += rest();
    return out;
}

std::string Tagger::rest() {
    if (line_.empty()) return {};
    std::string out = tag_ + line_ + '\n';
    line_.clear();
    return out;
}

}  // namespace loom::transport::launching
