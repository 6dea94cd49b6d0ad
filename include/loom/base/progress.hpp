// A progress bar for work that takes more than two seconds.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace loom {

enum class Show { automatic, nothing };

// Draws one line on standard error, only when that is a terminal and the work has taken, or is going
// to take, more than two seconds; redraws ten times a second at most and wipes itself at the end. All
// members may be called from several threads; a call that draws nothing costs a clock reading.
class Progress {
public:
    explicit Progress(std::string label, Show show = Show::automatic);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // How much is done, 0 to 1.
    void update(double fraction);

    // Wipes the bar; later updates draw nothing.
    void finish();

    // update() as a function, empty when nothing will ever be drawn. Valid while this object is.
    [[nodiscard]] std::function<void(double)> callback();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The line without the cursor codes: `label [#####.....]  50 %  3 s left`. For `width` columns.
[[nodiscard]] std::string progress_line(const std::string& label, double fraction, double elapsed_seconds,
                                        unsigned width);

}  // namespace loom
