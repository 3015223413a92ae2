// Parts of reassociate that have files of their own.
#pragma once

#include "optimizer/facts/site.h"

namespace isomer {

// Products with what is looked up in constant tables, computed once for every row of the table.
void propose_tables(const Site& site, Proposals& out);
// Products with rows of which one element is 1 and all others are 0: a row is looked up instead.
void propose_one_hot(const Site& site, Proposals& out);
// A value added before a convolution with borders is added first; the rest goes into its weights.
void propose_shift_first(const Site& site, Proposals& out);
// Inner products of chosen pairs of rows, looked up in all inner products.
void propose_chosen_pairs(const Site& site, Proposals& out);

// Equal nodes side by side as one: n products with one activation, the same function of all parts of a split,
// the same product at every position of an axis. Always all of them at once, never by pairs.
void propose_siblings(const Site& site, Proposals& out);

}  // namespace isomer
