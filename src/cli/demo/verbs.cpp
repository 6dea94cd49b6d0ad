// The step of loom demo that runs a verbs program without an adapter.
#include <bit>

#include "cli/demo/demo.hpp"
#include "cli/verbs_bench.hpp"
#include "loom/base/plot.hpp"

namespace loom::cli {

namespace {

std::string section_html(const std::vector<verbs::Speed>& results) {
    Series write{"RDMA write", {}}, read{"RDMA read", {}}, send{"send", {}};
    std::string rows;
    for (const verbs::Speed& result : results) {
        const double x = std::countr_zero(result.size);  // sizes are powers of two
        write.points.emplace_back(x, result.write_gbs);
        read.points.emplace_back(x, result.read_gbs);
        send.points.emplace_back(x, result.send_us);
        rows += fmt::format(
            "<tr><td class=\"n\">{}</td><td class=\"n\">{:.2f}</td><td class=\"n\">{:.3g}</td><td "
            "class=\"n\">{:.3g}</td><td>{}</td></tr>\n",
            human_bytes(result.size), result.send_us, result.write_gbs, result.read_gbs, result.path);
    }
    std::string html =
        "<p>Two processes, one on loom0 and one on loom1: an RC queue pair, the libibverbs interface, and no adapter. "
        "The bytes were compared. Times are of this machine while the demo ran.</p>\n<div "
        "class=\"scroll\"><table><thead><tr><th class=\"n\">size</th><th class=\"n\">send, us one way</th><th "
        "class=\"n\">RDMA write, GB/s</th><th class=\"n\">RDMA read, GB/s</th><th>path of the "
        "writes</th></tr></thead><tbody>\n" +
        rows + "</tbody></table></div>\n<div class=\"pair\">\n";
    const char* x_label = "message of 2^n bytes";
    html += "<figure>" + line_plot({"Bandwidth", x_label, "GB/s", 640, 340}, {write, read}).fragment() + "</figure>\n";
    html += "<figure>" + line_plot({"Latency of a send", x_label, "us", 640, 340}, {send}).fragment() + "</figure>\n";
    return html + "</div>\n";
}

}  // namespace

void demo_verbs(Demo& demo) {
    demo.heading("A verbs program on two software HCAs", {"loom verbs devices --hcas 2", "loom verbs bench"});
    const std::vector<verbs::Speed> results = bench_verbs({});
    demo.show(speed_table(results));
    demo.say(
        "   One process on loom0, one on loom1, and every byte compared. `loom verbs run -- PROGRAM` does the same "
        "for\n"
        "   any program that speaks verbs (docs/hca.md).\n");
    demo.result["verbs"] = to_json(results);
    demo.sections.push_back({"A verbs program on two software HCAs", section_html(results)});
}

}  // namespace loom::cli
