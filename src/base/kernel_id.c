/* SPDX-License-Identifier: MIT */
#include "base/kernel_id.h"

#include <string.h>

#include "base/fs.h"

/* Sixteen bytes in hexadecimal, with hyphens between some. */
uint32_t kernel_id_read(uint8_t ret[32]) {
        char text[64];
        uint32_t n = 0;

        memset(ret, 0, 32);
        if (fs_read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0)
                return 0;
        for (const char *p = text; *p && n < 32; p++) {
                static const char digits[] = "0123456789abcdef";
                const char *digit = strchr(digits, *p);

                if (!digit)
                        continue;
                ret[n / 2] = (uint8_t)(ret[n / 2] << 4 | (uint8_t)(digit - digits));
                n++;
        }
        return n == 32 ? 16 : 0;
}
