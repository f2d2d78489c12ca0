/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

const char *unit_bytes(struct unit_text *t, uint64_t bytes) {
        static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        double v = (double)bytes;
        size_t i = 0;

        /* 1023.5 would print as "1024 KiB": go to the next unit there. */
        while (v >= 1023.5 && i + 1 < ARRAY_SIZE(names)) {
                v /= 1024.0;
                i++;
        }
        snprintf(t->s, sizeof(t->s), i && v < 999.95 ? "%.1f %s" : "%.0f %s", v, names[i]);
        return t->s;
}

const char *unit_bytes_signed(struct unit_text *t, int64_t bytes) {
        struct unit_text plain;

        unit_bytes(&plain, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
        snprintf(t->s, sizeof(t->s), "%s%.38s", bytes < 0 ? "-" : "+", plain.s);
        return t->s;
}

const char *unit_count(struct unit_text *t, uint64_t n) {
        char digits[24];
        int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), out = 0;

        for (int i = 0; i < len; i++) {
                if (i && (len - i) % 3 == 0)
                        t->s[out++] = ',';
                t->s[out++] = digits[i];
        }
        t->s[out] = 0;
        return t->s;
}

const char *unit_time(struct unit_text *t, uint64_t ns) {
        static const struct {
                uint64_t ns;
                const char *name;
        } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
        size_t i = 0;

        while (ns % units[i].ns)
                i++;
        snprintf(t->s, sizeof(t->s), "%llu%s", (unsigned long long)(ns / units[i].ns),
                 units[i].name);
        return t->s;
}

const char *unit_duration(struct unit_text *t, uint64_t ns) {
        uint64_t s = ns / 1000000000u;

        /* 999.5 would print as "1e+03 us": go to the next unit there. */
        if (ns < 1000)
                snprintf(t->s, sizeof(t->s), "%llu ns", (unsigned long long)ns);
        else if (ns < 999500)
                snprintf(t->s, sizeof(t->s), "%.3g us", (double)ns / 1e3);
        else if (ns < 999500000)
                snprintf(t->s, sizeof(t->s), "%.3g ms", (double)ns / 1e6);
        else if (s < 120)
                snprintf(t->s, sizeof(t->s), "%.3g s", (double)ns / 1e9);
        else if (s < 7200)
                snprintf(t->s, sizeof(t->s), "%llu min %02llu s", (unsigned long long)(s / 60),
                         (unsigned long long)(s % 60));
        else
                snprintf(t->s, sizeof(t->s), "%llu h %02llu min", (unsigned long long)(s / 3600),
                         (unsigned long long)(s / 60 % 60));
        return t->s;
}

/* ---- figures of a trace --------------------------------------------------------------------------- */

static _Atomic unsigned weights = UNIT_BYTES;
static _Thread_local unsigned asked = UNIT_N; /* UNIT_N: as the trace has them */

void unit_set_weights(unsigned unit) {
        weights = unit;
        asked = UNIT_N;
}

void unit_ask_weights(unsigned unit) {
        asked = unit;
}

enum unit_weights unit_weights(void) {
        return (enum unit_weights)(asked < UNIT_N ? asked : weights);
}

const char *unit_weight_name(void) {
        switch (unit_weights()) {
        case UNIT_SAMPLES: return "samples";
        case UNIT_NS: return "time";
        case UNIT_OTHER: return "units";
        case UNIT_BYTES:
        case UNIT_N: break;
        }
        return "bytes";
}

int unit_weight_width(void) {
        return unit_weights() == UNIT_SAMPLES || unit_weights() == UNIT_OTHER ? 18 : 10;
}

const char *unit_weight(struct unit_text *t, uint64_t v) {
        struct unit_text n;

        switch (unit_weights()) {
        case UNIT_SAMPLES:
                snprintf(t->s, sizeof(t->s), "%.27s sample%s", unit_count(&n, v), unit_s(v));
                return t->s;
        case UNIT_OTHER:
                snprintf(t->s, sizeof(t->s), "%.27s unit%s", unit_count(&n, v), unit_s(v));
                return t->s;
        case UNIT_NS: return unit_duration(t, v);
        case UNIT_BYTES:
        case UNIT_N: break;
        }
        return unit_bytes(t, v);
}

