#include "loom/mpi/account.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "loom/base/table.hpp"

namespace loom::mpi {

namespace {

struct Names {
    std::string_view lower, upper;
};
constexpr std::array<Names, operations> names{{
#define LOOM_NAMES(OPERATION, NAME, WHAT) {#OPERATION, #NAME},
    LOOM_MPI_COLLECTIVES(LOOM_NAMES)
#undef LOOM_NAMES
}};

constexpr std::array<std::string_view, reasons> why{
    "blocking, not asked for (--no-blocking or LOOM_MPI_BLOCKING=0)",
    "Loomband is not in use",
    "ranks outside of MPI_COMM_WORLD",
    "communicator made behind our back",
    "too many communicators",
    "no topology",
    "reduction known to the MPI library alone",
    "elements of 2 GiB and more",
    "wrong arguments",
};

template <class Visit>
void each_function(Visit&& visit) {
    for (std::size_t form = 0; form < forms; ++form)
        for (std::size_t operation = 0; operation < operations; ++operation)
            visit(static_cast<Operation>(operation), static_cast<Form>(form));
}

}  // namespace

std::string_view to_string(Reason reason) {
    return why.at(static_cast<std::size_t>(reason));
}

std::string name_of(Operation operation, Form form) {
    const Names& name = names.at(static_cast<std::size_t>(operation));
    if (form == Form::nonblocking) return fmt::format("MPI_I{}", name.lower);
    return fmt::format("MPI_{}{}", name.upper, form == Form::persistent ? "_init" : "");
}

std::uint64_t Account::taken_of(Operation operation, Form form) const {
    return const_cast<Account*>(this)->cell(operation, form, reasons);
}

std::uint64_t Account::handed_back_of(Operation operation, Form form, Reason reason) const {
    return const_cast<Account*>(this)->cell(operation, form, static_cast<std::size_t>(reason));
}

Account::Sums Account::sums() const {
    Sums sums;
    each_function([&](Operation operation, Form form) {
        sums.taken += taken_of(operation, form);
        for (std::size_t reason = 0; reason < reasons; ++reason)
            sums.handed_back += handed_back_of(operation, form, static_cast<Reason>(reason));
        sums.not_asked += handed_back_of(operation, form, Reason::not_asked);
    });
    return sums;
}

std::string Account::table(std::uint32_t ranks, std::string_view remark) const {
    const Sums all = sums();
    std::string text =
        all.calls() == 0
            ? fmt::format("Loomband: no collective was called, {} ranks\n", ranks)
            : fmt::format("Loomband: {} of {} collectives were taken over ({:.1f} %), {} ranks\n", all.taken,
                          all.calls(), 100 * static_cast<double>(all.taken) / static_cast<double>(all.calls()), ranks);
    if (all.not_asked != 0)
        text += fmt::format("{} were blocking, and left to the MPI library: --no-blocking or LOOM_MPI_BLOCKING=0\n",
                            all.not_asked);
    else if (all.calls() != 0)
        text += "blocking collectives are taken over like the others; --no-blocking leaves them to the MPI library\n";
    if (!remark.empty()) text += fmt::format("not in use: {}\n", remark);
    Table table({{"calls of"}, {"taken over", Align::right}, {"handed back", Align::right}, {"why"}});
    each_function([&](Operation operation, Form form) {
        const std::uint64_t taken = taken_of(operation, form);
        bool first = true;
        const auto row = [&](std::uint64_t handed, std::string_view reason) {
            table.row({first ? name_of(operation, form) : "", first ? std::to_string(taken) : "",
                       std::to_string(handed), std::string(reason)});
            first = false;
        };
        for (std::size_t reason = 0; reason < reasons; ++reason)
            if (const std::uint64_t handed = handed_back_of(operation, form, static_cast<Reason>(reason)); handed != 0)
                row(handed, why[reason]);
        if (first && taken != 0) row(0, "");
    });
    return text + table.text();
}

std::string Account::json(std::uint32_t ranks, std::string_view remark) const {
    nlohmann::ordered_json calls = nlohmann::ordered_json::object();
    each_function([&](Operation operation, Form form) {
        nlohmann::ordered_json handed = nlohmann::ordered_json::object();
        for (std::size_t reason = 0; reason < reasons; ++reason)
            if (const std::uint64_t count = handed_back_of(operation, form, static_cast<Reason>(reason)); count != 0)
                handed[std::string(why[reason])] = count;
        const std::uint64_t taken = taken_of(operation, form);
        if (taken != 0 || !handed.empty())
            calls[name_of(operation, form)] = {{"taken_over", taken}, {"handed_back", handed}};
    });
    const auto share = [](std::uint64_t part, std::uint64_t whole) -> nlohmann::ordered_json {
        if (whole == 0) return nullptr;
        return static_cast<double>(part) / static_cast<double>(whole);
    };
    const Sums all = sums();
    const nlohmann::ordered_json object = {{"ranks", ranks},
                                           {"collectives", all.calls()},
                                           {"taken_over", all.taken},
                                           {"blocking_not_asked_for", all.not_asked},
                                           {"share_taken_over", share(all.taken, all.calls())},
                                           {"share_of_asked_for", share(all.taken, all.calls() - all.not_asked)},
                                           {"not_in_use", remark},
                                           {"calls", calls}};
    return object.dump(2) + "\n";
}

}  // namespace loom::mpi
