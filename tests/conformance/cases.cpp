#include "conformance/cases.hpp"

#include "conformance/kit.hpp"
#include "conformance/memory.hpp"
#include "conformance/messages.hpp"

namespace loom::conformance {

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"who_is_where", who_is_where},
        {"order_of_one_tag", order_of_one_tag},
        {"tags_in_reverse", tags_in_reverse},
        {"every_size", every_size},
        {"to_itself", to_itself},
        {"many_in_flight", many_in_flight},
        {"other_lengths", other_lengths},
        {"started_inside_finished", started_inside_finished},
        {"random_traffic", random_traffic},
        {"early_messages_are_bounded", early_messages_are_bounded},
        {"puts", puts},
        {"puts_with_notification", puts_with_notification},
        {"puts_among_messages", puts_among_messages},
        {"puts_behind_notifications", puts_behind_notifications},
        {"every_value", every_value},
        {"gets", gets},
        {"atomics", atomics},
        {"mapped_memory", mapped_memory},
        {"memory_to_share", memory_to_share},
        {"sleeping", sleeping},
    };
    return all;
}

void run_all(Transport& transport, const std::function<void(const std::string&)>& announce) {
    for (const Case& one : cases()) {
        if (announce) announce(one.name);
        try {
            one.run(transport);
            barrier(transport);
        } catch (const std::exception& error) {
            throw std::runtime_error(one.name + " on " + std::string(transport.name()) + ", rank " +
                                     std::to_string(transport.rank().value) + " of " +
                                     std::to_string(transport.size()) + ": " + error.what());
        }
    }
}

}  // namespace loom::conformance