const char *unit_weight_signed(struct unit_text *t, int64_t v) {
        struct unit_text plain;

        unit_weight(&plain, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
        snprintf(t->s, sizeof(t->s), "%s%.38s", v < 0 ? "-" : "+", plain.s);
        return t->s;
}

/* A plain decimal number, so that "nan", "0x10" and " 5" are refused. */
static int unit_parse_number(const char *text, double *ret, const char **ret_rest) {
        char *rest;

        if (!(text[0] >= '0' && text[0] <= '9') || text[1] == 'x' || text[1] == 'X')
                return -EINVAL;
        errno = 0;
        *ret = strtod(text, &rest);
        if (errno || !isfinite(*ret))
                return -ERANGE;
        *ret_rest = rest;
        return 0;
}

struct unit_suffix {
        const char *name;
        double factor;
};

static int unit_parse(const char *text, const struct unit_suffix *suffixes, uint64_t *ret) {
        const char *rest;
        double v;
        int r;

        r = unit_parse_number(text, &v, &rest);
        if (r < 0)
                return r;
        for (const struct unit_suffix *s = suffixes; s->name; s++)
                if (!strcmp(s->name, rest)) {
                        if (v * s->factor >= 9.0e18)
                                return -ERANGE;
                        *ret = (uint64_t)(v * s->factor + 0.5);
                        return 0;
                }
        return -EINVAL;
}

int unit_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *reterr) {
        static const struct unit_suffix suffixes[] = {
                {"", 1},
                {"B", 1},
                {"K", 1024.0},
                {"KiB", 1024.0},
                {"k", 1024.0},
                {"M", 1048576.0},
                {"MiB", 1048576.0},
                {"G", 1073741824.0},
                {"GiB", 1073741824.0},
                {"T", 1099511627776.0},
                {"TiB", 1099511627776.0},
                {" B", 1}, /* as it is printed */
                {" KiB", 1024.0},
                {" MiB", 1048576.0},
                {" GiB", 1073741824.0},
                {" TiB", 1099511627776.0},
                {NULL, 0},
        };
        int r = unit_parse(text, suffixes, ret_bytes);

        if (r < 0)
                return err_set(reterr, r, "'%s' is not a size: write 512K, 1M or 2G", text);
        return 0;
}

int unit_parse_duration(const char *text, uint64_t *ret_ns, struct err *reterr) {
        static const struct unit_suffix suffixes[] = {
                {"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},     {"", 1e9},
                {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {NULL, 0},
        };
        int r = unit_parse(text, suffixes, ret_ns);

        if (r < 0)
                return err_set(reterr, r, "'%s' is not a time: write 250ms, 90s or 5m", text);
        return 0;
}

/* "1,234,567", as silt prints counts, without its commas; false: they do not stand before three digits each. */
static bool without_commas(const char *text, char *to, size_t cap) {
        size_t n = 0, n_digits = 0;
        bool has_comma = false;

        for (; *text; text++) {
                bool is_digit = *text >= '0' && *text <= '9';

                if (*text == ',' && (has_comma ? n_digits == 3 : n_digits > 0 && n_digits <= 3)) {
                        has_comma = true;
                        n_digits = 0;
                        continue;
                }
                if (!is_digit && has_comma)
                        return false;
                if (n + 1 >= cap)
                        return false;
                n_digits += is_digit;
                to[n++] = *text;
        }
        to[n] = 0;
        return !has_comma || n_digits == 3;
}

int unit_parse_count(const char *text, uint64_t *ret_n, struct err *reterr) {
        static const struct unit_suffix suffixes[] = {
                {"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {NULL, 0},
        };
        char plain[64];
        int r = without_commas(text, plain, sizeof(plain)) ? unit_parse(plain, suffixes, ret_n)
                                                           : -EINVAL;

        if (r < 0)
                return err_set(reterr, r, "'%s' is not a count: write 5000, 100K or 2M", text);
        return 0;
}
