/* SPDX-License-Identifier: MIT */
#include "record/snapshot_protocol.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

_Static_assert(sizeof(struct snapshot_request) == 124 && sizeof(struct snapshot_answer) == 4504,
               "recorder and command may come from different builds");

/* C0, DEL and C1; text has at least the bytes of its first sequence. */
static bool is_control(const char *text) {
        const unsigned char *s = (const unsigned char *)text;

        return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

int snapshot_check_name(const char *name, size_t n_bytes, struct err *reterr) {
        char text[SNAPSHOT_NAME_BYTES + 1] = {0};

        if (n_bytes == 0)
                return err_set(reterr, -EINVAL, "the name is empty: leave it out to use a number");
        if (n_bytes > SNAPSHOT_NAME_BYTES)
                return err_set(reterr, -EINVAL, "the name is too long: use at most %d bytes",
                               SNAPSHOT_NAME_BYTES);
        memcpy(text, name, n_bytes);
        for (size_t i = 0, n; i < n_bytes; i += n) {
                n = str_utf8_len(text + i);
                if (n == 0 || is_control(text + i))
                        return err_set(
                                reterr, -EINVAL,
                                "'%s': the name contains bytes that are not text: use printable characters",
                                text);
        }
        if (text[0] == '@')
                return err_set(reterr, -EINVAL,
                               "'%s': the name starts with '@': leave the '@' out here", text);
        if (strstr(text, "..") || text[0] == ' ' || text[n_bytes - 1] == ' ')
                return err_set(
                        reterr, -EINVAL,
                        "'%s': the name contains '..', or begins or ends with a blank: leave them out",
                        text);
        return 0;
}
