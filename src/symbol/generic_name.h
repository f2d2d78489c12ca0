/* SPDX-License-Identifier: MIT */
/* Which types a generic function was made for, where its linker name does not tell: of functions in the tables of an executor's tasks, by which
 * readers tell what a task is (docs/tasks.md). Inside symbol/ only. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether it is of such a table. */
bool generic_name_is(const char *function);

/* function is readable: "tokio::runtime::task::raw::poll::h0123456789abcdef"; plain as DWARF has it: "poll<app::Future, app::Scheduler>". Appends
 * "tokio::runtime::task::raw::poll<app::Future, app::Scheduler>", and " [clone .merged]" where the same code is a function of other types, too; false: it is
 * no such function. */
bool generic_name_add(const char *function, const char *plain, bool is_merged, struct str *to);
