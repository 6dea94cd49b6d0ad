#include "loom/report/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "loom/base/plot.hpp"
#include "loom/base/table.hpp"
#include "report/groups.hpp"

namespace loom::report {

namespace {

using fabric::Fabric;
using fabric::Levels;

constexpr double width = 1200;
constexpr double margin = 130;  // left, for the names of the levels
constexpr const char* idle_colour = "#8f9aa3";
constexpr const char* switch_colour = "#5b7083";
constexpr const char* host_colour = "#4c8ed9";

class Painter {
public:
    Painter(const Fabric& fabric, const Levels& levels, const PictureOptions& options, std::span<const double> load)
        : fabric_(fabric),
          levels_(levels),
          options_(options),
          load_(load),
          groups_(group_switches(fabric, levels, options.most_switches, load)),
          place_(groups_.boxes.size()),
          angle_(groups_.boxes.size()) {
        for (const Box& box : groups_.boxes) {
            hosts_ += box.hosts;
            // As wide as the longest name wants, where there is room for that.
            box_width_ = std::clamp(room_for(name_on(box)), box_width_, 150.0);
        }
        for (const Bundle& bundle : groups_.bundles) worst_ = std::max(worst_, bundle.load);
        if (draws_hosts())
            for (const double flows : load) worst_ = std::max(worst_, flows);
    }

    Svg paint() {
        const bool ring = levels_.top == 0 && !groups_.bundles.empty();
        const double head = options_.title.empty() ? 16 : 44;
        const double bottom = ring ? place_on_ring(head) : place_in_rows(head);
        Svg svg(width, bottom + (load_.empty() ? 12 : 52), options_.title.empty() ? "Fabric" : options_.title);
        svg.style(
            ".wire line,.wire path{fill:none}.box{stroke:none}.lit line,.lit path{opacity:.07}"
            ".lit .on{opacity:1!important;stroke-width:2.2}");
        if (!options_.title.empty()) svg.text({16, 26}, options_.title, "class=\"head\"");
        draw_bundles(svg, ring);
        draw_boxes(svg);
        if (!ring) draw_row_names(svg);
        if (!load_.empty()) draw_legend(svg, bottom + 24);
        return svg;
    }

private:
    [[nodiscard]] bool draws_hosts() const { return hosts_ <= options_.most_hosts; }

    double place_in_rows(double head) {
        const double rise =
            std::clamp(100.0 + 2.2 * std::sqrt(static_cast<double>(groups_.bundles.size())), 110.0, 230.0);
        const double base = head + 24 + rise * static_cast<double>(groups_.rows.size() - 1);
        for (std::size_t level = 0; level < groups_.rows.size(); ++level) {
            const auto& row = groups_.rows[level];
            const double pitch = (width - margin - 20) / static_cast<double>(std::max<std::size_t>(row.size(), 1));
            box_width_ = std::min(box_width_, std::clamp(pitch * 0.72, 2.0, box_width_));
            for (std::size_t i = 0; i < row.size(); ++i)
                place_[row[i]] = {margin + pitch * (static_cast<double>(i) + 0.5),
                                  base - rise * static_cast<double>(level)};
        }
        return base + (draws_hosts() ? 64 : 44);
    }

    double place_on_ring(double head) {
        const double radius = 330;
        const Point centre{width / 2, head + radius + 60};
        const auto& row = groups_.rows[0];
        for (std::size_t i = 0; i < row.size(); ++i) {
            angle_[row[i]] =
                2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(row.size()) - std::numbers::pi / 2;
            place_[row[i]] = {centre.x + radius * std::cos(angle_[row[i]]),
                              centre.y + radius * std::sin(angle_[row[i]])};
        }
        box_width_ = std::clamp(2 * std::numbers::pi * radius / static_cast<double>(row.size()) * 0.7, 3.0, 40.0);
        ring_centre_ = centre;
        return centre.y + radius + 60;
    }

    [[nodiscard]] std::string colour(double flows) const {
        if (load_.empty()) return idle_colour;
        if (!(flows > 0)) return idle_colour;
        return heat_colour(std::log(std::max(flows, 1.0)) / std::log(std::max(worst_, 4.0)));
    }

    [[nodiscard]] std::string box_name(const Box& box) const {
        const std::string first = describe(fabric_, box.switches.front());
        if (box.switches.size() == 1) return first;
        return fmt::format("{} switches, {} to {}", box.switches.size(), first, describe(fabric_, box.switches.back()));
    }

    [[nodiscard]] std::string name_on(const Box& box) const {
        return box.switches.size() == 1 ? fabric_.node(box.switches.front()).name
                                        : fmt::format("{}", box.switches.size());
    }
    [[nodiscard]] static double room_for(std::string_view name) {
        return 6.2 * static_cast<double>(display_width(name)) + 4;
    }

