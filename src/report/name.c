/* SPDX-License-Identifier: MIT */
#include "report/name.h"

#include <string.h>

#include "report/style.h"

const char *name_base(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

static bool is_word(char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
}

/* Length of `operator` and its sign at p, so that its brackets are not taken for others; 0: none
 * there. */
static size_t operator_len(const char *name, const char *p) {
        static const char *const signs[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                            ">>", "<=", ">=",  "->",  "<",   ">",   NULL};
        size_t n = 8;

        if (strncmp(p, "operator", n) != 0 || (p > name && is_word(p[-1])) || is_word(p[n]))
                return 0;
        if (p[n] == ' ') /* new, delete, a conversion */
                return n + 1 + strcspn(p + n + 1, "(");
        for (const char *const *sign = signs; *sign; sign++)
                if (strncmp(p + n, *sign, strlen(*sign)) == 0)
                        return n + strlen(*sign);
        return n + strspn(p + n, "=!+-*/%&|^~,");
}

/* Whether the '(' at p begins the parameters, not `(anonymous namespace)` or the like.
 * behind_operator: an operator's sign, which may end in a bracket itself, stands before it. */
static bool begins_parameters(const char *name, const char *p, const char *behind_operator) {
        if (p == behind_operator)
                return true;
        return p > name && strncmp(p, "(anonymous", 10) != 0 && !strchr(" :<,", p[-1]);
}

/* The position behind the bracket that closes the one at p. */
static const char *skip_brackets(const char *p, char open, char close) {
        unsigned depth = 0;

        for (; *p; p++) {
                if (*p == open)
                        depth++;
                else if (*p == close && !(close == '>' && p[-1] == '-') && --depth == 0)
                        return p + 1;
        }
        return p;
}

/* A demangled template function begins with its return type: `int f<int>(int)`. The name begins
 * behind the last blank that is outside of all brackets and before the parameters. */
static const char *skip_return_type(const char *name) {
        const char *begin = name, *p = name, *behind_operator = NULL;
        size_t n;

        if (!strchr(name, '(') || name[0] == '<')
                return name;
        while (*p) {
                if ((n = operator_len(name, p)) > 0)
                        behind_operator = p += n;
                else if (*p == '<')
                        p = skip_brackets(p, '<', '>');
                else if (*p == '(' && begins_parameters(name, p, behind_operator))
                        break;
                else if (*p == '(')
                        p = skip_brackets(p, '(', ')');
                else if (*p++ == ' ')
                        begin = p;
        }
        return begin;
}

static void add_short(struct str *s, const char *name, const char *dots) {
        const char *begin = skip_return_type(name), *end, *behind_operator = NULL;
        size_t n;

        for (const char *p = begin; *p;) {
                if ((n = operator_len(begin, p)) > 0) {
                        str_addn(s, p, n);
                        behind_operator = p += n;
                } else if (*p == '<' && p > begin && p[-1] != ' ') {
                        end = skip_brackets(p, '<', '>');
                        if (end - p <= 6)
                                str_addn(s, p, (size_t)(end - p));
                        else
                                str_addf(s, "<%s>", dots);
                        p = end;
                } else if (*p == '{') { /* {lambda(int)#1}, {{closure}} */
                        end = skip_brackets(p, '{', '}');
                        str_addn(s, p, (size_t)(end - p));
                        p = end;
                } else if (*p == '(' && begins_parameters(begin, p, behind_operator)) {
                        p = skip_brackets(p, '(', ')');
                        if (strncmp(p, " const", 6) == 0)
                                p += 6;
                        if (strncmp(p, "::", 2) !=
                            0) /* else something inside this function follows */
                                return;
                } else {
                        str_addn(s, p++, 1);
                }
        }
}

static void add_function(struct str *s, const struct query_frame *f, bool full, bool utf8) {
        if (!f->function[0] ||
            (f->guess && !full)) { /* the nearest symbol is mostly another function */
                if (f->module[0])
                        str_addf(s, "%s+0x%llx", name_base(f->module),
                                 (unsigned long long)f->offset);
                else
                        str_addf(s, "0x%llx", (unsigned long long)f->offset);
                return;
        }
        if (full)
                str_add(s, f->function);
        else
                add_short(s, f->function, utf8 ? "…" : "..");
        if (f->guess)
                str_add(s, utf8 ? " ≈" : " ~");
}

void name_add_function(struct str *s, const struct query_frame *f, bool full, bool utf8) {
        struct str name = {0};

        add_function(&name, f, full, utf8);
        style_add_clean(s, str_text(&name));
        str_done(&name);
}

void name_add_place(struct str *s, const struct query_frame *f, bool full) {
        if (f->file[0]) {
                style_add_clean(s, full ? f->file : name_base(f->file));
                if (f->line)
                        str_addf(s, ":%u", f->line);
        } else if (f->module[0] && f->function[0] && !(f->guess && !full)) {
                style_add_clean(s, full ? f->module : name_base(f->module));
        }
}

static bool begins_with_any(const char *text, const char *const *prefixes) {
        for (; *prefixes; prefixes++)
                if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
                        return true;
        return false;
}

bool name_is_library(const char *function) {
        static const char *const prefixes[] = {
                "std::",    "__gnu_cxx::", "operator new",  "<std::",        "<alloc::",
                "<core::",  "alloc::",     "core::",        "hashbrown::",   "__rust_",
                "__rdl_",   "__rg_",       "__libc_malloc", "__libc_calloc", "__libc_realloc",
                "g_malloc", "g_realloc",   "g_strdup",      "g_slice_alloc", "xmalloc",
                "xcalloc",  "xrealloc",    "xstrdup",       "QArrayData::",  NULL};

        return function[0] && begins_with_any(skip_return_type(function), prefixes);
}

bool name_is_start(const char *function) {
        static const char *const prefixes[] = {
                "_start",
                "__libc_start_main",
                "__libc_start_call_main",
                "start_thread",
                "thread_start",
                "clone",
                "__clone",
                "std::rt::lang_start",
                "std::sys_common::backtrace::__rust_begin_short_backtrace",
                "std::sys::backtrace::__rust_begin_short_backtrace",
                "std::panicking::try",
                "std::panic::catch_unwind",
                NULL};

        return begins_with_any(function, prefixes);
}
