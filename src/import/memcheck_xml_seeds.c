/* SPDX-License-Identifier: MIT */
/* Writes the seeds of memcheck_xml_fuzz: loss records of two kinds, another error, a file that is cut.
 * usage: memcheck_xml_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "<?xml version=\"1.0\"?>\n"
        "<valgrindoutput>\n"
        "<protocolversion>4</protocolversion>\n"
        "<protocoltool>memcheck</protocoltool>\n"
        "<pid>28007</pid>\n"
        "<args><vargv><exe>valgrind</exe><arg>-v</arg></vargv><argv><exe>./leaky</exe><arg>1</arg></argv></args>\n"
        "<error><kind>InvalidRead</kind><what>Invalid read</what><stack>\n"
        "    <frame><ip>0x48417B4</ip><obj>/usr/lib/x.so</obj><fn>malloc</fn></frame>\n"
        "    <frame><ip>0x1091F1</ip><obj>/tmp/leaky</obj><fn>main</fn><dir>/tmp</dir><file>leaky.c</file><line>10</line></frame>\n"
        "</stack></error>\n"
        "<error><kind>Leak_IndirectlyLost</kind>\n"
        "  <xwhat><text>64 bytes in 1 blocks are indirectly lost in loss record 1 of 2</text><leakedbytes>64</leakedbytes></xwhat>\n"
        "  <stack>\n"
        "    <frame><ip>0x48417B4</ip><obj>/usr/lib/x.so</obj><fn>malloc</fn></frame>\n"
        "    <frame><ip>0x1091F1</ip><obj>/tmp/leaky</obj><fn>main</fn><dir>/tmp</dir><file>leaky.c</file><line>10</line></frame>\n"
        "  </stack><auxwhat>x</auxwhat><stack>\n"
        "    <frame><ip>0x48417B4</ip><obj>/usr/lib/x.so</obj><fn>malloc</fn></frame>\n"
        "    <frame><ip>0x1091F1</ip><obj>/tmp/leaky</obj><fn>main</fn><dir>/tmp</dir><file>leaky.c</file><line>10</line></frame>\n"
        "</stack>\n"
        "</error>\n"
        "<error><kind>Leak_DefinitelyLost</kind>\n"
        "  <xwhat><text>128 (64 direct, 64 indirect) bytes in 1 blocks are definitely lost in loss record 2 of 2</text></xwhat>\n"
        "  <stack>\n"
        "    <frame><ip>0x48417B4</ip><obj>/usr/lib/x.so</obj><fn>malloc</fn></frame>\n"
        "    <frame><ip>0x1091F1</ip><obj>/tmp/leaky</obj><fn>main</fn><dir>/tmp</dir><file>leaky.c</file><line>10</line></frame>\n"
        "  </stack>\n"
        "</error>\n"
        "</valgrindoutput>\n",
        "<valgrindoutput><protocoltool>memcheck</protocoltool>\n"
        "<error><xwhat><text>64 bytes in 1 blocks are still reachable in loss record 1 of 2</text></xwhat><stack><frame><ip>0x1</ip></frame></stack></error>\n"
        "<error>\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
