#include "device/host/words.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "device/host/collectives.hpp"

namespace loom::device {

const char* name_of(Function function) {
    static constexpr std::array names{"dcuda_gpu_init",
                                      "dcuda_gpu_finish",
                                      "dcuda_comm_barrier",
                                      "dcuda_win_create",
                                      "dcuda_win_free",
                                      "dcuda_notify",
                                      "dcuda_put",
                                      "dcuda_put_notify",
                                      "dcuda_win_flush",
                                      "dcuda_test_notifications",
                                      "dcuda_wait_notifications",
                                      "dcuda_start_cpu_timer",
                                      "dcuda_stop_cpu_timer",
                                      "dcuda_log",
                                      "dcuda_comm_rank",
                                      "the kernel"};
    const auto index = static_cast<std::size_t>(function);
    return index < names.size() ? names[index] : "an unknown call";
}

std::string in_words(const Asked& call) {
    std::string text = name_of(call.function);
    if (call.function == Function::win_create)
        text += call.argument == DCUDA_COMM_WORLD ? "(DCUDA_COMM_WORLD)" : "(DCUDA_COMM_DEVICE)";
    if (call.function == Function::win_free) text += "(window " + std::to_string(call.argument) + ")";
    return text;
}

std::string in_words(const Place& place) {
    const std::string_view file = place.file;
    if (file.empty()) return "";
    return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(place.line);
}

std::string fault_in_words(const Entry& entry, const Entry& numbers, const std::string& window) {
    const auto text = [](auto number) { return std::to_string(number); };
    const auto rank = static_cast<std::int32_t>(entry.word[2]), tag = static_cast<std::int32_t>(entry.word[3]);
    const std::uint64_t a = wide(numbers, 0), b = wide(numbers, 2), c = wide(numbers, 4);
    switch (static_cast<Fault>(entry.word[0] >> fault_shift)) {
        case Fault::no_window:
            return window;
        case Fault::no_rank:
            return "there is no rank " + text(rank) + " among " + text(a);
        case Fault::no_tag:
            return "tag " + text(tag) + " is not one of 0 to 255";
        case Fault::no_communicator:
            return "communicator " + text(static_cast<std::int32_t>(entry.word[1])) + " is neither WORLD nor DEVICE";
        case Fault::beyond_target:
            return "offset " + text(a) + " and " + text(b) + " bytes exceed the " + text(c) + " of rank " + text(rank) +
                   " in window " + text(entry.word[1]);
        case Fault::outside_source:
            return "the buffer of " + text(b) + " bytes is not in the caller's own " + text(c) + " of window " +
                   text(entry.word[1]);
        case Fault::no_count:
            return "a count of " + text(static_cast<std::int64_t>(a)) + " notifications";
        case Fault::not_in_memory:
            return "the " + text(b) + " bytes are not in the device's memory (dcuda_malloc)";
        case Fault::none:
            break;
    }
    return "an unknown reason";
}

}  // namespace loom::device
