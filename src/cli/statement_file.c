/* SPDX-License-Identifier: MIT */
#include "cli/statement_file.h"

#include <errno.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "sql/sql.h"

int statement_file_read(int fd, const char *name, char **ret, struct err *reterr) {
        struct str text = {0};
        char part[16384];
        ssize_t n;

        while ((n = fs_read_some(fd, part, sizeof(part))) > 0 && text.n <= SQL_MAX_TEXT_BYTES)
                str_addn(&text, part, (size_t)n);
        if (!text.n)
                str_add(&text, " "); /* nothing at all has no bytes */
        str_text(&text);
        if (n < 0)
                err_set_errno(reterr, (int)n, "cannot read statements from %.200s", name);
        else if (text.n > SQL_MAX_TEXT_BYTES)
                n = err_set(reterr, -E2BIG,
                            "%.200s has more than a megabyte of statements: give less at once",
                            name);
        else if (memchr(text.bytes, 0, text.n))
                n = err_set(reterr, -EINVAL, "%.200s has a NUL byte: give statements of SQL", name);
        if (n < 0) {
                str_done(&text);
                return (int)n;
        }
        *ret = text.bytes;
        return 0;
}
