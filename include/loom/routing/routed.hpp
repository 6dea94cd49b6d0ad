// The one way to a fabric that can be asked: its LIDs known, its switches numbered, its tables read or made.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/table_io.hpp"
#include "loom/routing/tables.hpp"

namespace loom::routing {

// The graph points into the fabric, so it stays where it was made.
struct RoutedFabric {
    fabric::Fabric fabric;
    std::unique_ptr<SwitchGraph> graph;
    Tables tables;                     // empty where none were asked for
    std::vector<std::string> remarks;  // what was odd about files, LIDs and routes, in the order of reading

    RoutedFabric() = default;
    RoutedFabric(const RoutedFabric&) = delete;
    RoutedFabric& operator=(const RoutedFabric&) = delete;
};

// Where LIDs and tables come from. Without tables and engine there are none.
struct Sources {
    std::filesystem::path tables = {};  // a file of them; "-" is standard input
    Fit fit = Fit::same;                // of those tables
    const Engine* engine = nullptr;     // routes now; not beside tables
    RouteOptions route = {};            // for the engine
    unsigned lmc = 0;                   // 2^lmc LIDs for hosts that have none
    bool expects_lids = true;           // a remark says so where LIDs had to be invented
};

// Makes graph and tables of routed.fabric, to which a file's fabric was moved before. A fabric without LIDs takes those
// that the tables say who owns; ports that are left without get one. What is odd is added to routed.remarks. Throws as
// read_tables, bind_tables, complete_lids, SwitchGraph and the engine do.
void open(RoutedFabric& routed, const Sources& sources);

}  // namespace loom::routing
