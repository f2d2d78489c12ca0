/* SPDX-License-Identifier: MIT */
/* For tests: holds every name on standard input against what must be true of all of them.
 *
 *   nm -DC library | cut -c20- | names_bulk          prints what is wrong, and counts
 *
 * - the short form takes no more cells than the full one
 * - the short form of the short form is itself
 * - its brackets match
 * - the plain path has no arguments and no parameters */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "name/name.h"

enum { MAX_SHOWN = 50 };

static unsigned long n_wrong;

static void wrong(const char *name, const char *what, const char *found) {
        if (n_wrong++ < MAX_SHOWN)
                printf("%s: %s: %s\n", what, name, found);
}

/* Without the signs of operators and arrows, which are no brackets. Written apart from scan.c. */
static bool is_balanced(const char *text) {
        char open[4096];
        size_t n = 0;

        for (const char *p = text; *p; p++) {
                if (strncmp(p, "operator", 8) == 0 &&
                    (p == text || (!isalnum(p[-1]) && p[-1] != '_')) && strchr("<>-(", p[8]) &&
                    p[8]) {
                        static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                                            "<=",  ">=",  "->",  "()",  "<",  ">"};

                        p += 8;
                        for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
                                if (strncmp(p, signs[i], strlen(signs[i])) == 0) {
                                        p += strlen(signs[i]) - 1;
                                        break;
                                }
                        continue;
                }
                if (strncmp(p, "->", 2) == 0) {
                        p++;
                        continue;
                }
                if (strchr("([{<", *p)) {
                        if (n == sizeof(open))
                                return false;
                        open[n++] = *p == '(' ? ')' : *p == '[' ? ']' : *p == '{' ? '}' : '>';
                } else if (strchr(")]}>", *p)) {
                        if (n == 0 || open[--n] != *p)
                                return false;
                }
        }
        return n == 0;
}

static void check(struct names *names, const char *name) {
        const char *full = name_full(names, name), *text = name_short(names, name);
        const char *plain = name_plain(names, name), *again;

        if (str_width(text) > str_width(full))
                wrong(name, "longer", text);
        again = name_short(names, text);
        if (strcmp(again, text) != 0)
                wrong(text, "another the second time", again);
        if (is_balanced(full) && !is_balanced(text))
                wrong(name, "brackets", text);
        if (!strstr(plain, "operator") && strpbrk(plain, "<>"))
                wrong(name, "plain", plain);
        if (!text[0] || !plain[0] || !name_crate(names, name, "module")[0])
                wrong(name, "empty", text);
}

int main(int argc, char **argv) {
        _cleanup_(names_freep) struct names *names = NULL;
        _cleanup_free_ char *line = NULL;
        unsigned long n = 0, n_as_it_is = 0;
        size_t cap = 0;
        ssize_t length;
        bool is_kept;
        struct err err = {0};
        bool shows = argc > 1 && strcmp(argv[1], "--show") == 0;
        bool shows_kept = argc > 1 && strcmp(argv[1], "--kept") == 0;

        if (names_load(&(struct name_sources){0}, &names, &err) < 0) {
                fprintf(stderr, "names_bulk: %s\n", err.text);
                return 2;
        }
        while ((length = getline(&line, &cap, stdin)) > 0) {
                line[strcspn(line, "\n")] = '\0';
                if (!line[0])
                        continue;
                check(names, line);
                n++;
                is_kept = strpbrk(line, "<(") && strcmp(name_short(names, line), line) == 0;
                n_as_it_is += is_kept;
                if (shows_kept && is_kept)
                        puts(line);
                if (shows)
                        printf("%s\n  %s\n  %s %s\n", line, name_short(names, line),
                               name_kind_text(name_kind(names, line, "")), name_plain(names, line));
        }
        printf("%lu names, %lu of C++ or Rust left as they are, %lu wrong, %.2f s\n", n, n_as_it_is,
               n_wrong, (double)clock() / CLOCKS_PER_SEC);
        return n_wrong != 0;
}
