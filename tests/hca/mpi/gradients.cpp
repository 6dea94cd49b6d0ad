#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hca/mpi/workout.hpp"
#include "loom/base/error.hpp"

namespace loom::workout {
namespace {

// Rows [first, first + rows) of the grid, with one more row above and below for the neighbours' edges.
class Stripe {
public:
    explicit Stripe(std::size_t n) : n_(n) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        const auto cut = [&](int rank) {
            return n * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_);
        };
        first_ = cut(rank_);
        rows_ = cut(rank_ + 1) - first_;
    }
    [[nodiscard]] std::size_t size() const { return (rows_ + 2) * n_; }
    [[nodiscard]] std::size_t first() const { return first_; }
    [[nodiscard]] std::size_t rows() const { return rows_; }

    void exchange_edges(std::vector<double>& v) const {
        const int above = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL, below = rank_ + 1 < ranks_ ? rank_ + 1 : MPI_PROC_NULL;
        const int n = static_cast<int>(n_);
        MPI_Sendrecv(&v[n_], n, MPI_DOUBLE, above, 1, &v[(rows_ + 1) * n_], n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&v[rows_ * n_], n, MPI_DOUBLE, below, 2, v.data(), n, MPI_DOUBLE, above, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    // The five-point Laplacian, zero outside.
    void apply(std::vector<double>& v, std::vector<double>& out) const {
        exchange_edges(v);
        for (std::size_t row = 1; row <= rows_; ++row)
            for (std::size_t column = 0; column < n_; ++column) {
                const std::size_t at = row * n_ + column;
                double value = 4 * v[at];
                if (column > 0) value -= v[at - 1];
                if (column + 1 < n_) value -= v[at + 1];
                if (first_ + row > 1) value -= v[at - n_];
                if (first_ + row < n_) value -= v[at + n_];
                out[at] = value;
            }
    }
    [[nodiscard]] double dot(const std::vector<double>& a, const std::vector<double>& b) const {
        double here = 0, all = 0;
        for (std::size_t at = n_; at < (rows_ + 1) * n_; ++at) here += a[at] * b[at];
        MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return all;
    }

private:
    std::size_t n_, first_ = 0, rows_ = 0;
    int rank_ = 0, ranks_ = 1;
};

}  // namespace

std::size_t conjugate_gradients(std::size_t n) {
    const Stripe stripe(n);
    std::vector<double> known(stripe.size()), right(stripe.size()), x(stripe.size()), image(stripe.size());
    for (std::size_t row = 1; row <= stripe.rows(); ++row)
        for (std::size_t column = 0; column < n; ++column)
            known[row * n + column] = std::sin(static_cast<double>((stripe.first() + row) * 7 + column * 3));
    stripe.apply(known, right);

    std::vector<double> residual = right, direction = right;
    double norm = stripe.dot(residual, residual);
    const double enough = norm * 1e-24;
    std::size_t iterations = 0;
    for (; norm > enough && iterations < 10 * n; ++iterations) {
        stripe.apply(direction, image);
        const double step = norm / stripe.dot(direction, image);
        for (std::size_t at = n; at < (stripe.rows() + 1) * n; ++at) {
            x[at] += step * direction[at];
            residual[at] -= step * image[at];
        }
        const double next = stripe.dot(residual, residual);
        for (std::size_t at = n; at < (stripe.rows() + 1) * n; ++at)
            direction[at] = residual[at] + next / norm * direction[at];
        norm = next;
    }

    double worst = 0, all = 0;
    for (std::size_t at = n; at < (stripe.rows() + 1) * n; ++at) worst = std::max(worst, std::abs(x[at] - known[at]));
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (!(all < 1e-8)) throw Error(fmt::format("the solution is off by {} after {} iterations", all, iterations));
    return iterations;
}

}  // namespace loom::workout
