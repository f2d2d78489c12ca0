/* SPDX-License-Identifier: MIT */
#include "cli/page_serving.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/str.h"
#include "page/page_assets.h"
#include "serve/browser.h"

static void say_where(const struct page_serving *w, const struct server *s) {
        struct str address = {0}, key = {0}, forward = {0};
        bool is_far = browser_add_forwarding(server_port(s), &forward);

        str_addf(&address, "%s%s", server_address(s), w->fragment);
        str_addf(&key, "%s%s", server_key_address(s), w->fragment);
        if (!server_is_loopback(s))
                fprintf(stderr,
                        "silt: %s: other machines reach this address, and nothing is encrypted: whoever has it can read %s\n",
                        w->command, w->what);
        if (!page_is_built())
                fprintf(stderr, "silt: %s: only the API is served: %s\n", w->command, PAGE_MISSING);
        fprintf(stderr, "silt: %s: %s\n", w->command, str_text(&address));
        if (is_far && server_is_loopback(s))
                fprintf(stderr,
                        "silt: %s: you are connected by ssh: on your own machine run '%s', and open the address there\n",
                        w->command, str_text(&forward));
        else if (!w->no_browser && browser_is_there() && !browser_open(str_text(&key)))
                fprintf(stderr, "silt: %s: cannot start a browser: open the address in one\n",
                        w->command);
        fprintf(stderr, "silt: %s: press Ctrl-C to end\n", w->command);
        str_done(&address);
        str_done(&key);
        str_done(&forward);
}

/* Signals that end it, as a descriptor: before any thread is there. */
static int block_signals(void) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGQUIT);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        signal(SIGPIPE, SIG_IGN);
        return signalfd(-1, &signals, SFD_CLOEXEC);
}

static struct asset asset(const char *path, const char *type, struct page_asset a) {
        return (struct asset){.path = path, .type = type, .bytes = a.bytes, .n = a.n};
}

/* The document says which page it is. */
static void add_document(struct str *to, const char *kind) {
        struct page_asset d = page_document();
        static const char head[] = "<head>\n";
        const char *at = kind ? memmem(d.bytes, d.n, head, strlen(head)) : NULL;
        size_t n = at ? (size_t)(at - d.bytes) + strlen(head) : 0;

        str_addn(to, d.bytes, n);
        if (at)
                str_addf(to, "<meta name=\"silt-page\" content=\"%s\">\n", kind);
        str_addn(to, d.bytes + n, d.n - n);
}

int page_serving_check(const struct page_serving *s, struct err *reterr) {
        if (!page_is_built() && !s->no_browser)
                return err_set(reterr, -ENOTSUP,
                               PAGE_MISSING ", or serve the API alone with --no-browser");
        return 0;
}

int page_serve(struct page_serving *s, struct err *reterr) {
        struct str document = {0};
        struct server *server = NULL;
        struct asset assets[] = {
                asset("/", "text/html; charset=utf-8", page_document()),
                asset("/page.js", "text/javascript; charset=utf-8", page_script()),
                asset("/page.css", "text/css; charset=utf-8", page_sheet()),
        };
        int signal_fd = block_signals(), r = 0;

        if (signal_fd < 0)
                return err_set_errno(reterr, -errno, "cannot make a descriptor (see ulimit -n)");
        if (page_is_built())
                add_document(&document, s->kind);
        else
                str_addf(&document, "<!doctype html>\n<title>silt</title>\n<p>%s.\n", PAGE_MISSING);
        assets[0].bytes = str_text(&document);
        assets[0].n = document.n;
        s->server.assets = assets;
        s->server.n_assets = page_is_built() ? ARRAY_SIZE(assets) : 1;
        r = server_start(&s->server, &server, reterr);
        if (r >= 0) {
                say_where(s, server);
                r = server_run(server, signal_fd, reterr);
        }
        server_free(server);
        str_done(&document);
        close(signal_fd);
        return r;
}