    [[nodiscard]] std::string flow_text(double flows) const { return axis_number(flows) + ' ' + options_.load_word; }

    [[nodiscard]] std::string bundle_text(const Bundle& bundle) const {
        std::string text =
            fmt::format("{} – {}", box_name(groups_.boxes[bundle.lower]), box_name(groups_.boxes[bundle.upper]));
        if (bundle.cables > 1) text += fmt::format("\n{} cables", grouped(bundle.cables));
        if (!load_.empty() && bundle.hottest != no_port) {
            const fabric::Port& from = fabric_.port(bundle.hottest);
            const fabric::Port& to = fabric_.port(from.peer);
            text += fmt::format("\n{}{}: {} to {}", bundle.cables > 1 ? "at most " : "", flow_text(bundle.load),
                                describe(fabric_, from.node, from.number), describe(fabric_, to.node, to.number));
        }
        return text;
    }

    void draw_bundles(Svg& svg, bool ring) {
        std::vector<const Bundle*> order;
        for (const Bundle& bundle : groups_.bundles) order.push_back(&bundle);
        std::stable_sort(order.begin(), order.end(),
                         [](const Bundle* a, const Bundle* b) { return a->load < b->load; });
        const std::size_t count = order.size();
        const double thick = count <= 80 ? 2.0 : count <= 600 ? 1.2 : count <= 2500 ? 0.7 : 0.5;
        const double opacity = count <= 80 ? 0.95 : count <= 600 ? 0.75 : count <= 2500 ? 0.5 : 0.38;
        svg.open("class=\"wire\"");
        for (std::size_t i = 0; i < count;) {
            const std::string stroke = colour(order[i]->load);
            // Hot lines are few: drawn stronger, they are not lost in the crowd.
            const double emphasis =
                worst_ > 1 && order[i]->load > 1 ? std::log(order[i]->load) / std::log(std::max(worst_, 2.0)) : 0;
            svg.open(fmt::format("stroke=\"{}\" stroke-width=\"{:.2f}\" opacity=\"{:.2f}\"", stroke,
                                 thick * (1 + emphasis), std::min(1.0, opacity + 0.35 * emphasis)));
            for (; i < count && colour(order[i]->load) == stroke; ++i) draw_bundle(svg, *order[i], ring);
            svg.close();
        }
        svg.close();
    }

    void draw_bundle(Svg& svg, const Bundle& bundle, bool ring) {
        const Point a = place_[bundle.lower], b = place_[bundle.upper];
        const std::string ends = fmt::format("data-ends=\"{} {}\"", bundle.lower, bundle.upper);
        if (!ring && a.y != b.y) {
            svg.line({a.x, a.y - 7}, {b.x, b.y + 7}, ends, bundle_text(bundle));
            return;
        }
        const Point middle = ring ? Point{(a.x + b.x) / 4 + ring_centre_.x / 2, (a.y + b.y) / 4 + ring_centre_.y / 2}
                                  : Point{(a.x + b.x) / 2, a.y - 20 - std::abs(a.x - b.x) * 0.12};
        svg.path(fmt::format("M{} {}Q{} {} {} {}", Svg::number(a.x), Svg::number(a.y), Svg::number(middle.x),
                             Svg::number(middle.y), Svg::number(b.x), Svg::number(b.y)),
                 ends, bundle_text(bundle));
    }

    void draw_boxes(Svg& svg) {
        for (std::size_t i = 0; i < groups_.boxes.size(); ++i) {
            const Box& box = groups_.boxes[i];
            const Point at = place_[i];
            if (draws_hosts()) draw_hosts(svg, i);
            std::string hover = box_name(box);
            if (box.hosts > 0) hover += '\n' + counted(box.hosts, "host", "hosts");
            svg.rect({at.x - box_width_ / 2, at.y - 7}, box_width_, 14,
                     fmt::format("class=\"box\" rx=\"{}\" fill=\"{}\" data-box=\"{}\"", box_width_ > 12 ? 3 : 1,
                                 switch_colour, i),
                     hover);
            const std::string name = name_on(box);
            if (room_for(name) <= box_width_)
                svg.text({at.x, at.y + 3.5}, name,
                         "text-anchor=\"middle\" style=\"font-size:10px;fill:#fff\" pointer-events=\"none\"");
            if (!draws_hosts() && box.hosts > 0 &&
                box_width_ >= 6.0 * static_cast<double>(std::to_string(box.hosts).size()) && groups_.rows.size() > 1)
                svg.text({at.x, at.y + 20}, std::to_string(box.hosts),
                         "text-anchor=\"middle\" class=\"faint\" style=\"font-size:10px\"");
        }
    }

