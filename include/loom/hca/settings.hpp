// The software HCA's settings, as a command line sees them: names of the variables, and a check of their values.
#pragma once

namespace loom::hca {

// What libloom-verbs.so reads, when a program first asks for devices.
namespace variable {
constexpr const char* hcas = "LOOM_VERBS_HCAS";
constexpr const char* trace = "LOOM_VERBS_TRACE";
constexpr const char* fault = "LOOM_VERBS_FAULT";
constexpr const char* roce_port = "LOOM_VERBS_ROCE_PORT";
constexpr const char* gso = "LOOM_VERBS_GSO";
constexpr const char* shared = "LOOM_VERBS_SHARED";
constexpr const char* ptracer = "LOOM_VERBS_PTRACER";
constexpr const char* realtime = "LOOM_VERBS_REALTIME";
constexpr const char* stats = "LOOM_VERBS_STATS";
}  // namespace variable

// Throws loom::UsageError when a variable of the environment has a value that the library would refuse.
void check_environment();

}  // namespace loom::hca
