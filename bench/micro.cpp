// Small kernels under Google Benchmark: for finding out what a change to one of them does.
#include <benchmark/benchmark.h>

#include <sstream>
#include <string>

#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "sizes.hpp"

namespace {

using namespace loom;

fabric::Fabric six_hundred() {
    return bench::all_sizes().front().make();
}

void generate(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(fabric::pgft(bench::all_sizes().front().tree));
}
BENCHMARK(generate)->Unit(benchmark::kMicrosecond);

void graph(benchmark::State& state) {
    const fabric::Fabric fabric = six_hundred();
    for (auto _ : state) benchmark::DoNotOptimize(routing::SwitchGraph(fabric));
}
BENCHMARK(graph)->Unit(benchmark::kMicrosecond);

// One for each engine there is.
const bool routes_registered = [] {
    for (const routing::Engine& engine : routing::engines())
        benchmark::RegisterBenchmark(("route/" + std::string(engine.name)).c_str(), [&engine](benchmark::State& state) {
            const fabric::Fabric fabric = six_hundred();
            const routing::SwitchGraph graph(fabric);
            for (auto _ : state) benchmark::DoNotOptimize(engine.route(graph, {}));
        })->Unit(benchmark::kMicrosecond);
    return true;
}();

void read_ibsim(benchmark::State& state) {
    std::ostringstream out;
    fabric::write_fabric(six_hundred(), out, fabric::Format::ibsim);
    const std::string text = out.str();
    for (auto _ : state) benchmark::DoNotOptimize(fabric::parse_fabric(text, "net", fabric::Format::ibsim));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(read_ibsim)->Unit(benchmark::kMicrosecond);

}  // namespace
