/* SPDX-License-Identifier: MIT */
/* Any bytes as files of rules and as the names of a stack: refused in one line, or understood; names keep what name.h
 * promises. The input is a file of rules up to the first NUL (without any, the built-in ones are taken; rules of components, if it begins with
 * one), then
 * functions with newlines between them; a word that begins with '@' is the module and file of those that follow, a
 * function that begins with '?' is a guess.
 *
 * seeds: src/name/name_seeds
 * covers: src/name/fold.c src/name/names.c src/name/path_pattern.c src/name/name_rules.c src/name/scan.c src/name/shape.c
 * covers: src/name/name_text.c src/name/match.c src/name/stable.c src/name/component.c src/name/rule_line.c */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "name/match.h"
#include "name/name.h"
#include "name/stable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FRAMES = 64 };

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

/* The built-in rules: loaded now and then only, that takes longer than all the rest. */
static struct names *builtin(void) {
        static struct names *names;
        static unsigned n_runs;

        if (n_runs++ % 1000 == 0) {
                names_free(names);
                expect(names_load(&(struct name_sources){.with_config = true}, &names, NULL) == 0);
        }
        return names;
}

/* Those of the input; NULL when they are refused. */
static struct names *load(const uint8_t *rules, size_t n) {
        int fd = memfd_create("rules", MFD_CLOEXEC);
        struct name_sources sources = {.n_files = 1, .without_builtin = true};
        struct names *names = NULL;
        struct err err = {0};
        char path[32];

        expect(fd >= 0 && fs_write_all(fd, rules, n) == 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (n > 2 && (memcmp(rules, "co", 2) == 0 || memcmp(rules, "pa", 2) == 0)) {
                sources.components[0] = path;
                sources.n_components = 1;
                sources.n_files = 0;
        }
        sources.files[0] = path;
        if (names_load(&sources, &names, &err) < 0)
                expect(!names && err.text[0] && !strchr(err.text, '\n'));
        close(fd);
        return names;
}

static void check_name(struct names *names, const char *function, const char *module,
                       bool has_own_rules) {
        const char *text = name_short(names, function), *full = name_full(names, function);
        struct str stable = {0};

        expect(strlen(full) <= strlen(function));
        expect(str_width(text) <= str_width(full));
        expect(!function[0] || (text[0] && name_plain(names, function)[0]));
        expect(name_kind(names, function, module) < NAME_N_KINDS);
        (void)name_crate(names, function, module);
        expect(strlen(name_component(names, &(struct name_frame){.function = function,
                                                                 .file = module,
                                                                 .module = module})
                              .name) <= strlen(function) + strlen(module) + 64);
        stable_add_module(&stable, module);
        stable_add_function(&stable, function);
        str_done(&stable);
        if (!has_own_rules) /* folds of one's own may be folded again */
                expect(strcmp(name_short(names, text), text) == 0);
}

static void check_stack(struct names *names, const struct name_frame *frames, size_t n) {
        struct name_stack shown = {0};

        name_fold(names, frames, n, &shown);
        expect((shown.n > 0) == (n > 0) && shown.n <= n);
        for (size_t i = 0; i < shown.n; i++) {
                expect(shown.items[i].frame_idx < n);
                expect(i == 0 || shown.items[i].frame_idx > shown.items[i - 1].frame_idx);
                expect(name_label(names, &frames[shown.items[i].frame_idx],
                                  shown.items[i].is_task)[0]);
        }
        expect(shown.via_idx == NAME_NO_FRAME || shown.via_idx < shown.items[0].frame_idx);
        name_stack_done(&shown);
}

/* The frames as two builds: every other one belongs to the old side. A function is like itself. */
static void check_match(struct names *names, const struct name_frame *frames, size_t n) {
        struct name_match *m = name_match_new(names);
        uint32_t numbers[2 * MAX_FRAMES];
        size_t n_numbers = 0;

        for (size_t i = 0; i < n; i++)
                for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                        const struct name_built b = {.frame = frames[i],
                                                     .build = frames[i].offset + (i % 3) * side,
                                                     .is_program = i % 2};

                        numbers[n_numbers++] = name_match_add(m, (enum name_side)side, &b);
                }
        name_match_solve(m);
        for (size_t i = 0; i < n_numbers; i += 2) {
                expect(name_match_class(m, numbers[i]) < name_match_n_classes(m));
                expect(name_match_is_common(m, name_match_class(m, numbers[i])));
                if (frames[i / 2].function[0] && !frames[i / 2].guess)
                        expect(name_match_class(m, numbers[i]) ==
                               name_match_class(m, numbers[i + 1]));
        }
        name_match_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t *end = memchr(data, 0, size);
        size_t n_rules = end ? (size_t)(end - data) : size, n = 0;
        struct names *names = n_rules ? load(data, n_rules) : builtin();
        struct name_frame frames[MAX_FRAMES];
        const char *place = "libc.so.6";
        struct str text = {0};
        char *rest, *word;

        if (end)
                str_addn(&text, (const char *)end + 1, size - n_rules - 1);
        rest = text.bytes;
        while (names && rest && n < MAX_FRAMES && (word = strsep(&rest, "\n"))) {
                if (word[0] == '@') {
                        place = word + 1;
                        continue;
                }
                frames[n++] = (struct name_frame){.function = word + (word[0] == '?'),
                                                  .file = place,
                                                  .module = place,
                                                  .guess = word[0] == '?'};
                check_name(names, frames[n - 1].function, place, n_rules > 0);
        }
        if (names) {
                check_stack(names, frames, n);
                check_match(names, frames, n);
        }
        if (n_rules)
                names_free(names);
        str_done(&text);
        return 0;
}
