/* SPDX-License-Identifier: MIT */
/* What each machine's file has for patch.c. Inside patch/ only. */
#pragma once

#include "patch/patch.h"

int patch_make_aarch64(const struct patch_function *f, const struct patch_target *to,
                       struct patch *ret, struct err *reterr);
int patch_make_x86_64(const struct patch_function *f, const struct patch_target *to,
                      struct patch *ret, struct err *reterr);
size_t patch_count_padding_x86_64(const uint8_t *code, size_t n_bytes);
