/* SPDX-License-Identifier: MIT */
/* Writes the seeds of instruments_fuzz: references, an address without a name; another table.
 * usage: instruments_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "<?xml version=\"1.0\"?>\n"
        "<trace-query-result>\n"
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"time-profile\"><col><mnemonic>time</mnemonic></col></schema>\n"
        "<row><sample-time id=\"1\" fmt=\"00:00.1\">123456789</sample-time><thread id=\"2\" fmt=\"Main\"><tid id=\"3\">7</tid></thread><weight id=\"8\" fmt=\"1.00 ms\">1000000</weight><tagged-backtrace id=\"9\"><backtrace id=\"10\"><frame id=\"11\" name=\"hot\" addr=\"0x1005\"><binary id=\"12\" name=\"app\" path=\"/x/app\"/></frame><frame id=\"13\" name=\"main\" addr=\"0x1080\"><binary ref=\"12\"/></frame></backtrace></tagged-backtrace></row>\n"
        "<row><sample-time id=\"4\">133456789</sample-time><thread ref=\"2\"/><weight ref=\"8\"/><tagged-backtrace ref=\"9\"/></row>\n"
        "<row><sample-time id=\"5\">143456789</sample-time><weight id=\"20\" fmt=\"2.00 ms\">2000000</weight><backtrace id=\"21\"><frame id=\"22\" name=\"warm\" addr=\"0x1105\"><binary ref=\"12\"/></frame><frame ref=\"13\"/></backtrace></row>\n"
        "<row><sample-time id=\"6\">153456789</sample-time><weight ref=\"20\"/><backtrace ref=\"21\"/></row>\n"
        "<row><sample-time id=\"7\">163456789</sample-time><weight ref=\"8\"/><backtrace id=\"30\"><frame id=\"31\" name=\"0x9999\" addr=\"0x9999\"/></backtrace></row>\n"
        "</node></trace-query-result>\n",
        "<trace-query-result><node><schema name=\"other\"/><row><weight>1</weight></row></node></trace-query-result>",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
