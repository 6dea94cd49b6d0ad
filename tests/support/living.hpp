// Living fabrics for tests: counters from a script, parameters in a map, a clock that jumps.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/fabric/living.hpp"

namespace loom::test {

class FakeParameters : public fabric::CongestionParameters {
public:
    std::uint16_t marking_rate(PortIndex port) override {
        const auto found = rates.find(port.value);
        return found == rates.end() ? std::uint16_t{128} : found->second;
    }
    void set_marking_rate(PortIndex port, std::uint16_t rate) override {
        ++calls;
        if (refuse && refuse(port, rate)) throw Error("not on this switch");
        rates[port.value] = rate;
    }

    std::map<std::uint32_t, std::uint16_t> rates;
    std::function<bool(PortIndex, std::uint16_t)> refuse;
    unsigned calls = 0;
};

// Counts up what `rate` says, by words and ticks a second, while the clock jumps.
class FakeFabric : public fabric::CounterSource, public fabric::Clock {
public:
    using Rate = std::function<void(Time, std::map<std::uint32_t, fabric::PortCounters>&)>;

    FakeFabric(Rate per_second, Time end) : per_second_(std::move(per_second)), end_(end) {}

    void read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) override {
        ++read_calls;
        for (std::size_t i = 0; i < ports.size(); ++i) {
            if (broken && broken(ports[i], now_)) throw Error("no answer");
            counters[i] = totals[ports[i].value];
        }
    }
    Time now() override { return now_; }
    bool sleep_until(Time time) override {
        slept.push_back(time - now_);
        if (time > end_) return false;
        std::map<std::uint32_t, fabric::PortCounters> speed;
        per_second_(now_, speed);
        const double seconds = (time - now_).seconds();
        const auto add = [&](std::uint64_t& total, std::uint64_t rate) {
            total += static_cast<std::uint64_t>(static_cast<double>(rate) * seconds);
        };
        for (const auto& [port, rate] : speed) {
            add(totals[port].xmit_data, rate.xmit_data);
            add(totals[port].xmit_wait, rate.xmit_wait);
            add(totals[port].xmit_cong_time, rate.xmit_cong_time);
        }
        now_ = time;
        return true;
    }

    std::map<std::uint32_t, fabric::PortCounters> totals;
    std::function<bool(PortIndex, Time)> broken;
    std::vector<Time> slept;
    unsigned read_calls = 0;

private:
    Rate per_second_;
    Time end_;
    Time now_;
};

// Fig. 2 of the paper: A, X on S1; B, C, D, Y on S2; port 15 of S1 joined to port 20 of S2.
struct Testbed {
    fabric::Fabric fabric;
    NodeId s1, s2;
    PortIndex root, victim;  // (S2, 23), to D, and (S1, 15)

    Testbed() {
        using fabric::NodeKind;
        const fabric::LinkRate sdr{fabric::Width::x4, fabric::Speed::sdr};
        s1 = fabric.add_node(NodeKind::switch_, 36, "S1");
        s2 = fabric.add_node(NodeKind::switch_, 36, "S2");
        fabric.connect(s1, PortNum{15}, s2, PortNum{20});
        const auto host = [&](const char* name, NodeId leaf, std::uint8_t port) {
            fabric.connect(leaf, PortNum{port}, fabric.add_node(NodeKind::host, 1, name), PortNum{1}, sdr);
        };
        host("X", s1, 11);
        host("A", s1, 12);
        host("B", s2, 21);
        host("C", s2, 22);
        host("D", s2, 23);
        host("Y", s2, 24);
        root = fabric.port_index(s2, PortNum{23});
        victim = fabric.port_index(s1, PortNum{15});
    }

    // As Fig. 5 has it: congested while marking is rare; the victim flow speeds up when the contributors slow down.
    // Once the victim flow has ended, lowering the rate would only slow the port down.
    FakeFabric::Rate behaviour(FakeParameters& parameters, Time begin, Time victim_ends, Time contributors_end) const {
        return [=, this, &parameters](Time now, auto& speed) {
            const bool contributors = now >= begin && now < contributors_end;
            const bool held = parameters.marking_rate(root) == 0;
            if (contributors && !held) {
                speed[root.value].xmit_cong_time = 6'000'000;
                speed[victim.value].xmit_wait = 28'000'000;
            }
            std::uint64_t& words = speed[victim.value].xmit_data;
            if (now < victim_ends) words += contributors && !held ? 90'000'000 : 270'000'000;
            if (contributors) words += held ? 40'000'000 : 90'000'000;
        };
    }
};

}  // namespace loom::test
