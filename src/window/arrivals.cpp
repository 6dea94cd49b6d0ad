#include "window/arrivals.hpp"

#include <algorithm>
#include <limits>

namespace loom::window {

namespace {

constexpr std::size_t most_empty = 256;  // tags without a notification that are remembered

}  // namespace

void Arrivals::add(Rank source, Stamp stamp, std::uint64_t count) {
    const std::uint64_t key = to_word(stamp);
    if (key != last_key_) {
        if (last_ != nullptr && last_->total == 0 && buckets_.size() > most_empty) buckets_.erase(last_key_);
        last_key_ = key;
        last_ = &buckets_[key];
    }
    Bucket& bucket = *last_;
    bucket.total += count;
    total_ += count;
    const std::uint64_t first = next_;
    next_ += count;
    if (bucket.begin < bucket.runs.size()) {
        Run& last = bucket.runs.back();
        if (last.source == source && last.first + last.count == first) {
            last.count += count;
            return;
        }
    } else {
        bucket.runs.clear();
        bucket.begin = 0;
    }
    bucket.runs.push_back({first, count, source});
}

bool Arrivals::matches(const Wanted& wanted, std::uint64_t key) {
    const Stamp stamp = from_word(key);
    return (!wanted.window || *wanted.window == stamp.window) &&
           ((stamp.tag.value ^ wanted.tag.value) & wanted.mask) == 0;
}

std::uint64_t Arrivals::count_in(const Bucket& bucket, const std::optional<Rank>& source) {
    if (!source) return bucket.total;
    std::uint64_t sum = 0;
    for (std::size_t i = bucket.begin; i < bucket.runs.size(); ++i)
        if (bucket.runs[i].source == *source) sum += bucket.runs[i].count;
    return sum;
}

std::uint64_t Arrivals::count(const Wanted& wanted) const {
    if (is_one(wanted)) {
        if (key_of(wanted) == last_key_) return count_in(*last_, wanted.source);
        const auto found = buckets_.find(key_of(wanted));
        return found == buckets_.end() ? 0 : count_in(found->second, wanted.source);
    }
    std::uint64_t sum = 0;
    for (const auto& [key, bucket] : buckets_)
        if (bucket.total != 0 && matches(wanted, key)) sum += count_in(bucket, wanted.source);
    return sum;
}

const Arrivals::Run* Arrivals::oldest_in(const Bucket& bucket, const std::optional<Rank>& source) {
    for (std::size_t i = bucket.begin; i < bucket.runs.size(); ++i)
        if (bucket.runs[i].count != 0 && (!source || bucket.runs[i].source == *source)) return &bucket.runs[i];
    return nullptr;
}

void Arrivals::use_up(Bucket& bucket, const std::optional<Rank>& source, std::uint64_t count) {
    bucket.total -= count;
    total_ -= count;
    for (std::size_t i = bucket.begin; count != 0; ++i) {
        Run& run = bucket.runs[i];
        if (source && run.source != *source) continue;
        const std::uint64_t now = std::min(run.count, count);
        run.count -= now;
        run.first += now;
        count -= now;
    }
    while (bucket.begin < bucket.runs.size() && bucket.runs[bucket.begin].count == 0) ++bucket.begin;
    // What is used up stays until it is the larger part.
    if (bucket.begin > 64 && bucket.begin * 2 > bucket.runs.size()) {
        bucket.runs.erase(bucket.runs.begin(), bucket.runs.begin() + static_cast<std::ptrdiff_t>(bucket.begin));
        bucket.begin = 0;
    }
}

Arrivals::Buckets::iterator Arrivals::oldest(const Wanted& wanted) {
    auto best = buckets_.end();
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (auto at = buckets_.begin(); at != buckets_.end(); ++at) {
        if (at->second.total == 0 || !matches(wanted, at->first)) continue;
        const Run* const run = oldest_in(at->second, wanted.source);
        if (run == nullptr || run->first >= first) continue;
        first = run->first;
        best = at;
    }
    return best;
}

bool Arrivals::take(const Wanted& wanted, std::uint64_t count) {
    if (this->count(wanted) < count) return false;
    if (count == 0) return true;
    if (is_one(wanted)) {
        if (key_of(wanted) == last_key_) return use_up(*last_, wanted.source, count), true;
        const auto found = buckets_.find(key_of(wanted));
        use_up(found->second, wanted.source, count);
        drop_if_empty(found);
        return true;
    }
    for (; count != 0; --count) {
        const auto found = oldest(wanted);
        use_up(found->second, wanted.source, 1);
        drop_if_empty(found);
    }
    return true;
}

// A tag that is used once must not leave something behind for ever; one that is used again shall find its place.
void Arrivals::drop_if_empty(Buckets::iterator at) {
    if (at->second.total != 0 || buckets_.size() <= most_empty || at->first == last_key_) return;
    buckets_.erase(at);
}

std::optional<Arrival> Arrivals::next(const Wanted& wanted) {
    auto found = buckets_.end();
    if (is_one(wanted))
        found = buckets_.find(key_of(wanted));
    else
        found = oldest(wanted);
    if (found == buckets_.end()) return {};
    const Run* const run = oldest_in(found->second, wanted.source);
    if (run == nullptr) return {};
    const Arrival result{run->source, from_word(found->first)};
    use_up(found->second, result.source, 1);
    drop_if_empty(found);
    return result;
}

void Arrivals::forget(WindowId window) {
    last_key_ = 0;
    last_ = nullptr;
    std::erase_if(buckets_, [&](const auto& each) {
        if (from_word(each.first).window != window) return false;
        total_ -= each.second.total;
        return true;
    });
}

std::optional<Arrival> Arrivals::oldest_other(const Wanted& wanted, std::uint64_t& number) const {
    std::optional<Arrival> result;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    number = 0;
    for (const auto& [key, bucket] : buckets_) {
        const bool all = !wanted.source && matches(wanted, key);
        if (bucket.total == 0 || all) continue;
        for (std::size_t i = bucket.begin; i < bucket.runs.size(); ++i) {
            const Run& run = bucket.runs[i];
            if (run.count == 0 || (matches(wanted, key) && run.source == *wanted.source)) continue;
            number += run.count;
            if (run.first >= first) continue;
            first = run.first;
            result = Arrival{run.source, from_word(key)};
        }
    }
    return result;
}

}  // namespace loom::window
