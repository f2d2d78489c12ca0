/* SPDX-License-Identifier: MIT */
#include "fleet/fleet_question.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/macros.h"
#include "base/units.h"

enum { MAX_SINCE_S = 3650 * 86400, NS_PER_S = 1000000000, MAX_KEYS_BYTES = 16384 };

static const char *const kind_names[FLEET_N_KINDS] = {
        [FLEET_SERVICES] = "services", [FLEET_GREW] = "grew",   [FLEET_RELEASE] = "release",
        [FLEET_HOSTS] = "hosts",       [FLEET_PATHS] = "paths", [FLEET_BUILDS] = "builds",
        [FLEET_SQL] = "sql",
};

const char *fleet_kind_name(enum fleet_kind kind) {
        return kind_names[kind];
}

static int take_kind(struct fleet_question *q, const char *value, struct err *reterr) {
        for (size_t i = 0; i < FLEET_N_KINDS; i++)
                if (strcmp(value, kind_names[i]) == 0) {
                        q->kind = (enum fleet_kind)i;
                        return 0;
                }
        return err_set(
                reterr, -EINVAL,
                "'%.60s' is not a question: write services, grew, builds, release, hosts, paths or sql",
                value);
}

static int take_text(const char **to, const char *value, size_t max, struct err *reterr) {
        if (!*value)
                return err_set(reterr, -EINVAL, "the value is empty: leave it out, or give one");
        if (strlen(value) > max)
                return err_set(reterr, -EINVAL, "the value is longer than %zu bytes: shorten it",
                               max);
        *to = value;
        return 0;
}

/* "2026-11-16", "2026-11-16 18:00", "2026-11-16T18:00:30Z", or seconds since 1970; in UTC. */
static int take_moment(uint64_t *to, const char *value, struct err *reterr) {
        static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ",
                                            "%Y-%m-%dT%H:%M:%S",
                                            "%Y-%m-%d %H:%M:%S",
                                            "%Y-%m-%dT%H:%M",
                                            "%Y-%m-%d %H:%M",
                                            "%Y-%m-%d",
                                            "%s"};

        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                struct tm tm = {0};
                const char *end = strptime(value, forms[i], &tm);
                time_t s;

                if (!end || *end)
                        continue;
                s = strcmp(forms[i], "%s") == 0 ? (time_t)strtoll(value, NULL, 10) : timegm(&tm);
                if (s > 0 && s < UINT32_MAX) {
                        *to = (uint64_t)s;
                        return 0;
                }
        }
        return err_set(reterr, -EINVAL, "'%.60s' is not a moment: write 2026-11-16 18:00, in UTC",
                       value);
}

static int take_since(struct fleet_question *q, const char *value, struct err *reterr) {
        size_t n = strlen(value);
        uint64_t ns, days;
        char *end;
        int r;

        /* days, which durations of recordings do not have */
        days = strtoull(value, &end, 10);
        if (n > 1 && *value >= '0' && *value <= '9' && strcmp(end, "d") == 0 && days < 3650) {
                q->since_s = days * 86400;
                return q->since_s ? 0
                                  : err_set(reterr, -EINVAL, "'0d' is not a time before: write 1d");
        }
        r = unit_parse_duration(value, &ns, reterr);
        if (r < 0)
                return r;
        if (ns < NS_PER_S || ns / NS_PER_S > MAX_SINCE_S)
                return err_set(reterr, -EINVAL, "'%.60s' is not a time before: write 12h or 1d",
                               value);
        q->since_s = ns / NS_PER_S;
        return 0;
}

static int take_rows(struct fleet_question *q, const char *value, struct err *reterr) {
        char *end;
        unsigned long long n = strtoull(value, &end, 10);

        if (*value < '0' || *value > '9' || *end || n < 1 || n > FLEET_MAX_ROWS)
                return err_set(reterr, -EINVAL,
                               "'%.60s' is not a number of rows: write one from 1 to %d", value,
                               FLEET_MAX_ROWS);
        q->n_rows = n;
        return 0;
}

int fleet_question_take(struct fleet_question *q, const char *key, const char *value,
                        struct err *reterr) {
        const struct {
                const char *key, **to;
        } texts[] = {{"service", &q->service},
                     {"host", &q->host},
                     {"build", &q->build},
                     {"old", &q->old_build},
                     {"new", &q->new_build}};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (strcmp(key, texts[i].key) == 0)
                        return take_text(texts[i].to, value, FLEET_MAX_NAME, reterr);
        if (strcmp(key, "question") == 0)
                return take_kind(q, value, reterr);
        /* of a URL the server takes "since" for a version (docs/http-api.md) */
        if (strcmp(key, "since") == 0 || strcmp(key, "back") == 0)
                return take_since(q, value, reterr);
        if (strcmp(key, "until") == 0)
                return take_moment(&q->until_s, value, reterr);
        if (strcmp(key, "top") == 0)
                return take_rows(q, value, reterr);
        if (strcmp(key, "sql") == 0)
                return take_text(&q->sql, value, FLEET_MAX_SQL, reterr);
        return err_set(reterr, -EINVAL, "'%.60s' is not a key of a question: see docs/fleet.md",
                       key);
}

