/* SPDX-License-Identifier: MIT */
#include "cli/sql_shell.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/str.h"
#include "cli/options.h"
#include "cli/sql_complete.h"
#include "show/style.h"

enum {
        HISTORY_ENTRIES = 1000,
        HISTORY_ENTRY_BYTES = 4000, /* longer ones are not remembered */
        HISTORY_FILE_BYTES = 16 << 20,
        MOST_LISTED = 120,
        CTRL_D = 4,
};

struct shell {
        struct sql_session *session;
        bool with_other, is_utf8;
        FILE *terminal; /* where lines are edited */
        EditLine *el;
        History *history;
        char *history_path;   /* NULL: nothing is remembered */
        struct str statement; /* lines of one that is not complete */
};

static volatile sig_atomic_t is_interrupted, is_resized;
static sigset_t while_waiting; /* mask of signals: both are let through */

static void on_interrupt(int signal) {
        (void)signal;
        is_interrupted = 1;
}

static void on_resize(int signal) {
        (void)signal;
        is_resized = 1;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static char *prompt(EditLine *el) {
        static char first[] = "silt> ", more[] = "   …> ", more_ascii[] = "  ..> ";
        struct shell *s = NULL;

        el_get(el, EL_CLIENTDATA, &s);
        return !s->statement.n ? first : s->is_utf8 ? more : more_ascii;
}

/* Signals wait until then, so that none comes between a look at the flags and the wait. */
static ssize_t wait_and_read(char *ret) {
        struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};

        if (ppoll(&fd, 1, NULL, &while_waiting) < 0)
                return -1;
        return read(STDIN_FILENO, ret, 1);
}

/* One character. Signals are looked at here, between two of them, where libedit is at rest. */
static int read_character(EditLine *el, wchar_t *ret) {
        mbstate_t state = {0};
        char c;

        for (;;) {
                ssize_t n = wait_and_read(&c);
                size_t got;

                if (n < 0 && errno == EINTR && !is_interrupted) {
                        if (is_resized)
                                el_resize(el);
                        is_resized = 0;
                        continue;
                }
                if (n <= 0)
                        return (int)n;
                if (c == '\0') /* a Ctrl-D from before the terminal gave single characters */
                        c = CTRL_D;
                got = mbrtowc(ret, &c, 1, &state);
                if (got == (size_t)-2)
                        continue;
                if (got == (size_t)-1) { /* no character of this locale */
                        memset(&state, 0, sizeof(state));
                        continue;
                }
                return 1;
        }
}

/* For all of the shell's life: Ctrl-C ends a read, and otherwise only what sql_watch stops. */
static void take_signals(void) {
        struct sigaction interrupt = {.sa_handler = on_interrupt},
                         resize = {.sa_handler = on_resize};

        sigemptyset(&interrupt.sa_mask);
        sigemptyset(&resize.sa_mask);
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGWINCH, &resize, NULL);
}

/* NULL and is_interrupted: Ctrl-C. NULL alone: the end. */
static const char *read_line(struct shell *s) {
        const char *line;
        sigset_t signals;
        int n;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGWINCH);
        sigprocmask(SIG_BLOCK, &signals, &while_waiting);
        is_interrupted = 0;
        el_resize(s->el);
        el_set(s->el, EL_PREP_TERM, 1); /* before the prompt says that one may type */
        line = el_gets(s->el, &n);
        sigprocmask(SIG_SETMASK, &while_waiting, NULL);
        return n > 0 && !is_interrupted ? line : NULL;
}

/* ---- Tab --------------------------------------------------------------------------------------- */

static void list_words(const struct shell *s, const struct sql_completion *c) {
        size_t width = 0, n = MIN(c->words.n, (size_t)MOST_LISTED), per_line, n_lines;

        for (size_t i = 0; i < n; i++)
                width = MAX(width, strlen(c->words.items[i]) + 2);
        per_line = MAX(style_columns(s->terminal) / width, (size_t)1);
        n_lines = (n + per_line - 1) / per_line;
        fputc('\n', s->terminal);
        for (size_t i = 0; i < n_lines; i++) {
                for (size_t k = i; k < n; k += n_lines)
                        fprintf(s->terminal, "%-*s", k + n_lines < n ? (int)width : 0,
                                c->words.items[k]);
                fputc('\n', s->terminal);
        }
        if (n < c->words.n)
                fprintf(s->terminal, "and %zu more\n", c->words.n - n);
        fflush(s->terminal);
}

static unsigned char on_tab(EditLine *el, int key) {
        const LineInfo *line = el_line(el);
        struct sql_completion c;
        struct shell *s = NULL;
        struct str text = {0};
        size_t cursor, common;
        unsigned char done = CC_ERROR;

        (void)key;
        el_get(el, EL_CLIENTDATA, &s);
        str_addn(&text, s->statement.bytes, s->statement.n);
        cursor = text.n + (size_t)(line->cursor - line->buffer);
        str_addn(&text, line->buffer, (size_t)(line->lastchar - line->buffer));
        sql_complete(s->session->sql, s->with_other, str_text(&text), cursor, &c);
        common = sql_completion_common(&c);
        if (c.words.n == 1 || common > cursor - c.begin) {
                struct str word = {0};

                str_addn(&word, c.words.items[0], common);
                el_deletestr(el, (int)(cursor - c.begin));
                el_insertstr(el, str_text(&word));
                str_done(&word);
                done = CC_REFRESH;
        } else if (c.words.n) {
                list_words(s, &c);
                done = CC_REDISPLAY;
        }
        sql_completion_done(&c);
        str_done(&text);
        return done;
}

/* ---- history ----------------------------------------------------------------------------------- */

