/* SPDX-License-Identifier: MIT */
#include "record/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

_Static_assert(sizeof(struct ask_request) == 120 && sizeof(struct ask_answer) == 4496,
               "recorder and command may be of different builds");

/* C0, DEL and C1; text has at least the bytes of its first sequence. */
static bool is_control(const char *text) {
        const unsigned char *s = (const unsigned char *)text;

        return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

int ask_check_name(const char *name, size_t n_bytes, struct err *reterr) {
        char text[ASK_NAME_BYTES + 1] = {0};

        if (n_bytes == 0)
                return err_set(reterr, -EINVAL, "the name is empty: leave it out to get a number");
        if (n_bytes > ASK_NAME_BYTES)
                return err_set(reterr, -EINVAL, "the name is too long: use at most %d bytes",
                               ASK_NAME_BYTES);
        memcpy(text, name, n_bytes);
        for (size_t i = 0, n; i < n_bytes; i += n) {
                n = str_utf8_len(text + i);
                if (n == 0 || is_control(text + i))
                        return err_set(
                                reterr, -EINVAL,
                                "'%s': the name has bytes that are no text: use letters, digits and signs",
                                text);
        }
        if (text[0] == '@')
                return err_set(reterr, -EINVAL,
                               "'%s': '@' stands in front of names where times are given: leave it "
                               "out here",
                               text);
        if (strstr(text, "..") || text[0] == ' ' || text[n_bytes - 1] == ' ')
                return err_set(
                        reterr, -EINVAL,
                        "'%s': the name has two dots in a row, or a blank at an end: leave them out",
                        text);
        return 0;
}
