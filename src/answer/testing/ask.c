/* SPDX-License-Identifier: MIT */
/* For people: one answer on stdout, how long it took on stderr, asked as often as is said.
 *
 *   ask [-o OLD.silt] [-n TIMES] FILE.silt NAME [QUERY] [NAME QUERY]… */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "answer/answerer.h"
#include "base/system_clock.h"

static double now_ms(void) {
        return (double)clock_now_ns() / 1e6;
}

static int ask_once(struct asker *k, const char *name, const char *query, bool is_told) {
        double began_ms = now_ms();
        struct err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        int r = answer(k, name, query, strlen(query), out, &err);

        fclose(out);
        fprintf(stderr, "%9.1f ms %9zu bytes  %s?%s\n", now_ms() - began_ms, n, name, query);
        if (r < 0)
                fprintf(stderr, "%s: %s: %s\n", strerror(-r), err.key ? err.key : "-", err.text);
        else if (is_told)
                fwrite(text, 1, n, stdout);
        free(text);
        return r;
}

int main(int argc, char **argv) {
        struct answerer_options o = {.rules = {.with_config = true}};
        struct answerer *a = NULL;
        struct err err = {0};
        struct asker *k;
        int c, r = 0, n_times = 1;
        double began_ms = now_ms();

        while ((c = getopt(argc, argv, "o:n:")) != -1) {
                if (c == 'o')
                        o.old_path = optarg;
                else if (c == 'n')
                        n_times = atoi(optarg);
                else
                        return 2;
        }
        if (optind + 1 >= argc)
                return 2;
        o.path = argv[optind++];
        if (answerer_new(&o, &a, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
        }
        fprintf(stderr, "%9.1f ms open\n", now_ms() - began_ms);
        k = asker_new(a);
        for (; optind < argc; optind += 2)
                for (int i = 0; i < n_times; i++)
                        r = ask_once(k, argv[optind], optind + 1 < argc ? argv[optind + 1] : "",
                                     i == 0);
        asker_free(k);
        answerer_free(a);
        return r < 0;
}