/* Those of path that are behind its first n_given bytes: a home that is not there is not made. */
static int make_folders(char *path, size_t n_given) {
        for (char *slash = strchr(path + n_given, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(path, 0700) < 0 && errno != EEXIST) {
                        *slash = '/';
                        return -errno;
                }
                *slash = '/';
        }
        return 0;
}

/* $XDG_STATE_HOME/silt/sql_history, made where it is not there. NULL: it cannot be had. */
static char *find_history(void) {
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        struct str path = {0};
        struct stat st;
        size_t n_home = 1;
        int fd = -1;

        if (state && state[0] == '/')
                str_addf(&path, "%s/silt/sql_history", state);
        else if (home && home[0] == '/') {
                str_addf(&path, "%s/.local/state/silt/sql_history", home);
                n_home = strlen(home) + 1;
        }
        if (path.n && make_folders(path.bytes, n_home) == 0)
                fd = fs_open(path.bytes, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > HISTORY_FILE_BYTES)
                str_done(&path);
        if (fd >= 0)
                close(fd);
        return path.n ? path.bytes : NULL;
}

/* A statement of several lines is one line again, where that does not change it. */
static void remember(struct shell *s, const char *text) {
        struct str line = {0};
        HistEvent event;
        char quote = '\0';

        for (const char *c = text; *c; c++) {
                if (quote ? *c == quote : *c == '\'' || *c == '"')
                        quote = quote ? '\0' : *c;
                if (*c == '\n' && (quote || strstr(text, "--"))) {
                        str_done(&line);
                        return;
                }
                str_addn(&line, *c == '\n' ? " " : c, 1);
        }
        while (line.n && isspace((unsigned char)line.bytes[line.n - 1]))
                line.n--;
        if (line.n && line.n <= HISTORY_ENTRY_BYTES) {
                line.bytes[line.n] = '\0';
                history(s->history, &event, H_ENTER, str_text(&line));
                if (s->history_path)
                        history(s->history, &event, H_SAVE, s->history_path);
        }
        str_done(&line);
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static void run(struct shell *s, const char *text) {
        struct err err = {0};
        int r;

        s->session->n_answers = 0;
        r = sql_session_run(s->session, text, &err);
        cli_say_err(r, &err);
}

/* What people write in any shell, while no statement is begun. */
static const char *dot_for(const char *line) {
        static const struct {
                const char *word, *dot;
        } words[] = {{"help", ".help"},
                     {"quit", ".quit"},
                     {"exit", ".quit"},
                     {"?", ".help"},
                     {"\\q", ".quit"}};
        size_t n = strcspn(line, " ;\n");

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strlen(words[i].word) == n && strncmp(line, words[i].word, n) == 0 &&
                    strspn(line + n, " ;\n") == strlen(line + n))
                        return words[i].dot;
        return line[0] == '.' ? line : NULL;
}

static void take_line(struct shell *s, const char *line) {
        const char *dot = s->statement.n ? NULL : dot_for(line);

        if (!s->statement.n && !line[strspn(line, " \t\n;")])
                return;
        if (dot) {
                remember(s, line);
                run(s, dot);
                return;
        }
        str_add(&s->statement, line);
        if (s->statement.n > SQL_MAX_TEXT_BYTES) {
                fputs("silt: the statement has more than a megabyte: it is forgotten\n", stderr);
                str_clear(&s->statement);
        } else if (sql_is_complete(str_text(&s->statement))) {
                struct str text = s->statement;

                s->statement = (struct str){0};
                remember(s, str_text(&text));
                run(s, str_text(&text));
                str_done(&text);
        }
}

static int begin(struct shell *s, struct err *reterr) {
        HistEvent event;
        struct style style;

        take_signals();
        setlocale(LC_CTYPE, ""); /* libedit reads characters of the terminal's */
        style_init(&style, s->session->out);
        s->is_utf8 = style.utf8;
        s->terminal = isatty(fileno(s->session->out)) == 1 ? s->session->out : stderr;
        s->el = el_init("silt", stdin, s->terminal, stderr);
        s->history = history_init();
        if (!s->el || !s->history)
                return err_set(reterr, -ENOMEM,
                               "the shell does not start: give a statement behind the "
                               "trace");
        history(s->history, &event, H_SETSIZE, HISTORY_ENTRIES);
        history(s->history, &event, H_SETUNIQUE, 1);
        s->history_path = find_history();
        if (s->history_path)
                history(s->history, &event, H_LOAD, s->history_path);
        el_set(s->el, EL_CLIENTDATA, s);
        el_set(s->el, EL_PROMPT, prompt);
        el_set(s->el, EL_EDITOR, "emacs");
        el_set(s->el, EL_SIGNAL, 0);
        el_set(s->el, EL_GETCFN, read_character);
        el_set(s->el, EL_HIST, history, s->history);
        el_set(s->el, EL_ADDFN, "silt-complete", "complete a name", on_tab);
        el_set(s->el, EL_BIND, "^I", "silt-complete", NULL);
        el_set(s->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
        return 0;
}

static void end(struct shell *s) {
        if (s->el)
                el_end(s->el);
        if (s->history)
                history_end(s->history);
        free(s->history_path);
        str_done(&s->statement);
}

int sql_shell_run(struct sql_session *session, bool with_other, struct err *reterr) {
        struct shell s = {.session = session, .with_other = with_other};
        int r = begin(&s, reterr);

        session->is_shell = true;
        while (r >= 0 && !session->is_over) {
                const char *line = read_line(&s);

                if (line) {
                        take_line(&s, line);
                        continue;
                }
                fputc('\n', s.terminal);
                if (!is_interrupted)
                        break;
                str_clear(&s.statement);
        }
        end(&s);
        return r;
}
