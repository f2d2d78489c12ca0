/* SPDX-License-Identifier: MIT */
#include "metrics/scrape_gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

/* A page of the web may have its own name mean this machine, and read what is meant for loopback: such a request names a host. */
static bool is_own_host(const char *host) {
        char name[64] = "";
        struct in6_addr number;
        size_t n;

        if (!host || !host[0])
                return true;
        if (host[0] == '[')
                n = strcspn(++host, "]");
        else
                n = strcspn(host, ":");
        if (n >= sizeof(name))
                return false;
        memcpy(name, host, n);
        return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &number) == 1 ||
               inet_pton(AF_INET6, name, &number) == 1;
}

static struct scrape_admitted refuse(unsigned status, const char *text) {
        return (struct scrape_admitted){SCRAPE_REFUSED, status, text};
}

bool scrape_is_refused_early(const struct scrape_head *h, struct scrape_admitted *ret) {
        if (strcmp(h->method, "GET") != 0 && strcmp(h->method, "HEAD") != 0)
                *ret = refuse(405, "only GET and HEAD");
        else if (h->has_body)
                *ret = refuse(413, "a request here has no body");
        else
                return false;
        return true;
}

struct scrape_admitted scrape_admit(const struct scrape_head *h, bool is_loopback) {
        struct scrape_admitted a;

        if (scrape_is_refused_early(h, &a))
                return a;
        if (is_loopback && !is_own_host(h->host))
                return refuse(403, "the host must be a number or localhost");
        if (strcmp(h->path, "/") == 0)
                return (struct scrape_admitted){SCRAPE_HINT, 200, "silt: see /metrics"};
        if (strcmp(h->path, "/metrics") != 0)
                return refuse(404, "there is only /metrics");
        return (struct scrape_admitted){SCRAPE_METRICS, 200, NULL};
}
