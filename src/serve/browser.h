/* SPDX-License-Identifier: MIT */
/* Shows an address to whoever sits in front of this machine, or says how to get there from another one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* There is a screen, or the user named a browser. */
bool browser_is_there(void);
/* False: none could be started. It is nobody's child and outlives silt. */
bool browser_open(const char *address);

/* The command that brings a port of this machine to the one the user sits at: "ssh -N -L …". False: he is not connected by ssh. */
bool browser_add_forwarding(uint16_t port, struct str *to);
