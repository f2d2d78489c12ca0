#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that nobody here wrote: what a stranger reads first about each (_reader.py says how a line is written).
tests/wild/programs.py SILT [REGEX] prints a table instead."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from wild._reader import ENV, List  # noqa: E402

PROGRAMS = r"""
sqlite3     | calm | - | leak | sqlite3 :memory: '.read {t.sql}'
sqlite_grow | calm | 39\.[34] MiB | growing by | sqlite3 :memory: '.read {big.sql}'
python      | calm | - | - | python3 {work.py}
perl        | calm | - | - | perl {work.pl}
jq          | calm | built up|held | growing by | jq length {big.json}
node        | calm | its own mappings | TiB|still allocated at the end, neither | node {work.js}
java        | calm | its own mappings | TiB|growing by | java -Xmx256m {Work.java}
php         | calm | - | - | php {work.php}
luajit      | calm | its own mappings | peaked at 0 B | luajit {work.lua}
lua         | calm | - | growing by | lua5.4 {work.lua}
ruby        | calm | - | growing by|neither startup | ruby {work.rb}
R           | calm | heap of R | growing by|neither startup | Rbin -e 'x <- lapply(1:60, function(i) runif(20000)); y <- lapply(x, sort); cat(length(y))'
emacs       | calm | - | growing by|neither startup | emacs --batch -Q --eval '(let (l) (dotimes (i 300000) (push (list i (number-to-string i)) l)) (message "%d" (length l)))'
guile       | calm | - | TiB|growing by | guile --no-auto-compile -c '(define l (iota 1000000)) (display (length (map (lambda (x) (* x 1.5)) l)))'
ocaml       | calm | - | growing by | ocaml {work.ml}
erlang      | calm | - | TiB | erl -noshell -eval 'L = lists:seq(1, 500000), io:format("~p", [lists:sum(L)]), halt().'
pandoc      | calm | its own mappings|files | TiB | pandoc {work.md} -o {out.html}
cc1plus     | calm | its own mappings | TiB | {cc1plus} -quiet -O1 -imultiarch {multiarch} -D_GNU_SOURCE {work.cc} -o {out.s}
cc1         | calm | - | TiB | {cc1} -quiet -O1 {work.c} -o {out.s}
clang       | calm | - | - | clang -cc1 -emit-obj -O1 {work.c} -o {out.o}
as          | calm | - | - | as {asm.s} -o {out.o}
ld          | calm | - | - | ld -r {asm.o} -o {out2.o}
git         | calm | - | - | git -C {repo} log --stat --format=%H
openssl     | calm | - | neither startup | openssl speed -seconds 1 sha256
openssl_key | calm | - | - | openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out {out.pem}
curl        | calm | - | neither startup | curl -s -o {out.txt} file://{big.json}
xz          | calm | - | - | xz -k -c -6 {big.json} --stdout
zstd        | calm | - | - | zstd -q -f {big.json} -o {out.zst}
gzip        | calm | - | growing by | gzip -k -f -c {big.json}
tar         | calm | - | - | tar cf {out.tar} -C /usr/share/doc/bash .
sort        | calm | - | growing by | sort {big.txt} -o {out.txt}
gawk        | calm | - | - | gawk '{{n[$1 % 1000]++}} END {{print length(n)}}' {big.txt}
find        | calm | - | - | find /usr/share/doc/bash -name 'x*'
bash        | calm | - | - | bash -c 'for i in {{1..5000}}; do x="$x$i"; done; echo ${{#x}}'
vim         | calm | - | - | vim -u NONE -es -c 'for i in range(20000) | call append(0, "line " . i) | endfor' -c q! {out.txt}
gdb         | calm | - | - | gdb -q -batch -ex 'info line main' /usr/bin/bash
ffmpeg      | calm | - | - | ffmpeg -v error -f lavfi -i testsrc=duration=1:size=640x360 -f null -
rsvg        | calm | - | - | rsvg-convert {pic.svg} -o {out.png}
dot         | calm | - | - | dot -Tsvg {g.dot} -o {out.svg}
xmllint     | calm | - | - | xmllint --noout {big.xml}
tclsh       | calm | - | - | tclsh {work.tcl}
objdump     | calm | - | - | objdump -d /usr/bin/bash --start-address=0x40000 --stop-address=0x60000
groff       | calm | - | - | troff -Tutf8 {work.roff}
bc          | calm | - | - | bc -q {work.bc}
cmake       | calm | - | - | cmake --help-full
busybox     | calm | - | - | busybox sort {big.txt}
m4          | calm | - | - | m4 {work.m4}
"""

QUICK = ("sqlite3", "jq", "as", "sort")  # those that no machine is too busy for: cc1 takes 20 s there, and what it builds grows

TOOLS = {
    "cc1plus": lambda *_: subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip(),
    "multiarch": lambda *_: subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip(),
    "cc1": lambda *_: subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip(),
}

SQL = """create table t(id integer primary key, name text, n real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < %d)
  insert into t select x, 'name ' || (x * 7919 %% 5000) || printf('%%0100d', x), x / 3.0 from c;
select count(*), sum(n), max(name) from t;"""

