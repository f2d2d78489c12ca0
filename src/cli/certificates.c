/* SPDX-License-Identifier: MIT */
#include "cli/certificates.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_check_certificates(struct cli_parser *p, const char *path) {
        struct stat st;

        if (stat(path, &st) < 0 || access(path, R_OK) < 0)
                cli_parser_error(p, "--ca: cannot read '%s': %s: check the path", path,
                                 strerror(errno));
        else if (!S_ISREG(st.st_mode) || st.st_size == 0)
                cli_parser_error(p, "--ca: '%s' has no certificates: name a PEM file", path);
        else
                return true;
        return false;
}
