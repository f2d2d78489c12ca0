/* SPDX-License-Identifier: MIT */
#include "report/name.h"

#include <string.h>

const char *name_base(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

/* True when text at p is `operator` with a sign made of these brackets: operator<, operator(), operator->. */
static bool follows_operator(const char *name, const char *p) {
        static const char word[] = "operator";
        size_t n = sizeof(word) - 1;

        while (p > name && strchr("<>=-(", p[-1]))
                p--;
        return (size_t)(p - name) >= n && strncmp(p - n, word, n) == 0;
}

/* Whether the '(' at p begins the parameters, not `(anonymous namespace)` or the like. */
static bool begins_parameters(const char *name, const char *p) {
        if (strncmp(p, "(anonymous", 10) == 0 || follows_operator(name, p))
                return false;
        return p > name && p[-1] != ' ' && p[-1] != ':' && p[-1] != '<' && p[-1] != ',';
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

/* A demangled template function begins with its return type: `int f<int>(int)`. Cut it where the parameters
 * tell that it is one. */
static const char *skip_return_type(const char *name) {
        unsigned depth = 0;
        const char *begin = name;

        if (!strchr(name, '('))
                return name;
        for (const char *p = name; *p; p++) {
                if (*p == '<' && !follows_operator(name, p))
                        depth++;
                else if (*p == '>' && depth && !follows_operator(name, p))
                        depth--;
                else if (depth == 0 && *p == '(' && begins_parameters(name, p))
                        break;
                else if (depth == 0 && *p == '(')
                        p = skip_brackets(p, '(', ')') - 1;
                else if (depth == 0 && *p == ' ' && strncmp(p + 1, "const", 5) != 0 &&
                         (p - name < 8 || strncmp(p - 8, "operator", 8) != 0))
                        begin = p + 1;
        }
        return begin;
}

static void add_short(struct str *s, const char *name, const char *dots) {
        const char *begin = skip_return_type(name);

        for (const char *p = begin; *p;) {
                if (*p == '<' && p > begin && !follows_operator(begin, p) && p[-1] != ' ') {
                        const char *end = skip_brackets(p, '<', '>');

                        if (end - p <= 6)
                                str_addn(s, p, (size_t)(end - p));
                        else
                                str_addf(s, "<%s>", dots);
                        p = end;
                } else if (*p == '(' && begins_parameters(begin, p)) {
                        p = skip_brackets(p, '(', ')');
                        if (strncmp(p, " const", 6) == 0)
                                p += 6;
                        if (strncmp(p, "::", 2) != 0) /* a lambda of this function follows */
                                return;
                } else {
                        str_addn(s, p++, 1);
                }
        }
}

void name_add_function(struct str *s, const struct query_frame *f, bool full, bool utf8) {
        if (!f->function[0]) {
                if (f->module[0])
                        str_addf(s, "%s+0x%llx", name_base(f->module), (unsigned long long)f->offset);
                else
                        str_addf(s, "0x%llx", (unsigned long long)f->offset);
                return;
        }
        if (f->guess)
                str_add(s, utf8 ? "≈ " : "~ ");
        if (full)
                str_add(s, f->function);
        else
                add_short(s, f->function, utf8 ? "…" : "..");
}

void name_add_place(struct str *s, const struct query_frame *f, bool full) {
        if (f->file[0]) {
                str_add(s, full ? f->file : name_base(f->file));
                if (f->line)
                        str_addf(s, ":%u", f->line);
        } else if (f->module[0] && f->function[0]) {
                str_add(s, full ? f->module : name_base(f->module));
        }
}

static bool begins_with_any(const char *text, const char *const *prefixes) {
        for (; *prefixes; prefixes++)
                if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
                        return true;
        return false;
}

bool name_is_allocator(const char *function) {
        static const char *const prefixes[] = {
                "std::allocator<", "std::allocator_traits<", "__gnu_cxx::new_allocator<", "std::__new_allocator<",
                "std::_Vector_base<", "std::__allocate_guarded<", "std::__detail::_Hashtable_alloc<",
                "std::_Deque_base<", "std::_Rb_tree<", "std::__cxx11::_List_base<", "operator new",
                "alloc::alloc::", "alloc::raw_vec::", "<alloc::alloc::Global", "__rust_alloc", "__rust_realloc",
                "__rdl_alloc", "__rdl_realloc", "__libc_malloc", "__libc_calloc", "__libc_realloc", NULL};

        return begins_with_any(function, prefixes);
}

bool name_is_start(const char *function) {
        static const char *const prefixes[] = {
                "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "thread_start", "clone",
                "__clone", "std::rt::lang_start", "std::sys_common::backtrace::__rust_begin_short_backtrace",
                "std::sys::backtrace::__rust_begin_short_backtrace", "std::panicking::try", "std::panic::catch_unwind",
                NULL};

        return begins_with_any(function, prefixes);
}
