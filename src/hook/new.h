/* SPDX-License-Identifier: MIT */
/* C++ operator new and delete. */
#pragma once

#pragma GCC visibility push(hidden)

/* Finds out which forms the program defines itself. Once, when the real functions are known. */
void new_init(void);

/* Objects were unloaded: what was found for their code may be gone. */
void new_forget_callers(void);

#pragma GCC visibility pop
