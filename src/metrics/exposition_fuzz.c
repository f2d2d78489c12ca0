/* SPDX-License-Identifier: MIT */
/* Labels, counters, heads of requests and addresses that hold anything: what is written has each series once, in lines that a scraper can
 * read. The input is lines: Accept, Host, path, address; then a label each.
 *
 * covers: src/metrics/exposition.c src/metrics/metric_set.c src/metrics/counter_keeper.c src/metrics/scrape_gate.c
 * covers: src/metrics/listen_address.c */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "metrics/exposition.h"
#include "metrics/listen_address.h"
#include "metrics/scrape_gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_HEAD_LINES = 4 };

static void require(int holds) {
        if (!holds)
                abort();
}

/* Behind the value of a label: it ends at the first quote that no backslash stands before. */
static const char *behind_label(const char *at) {
        for (; *at != '"'; at++) {
                require(*at != '\0' && *at != '\n');
                if (*at == '\\')
                        require(*++at == '\\' || *at == '"');
        }
        return at + 1;
}

static const char *check_line(const char *at) {
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");

        if (*at == '#')
                return strchr(at, '\n') + 1;
        require(n > 0);
        at += n;
        if (*at == '{') {
                at = strchr(at, '"');
                require(at != NULL);
                at = behind_label(at + 1);
                require(*at++ == '}');
        }
        require(*at++ == ' ');
        n = strspn(at, "-0123456789.");
        require(n > 0 && at[n] == '\n');
        return at + n + 1;
}

static void check_text(const struct metric_set *set, enum exposition e) {
        struct str text = {0};

        exposition_write(set, e, &text);
        for (const char *at = str_text(&text); *at;)
                at = check_line(at);
        require(e == EXPOSITION_PROMETHEUS ||
                (text.n >= 6 && strcmp(text.bytes + text.n - 6, "# EOF\n") == 0));
        str_done(&text);
}

static void put(struct metric_set *set, const char *value, size_t i) {
        struct metric_labels l = {0};

        metric_label(&l, "program", value);
        metric_put(set, METRIC_HEAP_LIVE_BYTES, &l, i * UINT64_C(0x0123456789abcdef));
        metric_put_signed(set, METRIC_SITE_GROWTH_BYTES, &l, -(int64_t)i);
        metric_put_real(set, METRIC_RECORDING_TIME, &l, (double)i / 3);
        metric_count(set, METRIC_HEAP_FREES, &l, i % 3, strlen(value));
        metric_count(set, METRIC_OWN_CPU, &l, 0, i << 20);
        metric_labels_done(&l);
}

static void check_head(char *const *lines) {
        struct scrape_head h = {"GET", lines[2], lines[1][0] ? lines[1] : NULL, lines[0][0] == 'b'};
        struct scrape_admitted a;
        struct listen_address address;
        struct err err;

        if (lines[0][0] == 'p')
                h.method = "POST";
        for (int is_loopback = 0; is_loopback < 2; is_loopback++) {
                a = scrape_admit(&h, is_loopback != 0);
                require((a.verdict == SCRAPE_REFUSED) == (a.status >= 400));
                require((a.verdict == SCRAPE_METRICS) == (a.text == NULL));
                require(a.verdict != SCRAPE_METRICS || strcmp(h.path, "/metrics") == 0);
        }
        require(exposition_of_accept(lines[0]) < EXPOSITION_N);
        (void)exposition_may_be_gzip(lines[0]);
        if (listen_address_parse(lines[3], &address, &err) == 0)
                require(strlen(address.host) < sizeof(address.host) && address.host[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct counter_keeper keeper = {0};
        struct metric_set set = {.keeper = &keeper};
        char *text = strndup((const char *)data, size), *rest = text;
        char *lines[N_HEAD_LINES];
        static char empty[] = "";

        if (!text)
                abort();
        for (size_t i = 0; i < N_HEAD_LINES; i++) {
                lines[i] = strsep(&rest, "\n");
                if (!lines[i])
                        lines[i] = empty;
        }
        check_head(lines);
        for (int round = 0; round < 2; round++) {
                char *copy = strdup(rest ? rest : ""), *at = copy, *line;

                counter_keeper_begin(&keeper);
                metric_set_clear(&set);
                metric_put(&set, METRIC_BUILD_INFO, NULL, 1);
                for (size_t i = 0; (line = strsep(&at, "\n")); i++)
                        put(&set, line, i);
                for (int e = 0; e < EXPOSITION_N; e++)
                        check_text(&set, (enum exposition)e);
                free(copy);
        }
        metric_set_done(&set);
        counter_keeper_done(&keeper);
        free(text);
        return 0;
}
