#include "loom/base/file.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/fabric/placement_doubts.hpp"

namespace loom::fabric {
namespace {

Placement placed(const Fabric& fabric, const PlaceRequest& request, std::vector<std::string>& doubts) {
    if (!request.hosts.empty()) {
        Placement placement = place_on_hosts(fabric, request.hosts);
        doubts = host_list_doubts(fabric, request.hosts);
        return placement;
    }
    if (request.how.empty() || request.how == "order") return place_in_order(fabric);
    if (request.how == "keepers") return place_with_keepers(fabric);
    if (request.how == "random") return shuffled(place_in_order(fabric), request.seed);
    const std::filesystem::path path =
        request.how == "-" ? std::filesystem::path(request.how) : request.folder / request.how;
    const std::string text = read_file(path);
    Placement placement = read_placement(fabric, text, path.string());
    doubts = placement_doubts(fabric, text);
    return placement;
}

}  // namespace

Placement place_ranks(const Fabric& fabric, const PlaceRequest& request, std::vector<std::string>& remarks) {
    std::vector<std::string> doubts;
    Placement placement = placed(fabric, request, doubts);
    remarks.insert(remarks.end(), doubts.begin(), doubts.end());
    return placement;
}

}  // namespace loom::fabric
