// Graphviz: written so that it draws and reads back; read from that and from plain graphs of other tools.
//   graph "title" {
//     "S-…" [label="leaf1", kind=switch, ports=36];
//     "S-…" -- "H-…" [taillabel=1, headlabel=1, label="4xQDR"];
//   }
#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <deque>
#include <unordered_map>
#include <utility>

#include "fabric/io/cabling.hpp"
#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric::io {
namespace {

enum class TokenKind : std::uint8_t { end, word, mark, edge };

struct Token {
    TokenKind kind = TokenKind::end;
    std::string text;  // a word without its quotes, a mark as it stands, "--" or "->"
    std::size_t line = 1;
    bool quoted = false;
};

class Tokens {
public:
    Tokens(std::string_view text, const std::string& file) : text_(text), file_(file) { advance(); }

    [[nodiscard]] const Token& peek() const { return token_; }
    Token take() {
        Token token = std::move(token_);
        advance();
        return token;
    }
    bool take_mark(char mark) {
        if (token_.kind != TokenKind::mark || token_.text[0] != mark) return false;
        advance();
        return true;
    }
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, token_.line, message); }
    [[noreturn]] void expected(std::string_view what) const {
        fail(fmt::format("expected {}, found {}", what,
                         token_.kind == TokenKind::end ? "the end of the file" : excerpt(token_.text)));
    }

private:
    static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
               static_cast<unsigned char>(c) >= 0x80;
    }

    void skip() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            const std::string_view rest = text_.substr(at_);
            if (c == '\n') {
                ++line_;
                ++at_;
                start_of_line_ = true;
            } else if (is_blank(c) || c == '\r') {
                ++at_;
            } else if (rest.starts_with("//") || (c == '#' && start_of_line_)) {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (rest.starts_with("/*")) {
                const auto close = text_.find("*/", at_ + 2);
                if (close == std::string_view::npos)
                    throw ParseError(file_, line_, "expected */ at the end of the comment");
                line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                             text_.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
                at_ = close + 2;
            } else {
                break;
            }
        }
        start_of_line_ = false;
    }

    void advance() {
        skip();
        token_ = Token{};
        token_.line = line_;
        if (at_ == text_.size()) return;
        const char c = text_[at_];
        if (c == '"') return read_quoted();
        if (c == '-' && at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '>')) {
            token_.kind = TokenKind::edge;
            token_.text = text_.substr(at_, 2);
            at_ += 2;
        } else if (is_word(c) || c == '-') {
            const std::size_t begin = at_++;
            while (at_ < text_.size() && is_word(text_[at_])) ++at_;
            token_.kind = TokenKind::word;
            token_.text = text_.substr(begin, at_ - begin);
        } else if (std::string_view("{}[];,=:").find(c) != std::string_view::npos) {
            token_.kind = TokenKind::mark;
            token_.text = std::string(1, c);
            ++at_;
        } else {
            throw ParseError(file_, line_,
                             "expected a name, a sign or an edge of a graph, found " + excerpt(text_.substr(at_, 1)));
        }
    }

    void read_quoted() {
        token_.kind = TokenKind::word;
        token_.quoted = true;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\'))
                ++at_;
            if (text_[at_] == '\n') ++line_;
            token_.text += text_[at_];
        }
        if (at_ == text_.size()) throw ParseError(file_, token_.line, "expected a closing quote");
        ++at_;
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    bool start_of_line_ = true;
    Token token_;
};

struct Vertex {
    std::string id;
    std::string label;
    bool labelled = false;
    std::optional<NodeKind> kind;
    unsigned ports = 0;
    std::size_t line = 0;
    std::size_t edges = 0;
    std::bitset<256> used;
    NodeId node = no_node;
};

struct Edge {
    std::size_t a, b;
    unsigned a_port, b_port;  // 0: any that is free
    LinkRate rate;
    std::size_t line;
};

struct Attributes {
    std::vector<std::pair<std::string, std::string>> items;
    [[nodiscard]] const std::string* find(std::string_view key) const {
        for (const auto& [name, value] : items)
            if (name == key) return &value;
        return nullptr;
    }
};

class DotReader {
public:
    DotReader(std::string_view text, const std::string& file) : file_(file), tokens_(text, file) {}

    Reading read() {
        reading_.format = Format::dot;
        read_head();
        for (unsigned depth = 1; depth != 0;) {
            if (tokens_.peek().kind == TokenKind::end) tokens_.expected("}");
            if (tokens_.take_mark('}'))
                --depth;
            else if (tokens_.take_mark('{'))
                ++depth;
            else if (!tokens_.take_mark(';') && !tokens_.take_mark(','))
                read_statement();
        }
        build();
        return std::move(reading_);
    }

private:
    void read_head() {
        if (is_keyword("strict")) (void)tokens_.take();
        if (is_keyword("digraph"))
            directed_ = true;
        else if (!is_keyword("graph"))
            tokens_.expected("graph or digraph");
        (void)tokens_.take();
        if (tokens_.peek().kind == TokenKind::word) (void)tokens_.take();
        if (!tokens_.take_mark('{')) tokens_.expected("{");
    }
    bool is_keyword(std::string_view word) const {
        const Token& token = tokens_.peek();
        return token.kind == TokenKind::word && !token.quoted && token.text == word;
    }

