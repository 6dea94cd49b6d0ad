#include "loom/base/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "loom/base/error.hpp"

namespace loom {
namespace {

// Regularised incomplete beta function by its continued fraction (modified Lentz), for x below the
// turning point, where it converges in a few dozen steps.
double beta_fraction(double x, double a, double b) {
    constexpr double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (std::abs(d) < tiny ? tiny : d);
    double result = d;
    for (int m = 1; m <= 500; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1.0;
        for (const double term : {even, odd}) {
            d = 1.0 + term * d;
            d = 1.0 / (std::abs(d) < tiny ? tiny : d);
            c = 1.0 + term / c;
            if (std::abs(c) < tiny) c = tiny;
            step = c * d;
            result *= step;
        }
        if (std::abs(step - 1.0) < 1e-15) break;
    }
    return result;
}

double regularised_beta(double x, double a, double b) {
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(x, a, b) / a
                                         : 1.0 - front * beta_fraction(1.0 - x, b, a) / b;
}

double student_probability(double t, double freedom) {
    const double tail = 0.5 * regularised_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    return t > 0.0 ? 1.0 - tail : tail;
}

}  // namespace

void Summary::add(double value, double weight) {
    if (weight <= 0.0) return;
    count_ += weight;
    const double distance = value - mean_;
    mean_ += distance * weight / count_;
    squares_ += weight * distance * (value - mean_);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
}

void Summary::merge(const Summary& other) {
    if (other.count_ <= 0.0) return;
    const double total = count_ + other.count_;
    const double distance = other.mean_ - mean_;
    squares_ += other.squares_ + distance * distance * count_ * other.count_ / total;
    mean_ += distance * other.count_ / total;
    count_ = total;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

double Summary::deviation() const {
    return std::sqrt(variance());
}

double Summary::sample_deviation() const {
    return std::sqrt(sample_variance());
}

double Summary::confidence(double probability) const {
    if (count_ < 2.0) return std::numeric_limits<double>::infinity();
    return student_quantile(0.5 + probability / 2.0, count_ - 1.0) * std::sqrt(sample_variance() / count_);
}

double student_quantile(double probability, double freedom) {
    if (!(probability > 0.0 && probability < 1.0)) throw Error("a probability for a quantile lies between 0 and 1");
    if (!(freedom > 0.0)) throw Error("Student's t needs at least one degree of freedom");
    if (probability == 0.5) return 0.0;
    if (probability < 0.5) return -student_quantile(1.0 - probability, freedom);
    double high = 1.0;
    while (student_probability(high, freedom) < probability && high < 1e15) high *= 2.0;
    double low = 0.0;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double middle = 0.5 * (low + high);
        (student_probability(middle, freedom) < probability ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

Histogram::Histogram(double low, double high, std::size_t bins) : low_(low), high_(high), counts_(bins, 0) {
    if (!(low < high) || bins == 0) throw Error("a histogram needs a range and at least one bin");
}

void Histogram::add(double value, std::uint64_t times) {
    const double place = (value - low_) / (high_ - low_) * static_cast<double>(counts_.size());
    const double last = static_cast<double>(counts_.size() - 1);
    counts_[place > 0.0 ? static_cast<std::size_t>(std::min(place, last)) : 0] += times;
    total_ += times;
}

void Histogram::merge(const Histogram& other) {
    if (other.low_ != low_ || other.high_ != high_ || other.counts_.size() != counts_.size())
        throw Error("histograms with different bins cannot be merged");
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
}

double Histogram::edge(std::size_t bin) const {
    return low_ + (high_ - low_) * static_cast<double>(bin) / static_cast<double>(counts_.size());
}

}  // namespace loom
