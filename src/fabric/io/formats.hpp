// What each format's file offers to io.cpp. `remarks` of the Reading are filled, the title is not.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "loom/fabric/io.hpp"

namespace loom::fabric::io {

[[nodiscard]] Reading read_json(std::string_view text, const std::string& file);
void write_json(const Fabric& fabric, std::ostream& out);

// Node records: what ibnetdiscover prints (but for -p) and what ibsim reads.
[[nodiscard]] Reading read_records(std::string_view text, const std::string& file, Format format);
void write_ibnetdiscover(const Fabric& fabric, std::ostream& out, Discovery discovery);
// ibnetdiscover -p.
[[nodiscard]] Reading read_port_report(std::string_view text, const std::string& file);
void write_port_report(const Fabric& fabric, std::ostream& out);
void write_ibsim(const Fabric& fabric, std::ostream& out);

[[nodiscard]] Reading read_topo(std::string_view text, const std::string& file);
void write_topo(const Fabric& fabric, std::ostream& out);
[[nodiscard]] Reading read_subnet_lst(std::string_view text, const std::string& file);
void write_subnet_lst(const Fabric& fabric, std::ostream& out);
[[nodiscard]] Reading read_db_csv(std::string_view text, const std::string& file);
void write_db_csv(const Fabric& fabric, std::ostream& out);
[[nodiscard]] Reading read_slurm(std::string_view text, const std::string& file);
void write_slurm(const Fabric& fabric, std::ostream& out);
[[nodiscard]] Reading read_dot(std::string_view text, const std::string& file);
void write_dot(const Fabric& fabric, std::ostream& out);

}  // namespace loom::fabric::io
