// Attempts of a proof (prove.cpp), by what they know of constants. One number throughout is always a number;
// a constant of several is a symbol to most attempts, and its numbers to the last ones.
#pragma once

namespace isomer {

// As ProveOptions::attempt: any of those that take a constant of several numbers for a symbol.
constexpr int kSymbolsOnly = -2;

// Both programs as functions of 256 cases (cases.h).
constexpr int kByCases = 9;

bool takes_numbers(int attempt);

}  // namespace isomer
