/* SPDX-License-Identifier: MIT */
/* --ca FILE of the commands that speak with servers. */
#pragma once

#include "cli/options.h"

/* Found out when the first question is sent, it would look like the server's fault. False: said. */
bool cli_check_certificates(struct cli_parser *p, const char *path);
