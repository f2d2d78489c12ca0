/* SPDX-License-Identifier: MIT */
#include "name/scan.h"

#include <string.h>

#include "base/macros.h"

bool scan_is_word(char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z') || c == '$' || c == '.' || c == '~' || c == '\'' ||
               c == '@' || (unsigned char)c >= 0x80;
}

static bool is_one_of(char c, const char *chars) {
        return c && strchr(chars, c);
}

bool scan_at(const struct scan *s, const char *text) {
        size_t n = strlen(text);

        return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

/* ---- operators ------------------------------------------------------------------------------- */

bool scan_at_operator(const struct scan *s) {
        return scan_at(s, "operator") && (s->p == s->begin || !scan_is_word(s->p[-1])) &&
               s->p + 8 < s->end && !scan_is_word(s->p[8]);
}

/* A conversion has no parameters: its type ends at `()` outside of brackets, or with the list it
 * is in. */
static const char *conversion_end(struct scan s) {
        while (s.p < s.end && !is_one_of(*s.p, ",>)]}")) {
                const char *behind = NULL;

                if (*s.p == '(' && scan_at(&s, "()") &&
                    (s.p + 2 == s.end || is_one_of(s.p[2], " :[&,>)")))
                        break;
                if (*s.p == '(' || *s.p == '{' || *s.p == '[' || scan_opens_args(&s))
                        behind = scan_group_end(&s);
                s.p = behind ? behind : s.p + 1;
        }
        return s.p;
}

const char *scan_operator_end(const struct scan *s) {
        static const char *const signs[] = {
                "()",        "[]",   "<=>", "<<=", ">>=", "->*", " new[]", " new", " delete[]",
                " delete",   "\"\"", "<<",  ">>",  "<=",  ">=",  "->",     "<",    ">",
                " co_await", "&&",   "||",  "++",  "--",  "==",  "!=",     "+=",   "-=",
                "*=",        "/=",   "%=",  "&=",  "|=",  "^=",  "=",      "!",    "+",
                "-",         "*",    "/",   "%",   "&",   "|",   "^",      ",",
        };
        struct scan at = *s;

        at.p += 8;
        for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
                const char *behind = at.p + strlen(signs[i]);

                if (!scan_at(&at, signs[i]))
                        continue;
                if (signs[i][0] == ' ' && behind < at.end && scan_is_word(*behind))
                        continue; /* a conversion to a type such as newline */
                if (signs[i][0] == '"')
                        for (behind += behind < at.end && *behind == ' ';
                             behind < at.end && scan_is_word(*behind);)
                                behind++;
                return behind;
        }
        return *at.p == ' ' ? conversion_end(at) : at.p;
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* In expressions a '<' follows the ')' of its left side, or has blanks around it. */
bool scan_opens_args(const struct scan *s) {
        if (s->p >= s->end || *s->p != '<')
                return false;
        if (s->p + 1 < s->end && (s->p[1] == ' ' || s->p[1] == '='))
                return false;
        if (s->p > s->begin && s->p[-1] == '<') /* <<A as B>::C as D> opens twice, (a)<<(b) never */
                return s->p - 1 == s->begin || s->p[-2] != ')';
        return s->p == s->begin || s->p[-1] != ')' ||
               (s->p - s->begin >= 10 && memcmp(s->p - 10, "operator()", 10) == 0);
}

static char closing(char open) {
        return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

const char *scan_group_end(const struct scan *s) {
        char open[SCAN_MAX_NEST];
        struct scan at = *s;
        size_t n = 1;

        open[0] = closing(*at.p++);
        while (at.p < at.end) {
                char c = *at.p;

                if (scan_at_operator(&at)) {
                        at.p = scan_operator_end(&at);
                        continue;
                }
                if (c == '(' || c == '[' || c == '{' || scan_opens_args(&at)) {
                        if (n == SCAN_MAX_NEST)
                                return NULL;
                        open[n++] = closing(c);
                } else if (c == '>' && (at.p[-1] == '-' || open[n - 1] != '>')) {
                        /* an arrow, or a comparison inside of parentheses */
                } else if (c == ')' || c == ']' || c == '}' || c == '>') {
                        if (open[--n] != c)
                                return NULL;
                        if (n == 0)
                                return at.p + 1;
                }
                at.p++;
        }
        return NULL;
}

const char *scan_qualifiers_end(const struct scan *s) {
        static const char *const words[] = {" const", " volatile", " restrict", " noexcept",
                                            " &&",    " &",        "&&",        "&"};
        struct scan at = *s;

        for (bool more = true; more;) {
                const char *behind = NULL;

                more = false;
                for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !more; i++)
                        if (scan_at(&at, words[i])) {
                                at.p += strlen(words[i]);
                                more = true;
                        }
                if (scan_at(&at, " [clone") || scan_at(&at, "[abi:")) {
                        at.p += *at.p == ' ';
                        behind = scan_group_end(&at);
                        at.p = behind ? behind : at.end;
                        more = true;
                }
        }
        return at.p;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool at_anonymous(const struct scan *s) {
        return scan_at(s, "(anonymous namespace)") || scan_at(s, "(anon)") ||
               scan_at(s, "(anonymous");
}

/* `void (*f<int>(int))(char)`: a function that returns a pointer to a function. */
static bool at_wrapped_name(const struct scan *s) {
        return s->p > s->begin && s->p[-1] == ' ' && s->p + 1 < s->end &&
               (s->p[1] == '*' || s->p[1] == '&');
}

static bool at_params(const struct scan *s, const char *behind_operator) {
        if (s->p == behind_operator)
                return true;
        if (s->p - s->begin >= 8 && memcmp(s->p - 8, "decltype", 8) == 0)
                return false;
        return s->p > s->begin &&
               ((scan_is_word(s->p[-1]) && s->p[-1] != '.') || is_one_of(s->p[-1], ">]})"));
}

bool scan_function(const struct scan *s, struct scan *ret, bool *ret_has_params) {
        const char *behind_operator = NULL, *behind;
        struct scan at = *s;
        bool has_params = false;

        *ret = *s;
        while (at.p < at.end) {
                if (scan_at_operator(&at)) {
                        behind_operator = at.p = scan_operator_end(&at);
                        if (scan_at(&at, " <")) /* `operator< <int>` */
                                at.p++;
                        continue;
                }
                if (*at.p == '(' && !has_params && !at_anonymous(&at) && at_wrapped_name(&at)) {
                        behind = scan_group_end(&at);
                        if (!behind)
                                return false;
                        at.end = behind - 1;
                        at.p += 1 + strspn(at.p + 1, "*&");
                        at.p = MIN(at.p, at.end);
                        *ret = at;
                        continue;
                }
                if (*at.p == '(' || *at.p == '[' || *at.p == '{' || scan_opens_args(&at)) {
                        bool params = *at.p == '(' && !at_anonymous(&at) &&
                                      at_params(&at, behind_operator);

                        behind = scan_group_end(&at);
                        if (!behind)
                                return false;
                        at.p = behind;
                        if (!params)
                                continue;
                        has_params = true;
                        behind = at.p;
                        at.p = scan_qualifiers_end(&at);
                        if (scan_at(&at, "::")) /* something inside of this function */
                                continue;
                        ret->end = behind;
                        *ret_has_params = true;
                        return true;
                }
                if (is_one_of(*at.p, ")]}>"))
                        return false;
                if (*at.p++ == ' ' && !has_params)
                        ret->p = at.p;
        }
        if (!has_params)
                *ret = *s;
        *ret_has_params = has_params;
        return true;
}
