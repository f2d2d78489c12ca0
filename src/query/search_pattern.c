/* SPDX-License-Identifier: MIT */
#include "query/search_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
        PATTERN_MAX_BYTES = 4096,         /* of a pattern */
        PATTERN_MAX_CODE_BYTES = 1 << 20, /* compiled: counted repeats are copies */
        PATTERN_MAX_NESTING = 100,        /* of brackets */
        PATTERN_MAX_STEPS = 1000000,      /* of one search */
        PATTERN_MAX_HEAP_KIB = 16384,     /* of one search */
        PATTERN_MAX_SECONDS = 10,         /* of CPU time, all searches together */
        PATTERN_SHOWN_BYTES = 80,         /* in a message */
};

struct pattern {
        char *text;
        pcre2_code *code;
        pcre2_match_data *match;
        pcre2_match_context *limits;
        clock_t cpu_ticks; /* all searches so far */
        bool is_too_slow;  /* some search did not come to its end */
};

struct pattern *pattern_free(struct pattern *p) {
        if (!p)
                return NULL;
        pcre2_match_data_free(p->match);
        pcre2_match_context_free(p->limits);
        pcre2_code_free(p->code);
        free(p->text);
        free(p);
        return NULL;
}

/* What helps depends on what is wrong. */
static const char *pattern_advice(int error) {
        switch (error) {
        case PCRE2_ERROR_PATTERN_STRING_TOO_LONG: return "use a shorter one";
        case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP: return "nest less";
        case PCRE2_ERROR_PATTERN_TOO_LARGE:
        case PCRE2_ERROR_PATTERN_TOO_COMPLICATED:
        case PCRE2_ERROR_QUANTIFIER_TOO_BIG: return "repeat less";
        case PCRE2_ERROR_UTF_IS_DISABLED:
        case PCRE2_ERROR_BACKSLASH_C_CALLER_DISABLED:
                return "leave it out: names are searched byte by byte";
        case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
        case PCRE2_ERROR_CLASS_RANGE_ORDER: return "swap its ends";
        case PCRE2_ERROR_END_BACKSLASH:
        case PCRE2_ERROR_MISSING_SQUARE_BRACKET:
        case PCRE2_ERROR_QUANTIFIER_INVALID:
        case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
        case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
                return "put a backslash before a character to match it literally";
        default: return "see pcre2pattern(3)";
        }
}

static int pattern_refuse(const char *text, int error, size_t at, struct err *reterr) {
        char why[160] = "";

        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
        return err_set(reterr, -EINVAL, "pattern '%.*s': %s, at character %zu: %s",
                       PATTERN_SHOWN_BYTES, text, why, at + 1, pattern_advice(error));
}

/* Byte by byte: names are in any encoding, or none. */
static pcre2_code *pattern_compile(const char *text, int *ret_error, size_t *ret_at) {
        pcre2_compile_context *limits = pcre2_compile_context_create(NULL);
        pcre2_code *code;

        if (!limits)
                abort();
        pcre2_set_max_pattern_length(limits, PATTERN_MAX_BYTES);
        pcre2_set_parens_nest_limit(limits, PATTERN_MAX_NESTING);
        code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                             PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UTF |
                                     PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL,
                             ret_error, ret_at, limits);
        pcre2_compile_context_free(limits);
        return code;
}

int pattern_new(const char *text, struct pattern **ret, struct err *reterr) {
        _cleanup_(pattern_freep) struct pattern *p = calloc(1, sizeof(*p));
        size_t at = 0, code_bytes = 0;
        int error = 0;

        if (!p)
                abort();
        p->code = pattern_compile(text, &error, &at);
        if (!p->code)
                return pattern_refuse(text, error, at, reterr);
        pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &code_bytes);
        if (code_bytes > PATTERN_MAX_CODE_BYTES)
                return err_set(reterr, -E2BIG, "pattern '%.*s': too large: repeat less",
                               PATTERN_SHOWN_BYTES, text);
        p->text = strdup(text);
        p->match = pcre2_match_data_create_from_pattern(p->code, NULL);
        p->limits = pcre2_match_context_create(NULL);
        if (!p->text || !p->match || !p->limits)
                abort();
        pcre2_set_match_limit(p->limits, PATTERN_MAX_STEPS);
        pcre2_set_depth_limit(p->limits, PATTERN_MAX_STEPS);
        pcre2_set_heap_limit(p->limits, PATTERN_MAX_HEAP_KIB);
        *ret = TAKE_PTR(p);
        return 0;
}

const char *pattern_text(const struct pattern *p) {
        return p->text;
}

bool pattern_matches(struct pattern *p, const char *text) {
        clock_t begin = clock();
        int n;

        if (p->is_too_slow) /* one is enough to say so */
                return false;
        n = pcre2_match(p->code, (PCRE2_SPTR)text, strlen(text), 0, 0, p->match, p->limits);
        p->cpu_ticks += clock() - begin;
        p->is_too_slow = (n < 0 && n != PCRE2_ERROR_NOMATCH) ||
                         p->cpu_ticks > (clock_t)PATTERN_MAX_SECONDS * CLOCKS_PER_SEC;
        return n >= 0;
}

int pattern_check(const struct pattern *p, struct err *reterr) {
        if (!p->is_too_slow)
                return 0;
        return err_set(reterr, -E2BIG,
                       "pattern '%.*s': takes too long to search: avoid repeats inside repeats",
                       PATTERN_SHOWN_BYTES, p->text);
}
