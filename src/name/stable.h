/* SPDX-License-Identifier: MIT */
/* Names without what changes when a program is built anew: hashes, numbers of lambdas and closures, suffixes of
 * clones, checkouts' paths. For comparing, not for showing; name/match.h compares with them.
 *
 *   int app::sum(int)::{lambda(int)#2}::operator()(int) const [clone .isra.0]
 *     → int app::sum(int)::{lambda(int)}::operator()(int)const
 *   parse_line.part.0.cold                 → parse_line
 *   app::run::{closure#3}::h0123456789abcdef  → app::run::{closure}
 *   target/debug/deps/app-0123456789abcdef → app
 *   /usr/lib/libssl.so.1.1                 → libssl.so */
#pragma once

#include "base/str.h"

/* Appends the stable form of a function. Linear in its length, whatever its bytes. */
void stable_add_function(struct str *to, const char *function);

/* Appends that of the file name of a module. */
void stable_add_module(struct str *to, const char *path);