    void draw_hosts(Svg& svg, std::size_t index) {
        const Box& box = groups_.boxes[index];
        if (box.hosts == 0) return;
        const Point at = place_[index];
        const bool ring = ring_centre_.x > 0;
        const bool leaf = levels_.level[box.switches.front().value] == 0;
        const double room = ring ? 30 : std::min(box_width_ * 1.35, 9.0 * static_cast<double>(box.hosts));
        std::size_t number = 0;
        for (const NodeId node : box.switches)
            for (const fabric::Port& port : fabric_.ports(node)) {
                if (!port.connected() || fabric_.node(fabric_.port(port.peer).node).kind == fabric::NodeKind::switch_)
                    continue;
                const double share = (static_cast<double>(number++) + 0.5) / static_cast<double>(box.hosts) - 0.5;
                Point host{at.x + room * share, at.y + (leaf ? 36 : -26)};
                if (ring) {
                    const double turn =
                        angle_[index] + share * 0.8 * 2 * std::numbers::pi / static_cast<double>(groups_.boxes.size());
                    host = {ring_centre_.x + 365 * std::cos(turn), ring_centre_.y + 365 * std::sin(turn)};
                }
                const PortIndex here = fabric_.port_index(node, port.number);
                const double flows = load_.empty() ? 0 : std::max(load_[here.value], load_[port.peer.value]);
                std::string hover = describe(fabric_, fabric_.port(port.peer).node);
                if (!load_.empty()) hover += fmt::format("\n{}", flow_text(flows));
                svg.line(at, host, fmt::format("stroke=\"{}\" stroke-width=\"1.2\" opacity=\".8\"", colour(flows)));
                svg.circle(host, 3.2, fmt::format("fill=\"{}\"", host_colour), hover);
            }
    }

    void draw_row_names(Svg& svg) {
        for (std::size_t level = 0; level < groups_.rows.size(); ++level) {
            const auto& row = groups_.rows[level];
            if (row.empty()) continue;
            std::size_t switches = 0, fewest = SIZE_MAX, most = 0;
            for (const std::size_t box : row) {
                switches += groups_.boxes[box].switches.size();
                fewest = std::min(fewest, groups_.boxes[box].hosts);
                most = std::max(most, groups_.boxes[box].hosts);
            }
            const double y = place_[row.front()].y;
            const std::string name = groups_.rows.size() == 1 ? "switches"
                                     : level == 0             ? "leaves"
                                     : level == levels_.top   ? "roots"
                                                              : fmt::format("level {}", level);
            svg.text({16, y - 2}, name, "style=\"font-weight:600\"");
            std::string detail = counted(switches, "switch", "switches");
            if (switches > row.size()) detail += fmt::format(" in {}", row.size());
            svg.text({16, y + 13}, detail, "class=\"faint\" style=\"font-size:11px\"");
            if (most > 0 && level == 0)
                svg.text({16, y + 27},
                         fewest == most ? counted(most, "host", "hosts") + " each"
                                        : fmt::format("{} to {} hosts each", fewest, most),
                         "class=\"faint\" style=\"font-size:11px\"");
        }
    }

    void draw_legend(Svg& svg, double y) {
        const double left = margin, step = 4;
        const double top = std::max(worst_, 4.0);
        const int steps = 50;
        svg.text({left - 8, y + 9}, worst_ > 0 ? "1" : "", "text-anchor=\"end\"");
        for (int i = 0; i < steps; ++i)
            svg.rect({left + i * step, y}, step + 0.5, 10,
                     fmt::format("fill=\"{}\"", heat_colour(i / double(steps - 1))));
        svg.text({left + steps * step + 8, y + 9},
                 worst_ < top ? fmt::format("{} (none beyond {} here)", flow_text(top), axis_number(worst_))
                              : fmt::format("{} on the busiest cable", flow_text(top)));
        svg.rect({width - 180, y}, 24, 10, fmt::format("fill=\"{}\"", idle_colour));
        svg.text({width - 148, y + 9}, "no load");
    }

    const Fabric& fabric_;
    const Levels& levels_;
    const PictureOptions& options_;
    std::span<const double> load_;
    Groups groups_;
    std::vector<Point> place_;
    std::vector<double> angle_;
    Point ring_centre_;
    double box_width_ = 64;
    double worst_ = 0;
    std::size_t hosts_ = 0;
};

}  // namespace

Svg draw_fabric(const Fabric& fabric, const Levels& levels, const PictureOptions& options,
                std::span<const double> load) {
    return Painter(fabric, levels, options, load).paint();
}

}  // namespace loom::report
