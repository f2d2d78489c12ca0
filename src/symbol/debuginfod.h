/* SPDX-License-Identifier: MIT */
/* Debug files from a debuginfod server: only when the user set DEBUGINFOD_URLS, and never for
 * long. Inside symbol/ only.
 *  - without the variable no library is loaded and nothing is asked
 *  - a server that sends nothing for DEBUGINFOD_SILENCE_NS is asked no more by this process
 *  - all downloads of a process together may take DEBUGINFOD_TOTAL_NS */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DEBUGINFOD_SILENCE_NS (8 * 1000000000ull)
#define DEBUGINFOD_TOTAL_NS (45 * 1000000000ull)

/* A descriptor of the debug file and its path (to be freed), or -errno. -ENOSYS: not asked. */
int debuginfod_fetch(const uint8_t *build_id, size_t build_id_len, char **ret_path);

/* Why the server is asked no more, for a person; NULL: it answers, or was never needed. */
const char *debuginfod_trouble(void);
