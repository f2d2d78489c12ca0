/* SPDX-License-Identifier: MIT */
/* Writes the seeds of answer_fuzz: every answer, with requests drawn at random and with keys of its own.
 * usage: answer_seeds DIRECTORY */
#include <stdio.h>
#include <stdlib.h>

#include "answer/answerer.h"
#include "request/request.h"
#include "request/testing/random_request.h"

enum { N_DRAWN = 6 }; /* for each answer */

static unsigned n_written;

static void write_seed(const char *directory, const char *name, const char *query) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%u", directory, n_written++);
        f = fopen(path, "w");
        if (!f || fprintf(f, "%s\n%s", name, query) < 0 || fclose(f) != 0) {
                perror(path);
                exit(1);
        }
}

static void write_drawn(const char *directory, const char *name, unsigned seed) {
        struct request r = REQUEST_DEFAULT;
        struct random_request drawn;
        struct str url = {0};

        random_request_draw(&drawn, seed);
        for (size_t k = 0; k < drawn.n; k++)
                if (request_set(&r, drawn.pairs[k].key, drawn.pairs[k].value, NULL) < 0)
                        abort();
        request_add_url(&r, &url);
        write_seed(directory, name, str_text(&url));
        str_done(&url);
        request_done(&r);
}

int main(int argc, char **argv) {
        static const char *const own[][2] = {
                {"trace", ""},
                {"trace", "since=1&wait=1&id=a"},
                {"report", "top=3"},
                {"report", "blocks"},
                {"report", "tree&min-share=1&from=1ms"},
                {"report", "group-by=function&process=main"},
                {"timeline", "columns=20"},
                {"timeline", "columns=20&groups=3&group-by=crate"},
                {"timeline", "columns=9&groups=2&group-by=thread&coarse&from=10ms&to=200ms"},
                {"timeline", "columns=5&function=a"},
                {"flame", "by=end"},
                {"flame", "ages&by=end"},
                {"flame", "ages&by=peak&process=all"},
                {"flame", "reverse&by=growth"},
                {"flame", "lines&by=allocated"},
                {"flame", "against"},
                {"flame", "old-from=1ms&old-to=20ms&from=20ms"},
                {"flame", "old-at=30ms"},
                {"table", "group-by=site&rows=10&sparks=4"},
                {"table", "group-by=function&by=count"},
                {"table", "group-by=module"},
                {"table", "group-by=line&by=growth"},
                {"table", "group-by=crate&by=temporary"},
                {"table", "group-by=component&by=end"},
                {"table", "group-by=thread"},
                {"table", "group-by=size&rows=2"},
                {"table", "group-by=process&process=all"},
                {"detail", "site=1"},
                {"detail", "site=2&by=end"},
                {"detail", "function=main&from=1ms&to=400ms"},
                {"detail", "size=1K..1M"},
                {"detail", "not-site=3"},
                {"detail", ""},
                {"detail", "function=main&by=cpu"},
                {"detail", "by=blocked&full"},
                {"detail", "by=cpu&site=1"},
                {"detail", "function=nobody"},
                {"detail", "thread=a&from=@loaded"},
                {"table", "group-by=function&by=cpu&sparks=4"},
                {"timeline", "columns=9&by=blocked"},
                {"threads", "by=cpu"},
                {"source", "what=main"},
                {"source", "what=a.c"},
                {"source", "what=a.c:3&by=allocated"},
                {"heat", ""},
                {"heat", "size=1..100&process=main"},
                {"threads", ""},
                {"threads", "full&from=5ms"},
                {"diff", "against"},
                {"diff", "old-from=0s&old-to=100ms&from=100ms"},
                {"diff", "old-process=main&against&by=count"},
                {"columns", "rows=3"},
                {"columns", "rows=100&process=main"},
                {"holders", ""},
                {"holders", "what=a"},
                {"holders", "top=3&depth=2&full"},
                {"neighbours", "graph=0&group=1"},
                {"neighbours", "graph=0&group=3"},
                {"neighbours", "graph=0&group=2&what=a"},
                {"neighbours", "graph=7&group=2"},
                {"tasks", ""},
                {"tasks", "top=3&full"},
                {"sql", "sql=SELECT+*+FROM+marks"},
                {"sql",
                 "sql=SELECT+time_ns,name,1e999,x'00ff',1.5,NULL,9007199254740993,char(65,0,66)+FROM+marks&rows=2"},
                {"sql", "sql=SELECT+:a,+:b&p-a=5&p-b=&process=main"},
                {"sql", "sql=SELECT+0+AS+thread,+0+AS+process,+1+AS+stack&rows=1"},
                {"sql", "sql=SELECT+name+FROM+other.marks+UNION+SELECT+name+FROM+marks"},
                {"sql",
                 "sql=WITH+RECURSIVE+c(x)+AS+(VALUES(1)+UNION+ALL+SELECT+x%2B1+FROM+c+LIMIT+50)+SELECT+x+FROM+c&rows=20"},
                {"sql", "sql=SELECT+1;SELECT+2"},
                {"sql", "sql=SELECT+no+FROM+marks"},
                {"sql", "sql=DROP+TABLE+marks"},
                {"sql", "recipe=growing&p-since=10ms&p-top=3"},
                {"sql", "recipe=callers&p-function=a"},
                {"sql", "recipe=marks"},
                {"sql", "recipe=nothing"},
                {"sql-schema", ""},
                {"sql-schema", "process=main"},
                {"nothing", "from=1s"},
        };

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
                write_seed(argv[1], own[i][0], own[i][1]);
        for (unsigned i = 0; answer_names()[i]; i++)
                for (unsigned k = 0; k < N_DRAWN; k++)
                        write_drawn(argv[1], answer_names()[i], i * N_DRAWN + k);
        return 0;
}