INPUTS = {
    "t.sql": lambda: SQL % 3000,
    "big.sql": lambda: SQL % 300000,
    "work.py": lambda: "import json\nfor _ in range(20):\n  d = [{'id': i, 'n': str(i)} for i in range(3000)]\n  assert json.loads(json.dumps(d)) == d\n",
    "work.pl": lambda: "for my $r (1..20) { my %h; push @{$h{$_ % 97}}, \"v$_\" x 3 for 1..5000; }\n",
    "work.js": lambda: "let s = 0; for (let i = 0; i < 200; i++) { const a = Array.from({length: 5000}, (_, k) => ({k, t: 'x' + k})); s += a.length } console.log(s)\n",
    "Work.java": lambda: "public class Work { public static void main(String[] a) { long n = 0; for (int i = 0; i < 300; i++) { var l = new java.util.ArrayList<String>();"
                         " for (int k = 0; k < 5000; k++) l.add(\"x\" + k); n += l.size(); } System.out.println(n); } }\n",
    "work.php": lambda: "<?php for ($r = 0; $r < 20; $r++) { $a = []; for ($i = 0; $i < 5000; $i++) $a[] = ['k' => $i, 't' => \"x$i\"]; } echo count($a);\n",
    "work.lua": lambda: "local s = 0\nfor r = 1, 60 do local t = {} for i = 1, 20000 do t[i] = {i, 'x' .. i} end s = s + #t end\nprint(s)\n",
    "work.rb": lambda: "30.times { a = (0...5000).map { |i| {k: i, t: \"x#{i}\"} }; a.size }\n",
    "work.ml": lambda: "let () = for _ = 1 to 20 do ignore (List.length (List.init 50000 (fun i -> (i, string_of_int i)))) done\n",
    "work.md": lambda: "\n\n".join(f"# Head {i}\n\nSome *text* with `code` and a [link](x{i}).\n\n- a\n- b" for i in range(300)),
    "work.c": lambda: "#include <stdio.h>\n".replace("#include <stdio.h>\n", "") + "".join(
        f"int f{i}(const int *v, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += v[k] % 3 ? v[k] * k : -v[n - k - 1]; return s; }}\n" for i in range(400)),
    "work.cc": lambda: "#include <map>\n#include <string>\n#include <vector>\n" + "".join(
        f"struct S{i} {{ std::map<int, std::string> m; std::vector<S{i}*> v; int f(int x) {{ m[x] += \"{i}\"; v.push_back(this); return (int)v.size(); }} }};\n"
        f"int use{i}(S{i} &s) {{ return s.f({i}); }}\n" for i in range(60)),
    "asm.s": lambda: "\n".join(f"f{i}:\n .long {i}\n .quad f{i}" for i in range(20000)) + "\n",
    "big.json": lambda: json.dumps([{"id": i, "name": f"name {i * 7919 % 5000}", "tags": list(range(i % 7))} for i in range(40000)]),
    "big.txt": lambda: "\n".join(str(i * 7919 % 300007) for i in range(300000)) + "\n",
    "big.xml": lambda: "<r>" + "".join(f"<e id='{i}'><n>name {i}</n></e>" for i in range(40000)) + "</r>",
    "pic.svg": lambda: "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='900'>"
                       + "".join(f"<circle cx='{i * 37 % 900}' cy='{i * 91 % 900}' r='{i % 40}' fill='#{i % 4096:03x}'/>" for i in range(500)) + "</svg>",
    "g.dot": lambda: "digraph g {" + "".join(f"n{i} -> n{i * 7 % 150};" for i in range(200)) + "}",
    "work.tcl": lambda: "for {set i 0} {$i < 50000} {incr i} { set a($i) x$i }\nputs [array size a]\n",
    "work.roff": lambda: ".pl 60\n" + "\n".join(f"word {i} of a text\n.br" for i in range(3000)) + "\n",
    "work.bc": lambda: "scale = 400\n4 * a(1)\nquit\n",
    "work.m4": lambda: "".join(f"define(`m{i}', `text {i} $1')m{i}(x)\n" for i in range(5000)),
}


def make_object(folder, _silt):
    source, path = os.path.join(folder, "asm.s"), os.path.join(folder, "asm.o")
    with open(source, "w") as f:
        f.write(INPUTS["asm.s"]())
    subprocess.run(["as", source, "-o", path], check=True)
    return path


def make_repository(folder, _silt):
    path = os.path.join(folder, "repo")
    env = {**os.environ, **ENV, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", "init", "-q", path], check=True, env=env)
    for i in range(20):
        with open(os.path.join(path, f"f{i % 5}"), "w") as f:
            f.write(f"line {i}\n" * 500)
        subprocess.run(["git", "-C", path, "add", "."], check=True, env=env)
        subprocess.run(["git", "-C", path, "commit", "-qm", str(i)], check=True, env=env)
    return path


ALL = List(PROGRAMS, INPUTS, {**TOOLS, "asm.o": make_object, "repo": make_repository}, QUICK)
globals().update(ALL.cases())

if __name__ == "__main__":
    ALL.main()
