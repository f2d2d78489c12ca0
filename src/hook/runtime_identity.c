/* SPDX-License-Identifier: MIT */
#include "wire/runtime_identity.h"

#include "wire/identity_number.h"

/* Nothing here reads it. */
__attribute__((used)) static const struct wire_identity identity = {
        .mark = WIRE_IDENTITY_MARK,
        .layouts = WIRE_IDENTITY,
};
