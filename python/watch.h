// Work that Python waits for: in a thread of its own, without the GIL, while this one looks whether a signal
// has come.
#pragma once

#include <isomer/isomer.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <string_view>

namespace isomer::python {

namespace nb = nanobind;

enum class OnInterrupt : int {
  Raise,     // KeyboardInterrupt, as soon as the work has stopped
  GiveBest,  // the first one only stops the work, whose result is then worth having
};

// Made, used and destroyed with the GIL held, by the thread that called.
class Watch {
 public:
  std::stop_token token() const { return stop_.get_token(); }

  // Calls a function of Python's, if there is one. What it raises ends the work and is raised in the end.
  api::Progress teller(const std::optional<nb::callable>& function) {
    if (!function) return {};
    // A handle, since the work copies this without the GIL; the caller keeps the function alive.
    return [this, function = nb::handle(*function)](std::string_view now) {
      const nb::gil_scoped_acquire held;
      try {
        function(now);
      } catch (nb::python_error& error) {
        end_with(std::move(error));
      }
    };
  }

  template <class Work>
  auto run(const Work& work, OnInterrupt on_interrupt = OnInterrupt::Raise) {
    using Found = decltype(work());
    std::optional<std::future<Found>> found;
    {
      const nb::gil_scoped_release released;
      found.emplace(std::async(std::launch::async, work));
      while (found->wait_for(kGlance) != std::future_status::ready) look_for_signals(on_interrupt);
    }
    if (!raised_) return found->get();
    try {
      (void)found->get();
    } catch (const api::Error&) {  // of the stop
    }
    throw nb::python_error(std::move(*raised_));
  }

 private:
  static constexpr std::chrono::milliseconds kGlance{20};  // a wait too short to be noticed

  // Signals reach only the main thread of Python's; elsewhere there is nothing to see.
  void look_for_signals(OnInterrupt on_interrupt) {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return;
    nb::python_error error;
    if (on_interrupt == OnInterrupt::GiveBest && !is_interrupted_ && error.matches(PyExc_KeyboardInterrupt)) {
      is_interrupted_ = true;
      stop_.request_stop();
      return;
    }
    end_with(std::move(error));
  }

  void end_with(nb::python_error error) {
    if (!raised_) raised_.emplace(std::move(error));  // the GIL guards it
    stop_.request_stop();
  }

  std::stop_source stop_;
  bool is_interrupted_ = false;
  std::optional<nb::python_error> raised_;
};

}  // namespace isomer::python
