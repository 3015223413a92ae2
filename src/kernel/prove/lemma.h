// Proof by a lemma: a value inside of each program, proved equal first, then one unknown in both.
//
// left = f(u), right = g(v). If u = v, and f(t) = g(t) for every t of that type and shape, then left = right.
// If u may be undefined, so may t: then g may use it only for outputs for which f does.
// Both parts are questions for prove_equal, each with both witnesses; nothing is decided here.
#pragma once

#include "kernel/prove/prove.h"

namespace isomer {

// Proved where a lemma makes it so; otherwise what prove_equal answers.
Verdict prove_with_lemma(const Graph& a, const Graph& b, const ProveOptions& options = {});

}  // namespace isomer
