// Attempts of a proof (prove.cpp), by their use of constants. A constant with one number throughout is always
// a number; one with several is a symbol in most attempts, and its numbers in the last ones.
#pragma once

namespace isomer {

// As ProveOptions::attempt: any of those that take a constant of several numbers for a symbol.
constexpr int kSymbolsOnly = -2;

// Both programs as functions of 256 cases (cases.h).
constexpr int kByCases = 9;

bool takes_numbers(int attempt);

}  // namespace isomer
