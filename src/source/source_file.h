/* SPDX-License-Identifier: MIT */
/* A source file: where it is now, whether it can be read and is still what was built, and its lines. Inside source/
 * only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "source/source.h"
#include "trace/reader.h"

enum {
        FILE_MAX_BYTES = 32 << 20,
        FILE_MAX_LINES = 4 << 20,
        FILE_TAB_CELLS = 8,
        FILE_MAX_TRIED = 16,
};

enum file_state {
        FILE_READ,
        FILE_MISSING,    /* there is none, anywhere where it could be */
        FILE_UNREADABLE, /* there is something, but nothing to read */
};

struct file {
        char *path; /* where it was found, or the recorded path */
        enum file_state state;
        char why[160];     /* what is wrong with it: "is a directory", "cannot be read: …" */
        VEC(char *) tried; /* where nothing was; at most FILE_MAX_TRIED of them */
        bool is_changed;   /* since the recording began, or the module was built */
        char *text;
        size_t n_bytes;
        uint32_t *begins; /* n_lines + 1: where lines begin in text */
        size_t n_lines;
};

/* `recorded` as the trace has it; module: path of code made from it, "" unknown. Always fills *f. */
void file_load(struct file *f, const char *recorded, const char *module,
               const struct source_options *o, const struct trace_meta *meta);
void file_done(struct file *f);

/* The bytes of a line, counted from 1, without its end; n 0 where there is none. */
const char *file_line(const struct file *f, uint32_t line, size_t *ret_n);

/* Appends "a/../b/./c" as "b/c": as text, links are not looked at. */
void file_add_normal(struct str *to, const char *path);

/* Appends text as a terminal shows it, from cell `skip` on and at most `width` cells: tabs become blanks, what
 * cannot be seen or would turn the text around is written as \\xNN or \\u{…}. Returns how many bytes of it that took. */
size_t file_add_shown(struct str *to, const char *text, size_t n, size_t skip, size_t width);
/* Cells of white space the line begins with; SIZE_MAX where it is blank. */
size_t file_indent(const char *text, size_t n);
