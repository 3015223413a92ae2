// The statistics of paired timings: the estimate and interval of a ratio after a number of noisy
// measurements.
//
// There are two kinds of noise: within a round (the machine does other things) and between rounds (the memory
// addresses of the sessions, which stay for the life of a session). So rounds are resampled, then the blocks
// within them: a bootstrap over groups, widened by Student's t if there are few groups.
#pragma once

#include <cstdint>
#include <vector>

namespace isomer {

struct Interval {
  double estimate = 1;
  double low = 0;
  double high = 0;
  bool is_above(double value) const { return low > value; }
  bool is_below(double value) const { return high < value; }
  bool is_within(double from, double to) const { return low >= from && high <= to; }
};

using Groups = std::vector<std::vector<double>>;  // positive numbers

double median(std::vector<double> values);

// The interval of the pooled median. Works on logarithms, so that the interval of 1/x is the reciprocal one.
// The same numbers and seed give the same answer.
Interval median_interval(const Groups& groups, double confidence, std::uint64_t seed, int resamples = 1000);

// The two-sided quantile of Student's t, accurate to 1 % from 2 degrees of freedom on.
double student_quantile(double confidence, int degrees);

}  // namespace isomer
