#include "optimizer/facts/region_form.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

using Kind = InputAxis::Kind;
using Role = FormDigit::Role;

TEST(RegionForm, ChannelsLastAreMovedAndWindowsPadded) {
  // y[n, p, o] = Σ x[n, 2p + u - 1, c] w[u, c, o], u < 3
  const RegionMap map{
      .inputs = {{.kind = Kind::Parallel, .digit = 0, .extent = Dim::symbol("n")},
                 {.kind = Kind::Window, .digit = 1, .stride = 2, .low = -1, .high = 1, .extent = 16},
                 {.kind = Kind::Full, .extent = 4}},
      .outputs = {
          {.axis = 0, .extent = Dim::symbol("n")}, {.axis = 1, .extent = 8}, {.axis = 2, .extent = 5}}};
  const auto forms = forms_of(map);
  ASSERT_EQ(forms.size(), 1u);  // a matrix would have many more numbers
  EXPECT_EQ(forms[0].kind, RegionForm::Kind::Convolution);
  ASSERT_EQ(forms[0].windows.size(), 1u);
  EXPECT_EQ(forms[0].windows[0].taps, 3);
  EXPECT_EQ(forms[0].windows[0].begin, 1);
  EXPECT_EQ(forms[0].windows[0].end, 0);
  EXPECT_EQ(forms[0].input_digits(Role::Channel), std::vector<std::size_t>{2});
  EXPECT_EQ(forms[0].output_digits(Role::Window), std::vector<std::size_t>{1});
}

TEST(RegionForm, WhatIsCutOffAtTheEndOfANamedLengthAreTapsOfZero) {
  const Dim t = Dim::symbol("t");
  const RegionMap map{.inputs = {{.kind = Kind::Window, .digit = 0, .high = 1, .extent = t},
                                 {.kind = Kind::Full, .extent = 4}},
                      .outputs = {{.axis = 0, .extent = t - Dim(3)}, {.axis = 1, .extent = 5}}};
  const auto forms = forms_of(map);
  ASSERT_FALSE(forms.empty());
  EXPECT_EQ(forms[0].windows[0].taps, 4);
}

TEST(RegionForm, AnAxisThatNothingMixesIsScaled) {
  const RegionMap map{.inputs = {{.kind = Kind::Parallel, .digit = 0, .extent = 3},
                                 {.kind = Kind::Parallel, .digit = 1, .weighted = true, .extent = 4}},
                      .outputs = {{.axis = 0, .extent = 3}, {.axis = 1, .extent = 4, .weighted = true}}};
  const auto forms = forms_of(map);
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_EQ(forms[0].kind, RegionForm::Kind::Scaling);
}

}  // namespace
}  // namespace isomer