    void read_statement() {
        if (is_keyword("subgraph")) {  // its brace is counted by the loop
            (void)tokens_.take();
            if (tokens_.peek().kind == TokenKind::word) (void)tokens_.take();
            return;
        }
        if (is_keyword("graph") || is_keyword("node") || is_keyword("edge")) {
            (void)tokens_.take();
            (void)read_attributes();
            return;
        }
        if (tokens_.peek().kind != TokenKind::word) tokens_.expected("a node, an edge or }");
        const std::size_t line = tokens_.peek().line;
        Token first = tokens_.take();
        if (tokens_.take_mark('=')) {  // a property of the graph
            if (tokens_.peek().kind != TokenKind::word) tokens_.expected("a value");
            (void)tokens_.take();
            return;
        }
        std::vector<std::pair<std::size_t, unsigned>> chain{read_end(std::move(first))};
        while (tokens_.peek().kind == TokenKind::edge) {
            (void)tokens_.take();
            if (tokens_.peek().kind != TokenKind::word)
                tokens_.expected("a node at the end of the edge (groups in braces are not read there)");
            chain.push_back(read_end(tokens_.take()));
        }
        const Attributes attributes = read_attributes();
        if (chain.size() == 1)
            set_node(vertices_[chain.front().first], attributes, line);
        else
            add_edges(chain, attributes, line);
    }

    // A node and, behind a colon, the port it is met at.
    std::pair<std::size_t, unsigned> read_end(Token name) {
        const auto [at, fresh] = index_.try_emplace(name.text, vertices_.size());
        if (fresh) {
            Vertex& vertex = vertices_.emplace_back();
            vertex.id = std::move(name.text);
            vertex.line = name.line;
        }
        unsigned port = 0;
        while (tokens_.take_mark(':')) {
            if (tokens_.peek().kind != TokenKind::word) tokens_.expected("a port after :");
            const std::string text = tokens_.take().text;
            port = std::max(port, port_in(text).value_or(0));
        }
        return {at->second, port};
    }
    static std::optional<unsigned> port_in(std::string_view text) {
        if (text.starts_with('p') || text.starts_with('P')) text.remove_prefix(1);
        const auto number = parse_decimal(text);
        if (!number || *number == 0 || *number > 254) return std::nullopt;
        return static_cast<unsigned>(*number);
    }

    Attributes read_attributes() {
        Attributes attributes;
        while (tokens_.take_mark('[')) {
            while (!tokens_.take_mark(']')) {
                if (tokens_.peek().kind != TokenKind::word) tokens_.expected("an attribute or ]");
                std::string key = tokens_.take().text, value = "true";
                if (tokens_.take_mark('=')) {
                    if (tokens_.peek().kind != TokenKind::word) tokens_.expected("a value");
                    value = tokens_.take().text;
                }
                attributes.items.emplace_back(std::move(key), std::move(value));
                if (!tokens_.take_mark(',')) (void)tokens_.take_mark(';');
            }
        }
        return attributes;
    }

    void set_node(Vertex& vertex, const Attributes& attributes, std::size_t line) {
        if (const auto* label = attributes.find("label")) {
            vertex.label = *label;
            vertex.labelled = true;
        }
        if (const auto* kind = attributes.find("kind")) {
            if (*kind == "switch")
                vertex.kind = NodeKind::switch_;
            else if (*kind == "host")
                vertex.kind = NodeKind::host;
            else if (*kind == "router")
                vertex.kind = NodeKind::router;
            else
                throw ParseError(file_, line, "expected a kind of switch, host or router, found " + excerpt(*kind));
        }
        if (const auto* ports = attributes.find("ports")) {
            const auto number = parse_decimal(*ports);
            if (!number || *number > 254)
                throw ParseError(file_, line, "expected a number of ports of at most 254, found " + excerpt(*ports));
            vertex.ports = static_cast<unsigned>(*number);
        }
    }

