/* SPDX-License-Identifier: MIT */
/* Functions of libc that allocate for their caller: each counts where libc calls malloc itself.
 *
 *   strdup("hello"): 6 bytes; strndup("hello world", 5): 6; wcsdup(L"abcd"): 5 * 4 = 20
 *   getcwd(NULL, 300): 300, as asked
 *   getdelim of a record of 9 and of one of 500: 120 bytes at first, then realloc to 501 (500 and
 *   NUL are more than twice 120): 2 allocations, 1 reallocation
 * The baseline has the same FILE with its buffer. The blocks are kept but the getdelim line, which
 * is freed before the FILE is closed: the peak is the baseline's plus 6 + 6 + 20 + 300 + 501 in 5.
 *   allocations +6   frees +2   reallocations +1   bytes 6 + 6 + 20 + 300 + 120 + 501 = 953
 *   temporary: the 120, replaced at once, and the 501, freed with nothing after them; in the
 *   baseline the FILE's buffer is the last allocation when fclose frees it, here it is not: 2 - 1 =
 *   +1 */
#include "truth.h"
#include <stdio.h>
#include <sys/mman.h>
#include <wchar.h>

int main(int argc, char **argv) {
        char record[511];
        int fd = memfd_create("records", 0);
        FILE *f = fdopen(fd, "r");
        char *line = NULL;
        size_t capacity = 0;

        memset(record, 'x', sizeof(record));
        record[9] = record[509] = ';';
        MUST(write(fd, record, sizeof(record)) == sizeof(record) && lseek(fd, 0, SEEK_SET) == 0);
        MUST(getc(f) == 'x'); /* the buffer comes now */
        if (!truth_baseline(argc, argv)) {
                MUST(chdir("/") == 0);
                MUST(strdup("hello") && strndup("hello world", 5) && wcsdup(L"abcd") &&
                     getcwd(NULL, 300));
                MUST(getdelim(&line, &capacity, ';', f) == 9 && capacity == 120);
                MUST(getdelim(&line, &capacity, ';', f) == 500 && capacity == 501);
        }
        free(line);
        fclose(f);
        return 0;
}