/* Behind one token of a statement, without blanks and comments; *ret_n: its length, 0 at the end. */
static const char *next_token(const char *at, const char **ret, size_t *ret_n) {
        static const char letters[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        const char *end;

        for (;;) {
                at += strspn(at, " \t\r\n\f\v");
                if (strncmp(at, "--", 2) == 0)
                        at += strcspn(at, "\n");
                else if (strncmp(at, "/*", 2) == 0)
                        at = (end = strstr(at + 2, "*/")) ? end + 2 : at + strlen(at);
                else
                        break;
        }
        *ret = at;
        end = at + strspn(at, letters);
        if (end == at && *at && strchr("'\"`", *at)) {
                for (end = at + 1; *end && *end != *at; end++)
                        end += *end == '\\' && end[1];
                end += *end != '\0';
        } else if (end == at) {
                end += *at != '\0';
        }
        *ret_n = (size_t)(end - at);
        return end;
}

static bool is_word(const char *token, size_t n, const char *word) {
        return n == strlen(word) && strncasecmp(token, word, n) == 0;
}

/* What may stand behind a column of that name. */
static bool is_no_form(const char *token, size_t n) {
        return is_word(token, n, "ASC") || is_word(token, n, "DESC") || is_word(token, n, "FINAL");
}

/* "… FORMAT name" at the end of a statement: silt reads the answer in a form that it chooses itself. */
static bool has_format(const char *sql) {
        bool is_open = false, was_format = false;
        const char *token;
        size_t n;

        for (sql = next_token(sql, &token, &n); n; sql = next_token(sql, &token, &n)) {
                if (is_open && (*token == ';' || is_word(token, n, "SETTINGS")))
                        return true;
                is_open = was_format && isalpha((unsigned char)*token) && !is_no_form(token, n);
                was_format = is_word(token, n, "FORMAT");
        }
        return is_open;
}

int fleet_question_check(const struct fleet_question *q, struct err *reterr) {
        if (q->kind == FLEET_N_KINDS)
                return err_set(
                        reterr, -EINVAL,
                        "no question given: write services, grew, builds, release, hosts, paths or sql");
        if ((q->kind == FLEET_RELEASE || q->kind == FLEET_PATHS) && !q->service)
                return err_set(reterr, -EINVAL, "%s needs a service: write --service NAME",
                               kind_names[q->kind]);
        if (q->kind == FLEET_RELEASE && (!q->old_build || !q->new_build))
                return err_set(reterr, -EINVAL,
                               "release needs two builds: write --old BUILD --new BUILD");
        if (q->kind == FLEET_RELEASE && strcmp(q->old_build, q->new_build) == 0)
                return err_set(reterr, -EINVAL,
                               "--old and --new are the same build: give two that differ");
        if (q->kind == FLEET_SQL && !q->sql)
                return err_set(reterr, -EINVAL,
                               "no statement given: write silt fleet sql 'SELECT …'");
        if (q->kind == FLEET_SQL && has_format(q->sql))
                return err_set(
                        reterr, -EINVAL,
                        "the statement has a FORMAT, and silt has to read the answer: leave it out, and write --json or --csv");
        return 0;
}

/* ---- of a URL --------------------------------------------------------------------------------------- */

static int digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* n bytes of a query, decoded, as a text of its own. False: they are none. */
static bool add_decoded(struct str *to, const char *from, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char c = from[i];

                if (c == '+')
                        c = ' ';
                else if (c == '%') {
                        if (n - i < 3 || digit(from[i + 1]) < 0 || digit(from[i + 2]) < 0)
                                return false;
                        c = (char)(digit(from[i + 1]) * 16 + digit(from[i + 2]));
                        i += 2;
                }
                if (!c)
                        return false;
                str_addn(to, &c, 1);
        }
        str_addn(to, "", 1);
        return true;
}

int fleet_question_parse(struct fleet_question *q, const char *keys, struct str *texts,
                         struct err *reterr) {
        size_t n = strlen(keys);

        if (n > MAX_KEYS_BYTES)
                return err_set(reterr, -EINVAL, "the question is too long: shorten it");
        /* what is decoded is never longer, but for an end of each part: room now, so that texts stay where they are */
        str_pad(texts, 0, 2 * n + 4);
        texts->n = 0;
        for (const char *at = keys; *at;) {
                size_t n_part = strcspn(at, "&"), n_key = strcspn(at, "=&");
                size_t key = texts->n, value;
                int r;

                if (!add_decoded(texts, at, n_key))
                        return err_set(reterr, -EINVAL,
                                       "a key is damaged: write it percent-encoded");
                value = texts->n;
                if (!add_decoded(texts, at + MIN(n_key + 1, n_part),
                                 n_part - MIN(n_key + 1, n_part)))
                        return err_set(reterr, -EINVAL,
                                       "a value is damaged: write it percent-encoded");
                if (strcmp(texts->bytes + key, "sql") == 0)
                        return err_set(reterr, -EINVAL,
                                       "statements are for the command line: silt fleet sql");
                r = fleet_question_take(q, texts->bytes + key, texts->bytes + value, reterr);
                if (r < 0)
                        return r;
                at += n_part + (at[n_part] == '&');
        }
        return fleet_question_check(q, reterr);
}
