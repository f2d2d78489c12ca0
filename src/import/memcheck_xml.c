/* SPDX-License-Identifier: MIT */
/* Memcheck's XML (--xml=yes): an <error> of kind Leak_… for each loss record. Parsed by expat, in pieces. */
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "import/import_format.h"
#include "import/leak_records.h"

enum { XML_PIECE_BYTES = 64 << 10, XML_MAX_TEXT_BYTES = 1 << 20, XML_MAX_DEPTH = 64 };

struct memcheck_xml {
        struct leak_records leaks;
        XML_Parser parser;
        struct str text; /* of the innermost element */
        struct leak_record record;
        bool is_record;        /* the error's text is a loss record's */
        bool in_stack, in_arg; /* of an error; of the program's command line */
        unsigned n_stacks;     /* of the error */
        unsigned depth;
        struct import_frame frame;
        char *name, *file, *folder, *module;
        struct str command;
        bool is_cut, is_too_deep;
};

static bool matches(const uint8_t *head, size_t n) {
        return memmem(head, n, "<valgrindoutput>", 16) &&
               memmem(head, n, "<protocoltool>memcheck", 22);
}

static bool is(const XML_Char *name, const char *wanted) {
        return strcmp(name, wanted) == 0;
}

static char *taken(struct memcheck_xml *m) {
        return arena_strdup(m->leaks.arena, str_text(&m->text));
}

static void on_begin(void *ctx, const XML_Char *name, const XML_Char **attributes) {
        struct memcheck_xml *m = ctx;

        (void)attributes;
        str_clear(&m->text);
        if (++m->depth > XML_MAX_DEPTH) {
                m->is_too_deep = true;
                XML_StopParser(m->parser, XML_FALSE);
        }
        if (is(name, "error")) {
                m->is_record = false;
                m->n_stacks = 0;
                import_frames_clear(&m->leaks.path);
        } else if (is(name, "stack")) {
                m->in_stack = m->n_stacks++ == 0;
        } else if (is(name, "frame")) {
                m->frame = (struct import_frame){0};
                m->name = m->file = m->folder = m->module = NULL;
        } else if (is(name, "argv")) {
                m->in_arg = true;
        }
}

static void end_frame(struct memcheck_xml *m) {
        struct str path = {0};

        if (!m->in_stack || !m->is_record)
                return;
        if (m->file && m->folder)
                str_addf(&path, "%s/", m->folder);
        str_add(&path, m->file ? m->file : "");
        m->frame.module = m->module;
        m->frame.function.name = m->name;
        m->frame.function.file = str_text(&path);
        import_frames_add(&m->leaks.path, &m->frame);
        str_done(&path);
}

static void end_leaf(struct memcheck_xml *m, const XML_Char *name) {
        const char *text = str_text(&m->text);

        if (is(name, "text"))
                m->is_record |= leak_records_parse(text, &m->record);
        else if (is(name, "ip"))
                m->frame.address = strtoull(text, NULL, 16);
        else if (is(name, "fn"))
                m->name = taken(m);
        else if (is(name, "file"))
                m->file = taken(m);
        else if (is(name, "dir"))
                m->folder = taken(m);
        else if (is(name, "obj"))
                m->module = taken(m);
        else if (is(name, "line"))
                m->frame.function.line = (uint32_t)strtoul(text, NULL, 10);
        else if (is(name, "pid"))
                m->leaks.pid = (uint32_t)strtoul(text, NULL, 10);
        else if (m->in_arg && (is(name, "exe") || is(name, "arg")))
                str_addf(&m->command, "%s%s", m->command.n ? " " : "", text);
}

static void on_end(void *ctx, const XML_Char *name) {
        struct memcheck_xml *m = ctx;

        m->depth--;
        if (is(name, "frame"))
                end_frame(m);
        else if (is(name, "stack"))
                m->in_stack = false;
        else if (is(name, "argv"))
                m->in_arg = false;
        else if (is(name, "error") && m->is_record)
                leak_records_add(&m->leaks, &m->record);
        else
                end_leaf(m, name);
        str_clear(&m->text);
}

static void on_text(void *ctx, const XML_Char *text, int n) {
        struct memcheck_xml *m = ctx;

        if (m->text.n + (size_t)n <= XML_MAX_TEXT_BYTES)
                str_addn(&m->text, text, (size_t)n);
}

/* A file of a program that was killed ends in the middle: what is whole counts. */
static int parse(struct memcheck_xml *m, struct import_input *in, struct err *reterr) {
        ssize_t n = 1;

        while (n > 0) {
                void *buf = XML_GetBuffer(m->parser, XML_PIECE_BYTES);

                if (!buf)
                        abort();
                n = import_input_read(in, buf, XML_PIECE_BYTES, reterr);
                if (n < 0)
                        return (int)n;
                if (XML_ParseBuffer(m->parser, (int)n, n == 0) == XML_STATUS_OK)
                        continue;
                m->is_cut = n == 0 && m->leaks.list.n;
                if (m->is_cut)
                        return 0;
                in->taken_bytes = (uint64_t)XML_GetCurrentByteIndex(m->parser);
                return import_input_refuse(in, reterr, "%s",
                                           m->is_too_deep
                                                   ? "its elements are nested too deeply"
                                                   : XML_ErrorString(XML_GetErrorCode(m->parser)));
        }
        return 0;
}

static int read_xml(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct memcheck_xml m = {.parser = XML_ParserCreate(NULL)};
        int r;

        if (!m.parser)
                abort();
        leak_records_init(&m.leaks);
        XML_SetUserData(m.parser, &m);
        XML_SetElementHandler(m.parser, on_begin, on_end);
        XML_SetCharacterDataHandler(m.parser, on_text);
        r = parse(&m, in, reterr);
        if (r >= 0 && !m.leaks.list.n)
                r = import_input_refuse(
                        in, reterr, "it has no loss record: run valgrind with --leak-check=full");
        if (r >= 0) {
                m.leaks.command = str_text(&m.command);
                r = leak_records_put(&m.leaks, t, reterr);
        }
        if (r >= 0 && m.is_cut)
                import_trace_limit(t, "The file ends before its end: loss records may be missing");
        XML_ParserFree(m.parser);
        leak_records_done(&m.leaks);
        str_done(&m.text);
        str_done(&m.command);
        return r;
}

const struct import_format import_memcheck_xml = {
        .name = "memcheck-xml",
        .title = "memcheck's XML",
        .lacks =
                "what was in use at exit by call path, but no peak, no times, no threads and nothing of what was freed",
        .matches = matches,
        .read = read_xml,
};