    void add_edges(const std::vector<std::pair<std::size_t, unsigned>>& chain, const Attributes& attributes,
                   std::size_t line) {
        LinkRate rate;
        if (const auto* label = attributes.find("label")) rate = parse_rate(*label).value_or(rate);
        for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
            Edge edge{chain[i].first, chain[i + 1].first, chain[i].second, chain[i + 1].second, rate, line};
            if (chain.size() == 2) {
                if (const auto* tail = attributes.find("taillabel"); tail != nullptr && edge.a_port == 0)
                    edge.a_port = port_in(*tail).value_or(0);
                if (const auto* head = attributes.find("headlabel"); head != nullptr && edge.b_port == 0)
                    edge.b_port = port_in(*head).value_or(0);
            }
            ++vertices_[edge.a].edges;
            ++vertices_[edge.b].edges;
            if (edge.a_port != 0) vertices_[edge.a].used.set(edge.a_port);
            if (edge.b_port != 0) vertices_[edge.b].used.set(edge.b_port);
            edges_.push_back(edge);
        }
    }

    unsigned free_port(Vertex& vertex, std::size_t line) {
        for (unsigned port = 1; port <= 254; ++port)
            if (!vertex.used.test(port)) {
                vertex.used.set(port);
                return port;
            }
        throw ParseError(file_, line,
                         fmt::format("{} would need more than 254 ports, expected fewer edges", excerpt(vertex.id)));
    }

    void build() {
        std::size_t chosen = 0, guessed = 0;
        for (Edge& edge : edges_) {
            if (edge.a_port == 0 || edge.b_port == 0) ++chosen;
            if (edge.a_port == 0) edge.a_port = free_port(vertices_[edge.a], edge.line);
            if (edge.b_port == 0) edge.b_port = free_port(vertices_[edge.b], edge.line);
        }
        std::unordered_map<Guid, std::size_t> guids;
        for (Vertex& vertex : vertices_) {
            unsigned highest = vertex.ports;
            for (unsigned port = 254; port > highest; --port)
                if (vertex.used.test(port)) highest = port;
            const auto guid = guid_in_id(vertex.id);
            if (guid && !guids.try_emplace(*guid, vertex.line).second)
                throw ParseError(file_, vertex.line,
                                 fmt::format("GUID {} is already used by the node on line {}, expected one of its own",
                                             to_string(*guid), guids[*guid]));
            if (!vertex.kind && guid)
                vertex.kind = vertex.id[0] == 'S'   ? NodeKind::switch_
                              : vertex.id[0] == 'H' ? NodeKind::host
                                                    : NodeKind::router;
            if (!vertex.kind) {
                ++guessed;
                vertex.kind = vertex.edges <= 1 ? NodeKind::host : NodeKind::switch_;
            }
            if (*vertex.kind != NodeKind::switch_)
                highest = std::max(highest, 1u);  // an adapter has a port, cable or not
            vertex.node = reading_.fabric.add_node(*vertex.kind, static_cast<std::uint8_t>(highest),
                                                   vertex.labelled ? vertex.label
                                                   : guid          ? std::string{}
                                                                   : vertex.id,
                                                   guid.value_or(no_guid));
        }
        Cabling cabling(reading_.fabric, file_, Sides::one);
        for (const Edge& edge : edges_)
            cabling.state(vertices_[edge.a].node, edge.a_port, vertices_[edge.b].node, edge.b_port, edge.rate,
                          edge.line);
        auto& remarks = reading_.remarks;
        cabling.report(remarks);
        if (directed_) remarks.push_back("the graph is directed; each edge was taken as a cable");
        if (guessed != 0)
            remarks.push_back(fmt::format("{} node{} no kind; with one edge it is a host, with more a switch", guessed,
                                          guessed == 1 ? " has" : "s have"));
        if (chosen != 0)
            remarks.push_back(fmt::format("{} edge{} not say which ports it joins; free ones were taken in order",
                                          chosen, chosen == 1 ? " does" : "s do"));
    }

    const std::string& file_;
    Tokens tokens_;
    Reading reading_;
    bool directed_ = false;
    std::deque<Vertex> vertices_;
    std::unordered_map<std::string, std::size_t> index_;
    std::vector<Edge> edges_;
};

std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

}  // namespace

Reading read_dot(std::string_view text, const std::string& file) {
    return DotReader(text, file).read();
}

void write_dot(const Fabric& fabric, std::ostream& out) {
    Output text(out);
    text.put("graph {} {{\n  node [shape=ellipse];\n", in_quotes(fabric.title));
    for (const Node& node : fabric.nodes()) {
        const std::string_view kind = node.kind == NodeKind::switch_ ? "switch"
                                      : node.kind == NodeKind::host  ? "host"
                                                                     : "router";
        text.put("  \"{}\" [label={}, kind={}, ports={}{}];\n", id_of(node), in_quotes(node.name), kind, node.ports,
                 node.kind == NodeKind::switch_ ? ", shape=box" : "");
    }
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const Port& port = fabric.port(PortIndex{i});
        if (!port.connected() || port.peer.value < i) continue;
        const Port& peer = fabric.port(port.peer);
        text.put("  \"{}\" -- \"{}\" [taillabel={}, headlabel={}, label=\"{}\"];\n", id_of(fabric.node(port.node)),
                 id_of(fabric.node(peer.node)), port.number.value, peer.number.value, to_string(port.rate));
    }
    text.put("}}\n");
}

}  // namespace loom::fabric::io
