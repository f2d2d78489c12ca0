# SPDX-License-Identifier: MIT
"""Statements that take for ever, or all memory, unless something ends them. Most are short: what they cost is not in their length."""

# 980,000 times 'a'
LONG = "replace(hex(zeroblob(490000)), '0', 'a')"
WITH_LONG = f"WITH t(a) AS MATERIALIZED (SELECT {LONG})"
TEN = "json_each('[1,2,3,4,5,6,7,8,9,10]')"
COUNT = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"


def balanced(terms, word=" AND "):
    """All of them in one condition that is not deep."""
    while len(terms) > 1:
        terms = ["(" + word.join(terms[i:i + 2]) + ")" for i in range(0, len(terms), 2)]
    return terms[0]


def sixty(table):
    return ", ".join(f"{table} t{i}" for i in range(60))


def pairs(one, other):
    return balanced([f"t{i}.{one} = t{j}.{other}" for i in range(60) for j in range(60) if i != j])


def doubled(of):
    """Each name stands for two of the one before."""
    return "WITH a0(x) AS (SELECT 1), " + ", ".join(f"a{i}(x) AS ({of.format(f'a{i - 1}')})" for i in range(1, 40)) + " SELECT count(*) FROM a39"


BOMBS = {
    "recursion": f"{COUNT} SELECT count(*) FROM c",
    "recursion that remembers": f"{COUNT.replace(' ALL', '')} SELECT count(*) FROM c",
    "recursion that grows": "WITH RECURSIVE c(n, x) AS (SELECT 1, zeroblob(1000) UNION ALL SELECT n + 1, x || n FROM c, (SELECT 1 UNION ALL SELECT 2)) SELECT count(*) FROM c",
    "sorting": f"{COUNT[:-1]} LIMIT 100000000) SELECT n FROM c ORDER BY -n",
    "groups": f"{COUNT} SELECT n, count(*) FROM c GROUP BY n",
    "different ones": f"{COUNT} SELECT count(DISTINCT n) FROM c",
    "a text of all": f"{COUNT} SELECT length(group_concat(n)) FROM c",
    "an array of all": f"{COUNT} SELECT length(json_group_array(n)) FROM c",
    "wide frames": f"{COUNT[:-1]} LIMIT 300000) SELECT count(*) FROM (SELECT max(n) OVER (ORDER BY n ROWS BETWEEN 100000 PRECEDING AND 100000 FOLLOWING EXCLUDE CURRENT ROW) FROM c)",
    "texts of frames": f"{COUNT[:-1]} LIMIT 300000) SELECT sum(length(m)) FROM (SELECT group_concat(n) OVER (ORDER BY n ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW) AS m FROM c)",
    "cross joins": "SELECT count(*) FROM " + ", ".join(f"sqlite_schema t{i}" for i in range(40)),
    "cross joins of sites": "SELECT count(*) FROM sites a, sites b, sites c, sites d WHERE a.path || b.path < c.path || d.path",
    "cross joins of events": "SELECT count(*) FROM events a, events b, events c WHERE a.bytes + b.bytes = c.bytes",
    "all that lives, often": "SELECT count(*) FROM " + sixty("live"),
    "500 tables": "SELECT count(*) FROM " + ", ".join(f"marks m{i}" for i in range(500)),
    "LIKE, many words": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a LIKE '%{'a%' * 400}b'",
    "LIKE, one long word": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a LIKE '%{'a' * 990}b'",
    "LIKE, any characters": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a LIKE '%{'_' * 990}b'",
    "GLOB, sets": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a GLOB '*{'[^b]' * 240}b'",
    "GLOB, a large set": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a GLOB '*a[^{'c' * 900}]b'",
    "REGEXP, nested": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a REGEXP '^(a+)+$b'",
    "REGEXP, alternatives": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE a REGEXP '(a|aa|aaa)*b'",
    "REGEXP, counted": "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' REGEXP '((((((a{1,200}){1,200}){1,200}){1,200})))b'",
    "REGEXP, again": f"{WITH_LONG} SELECT count(*) FROM t, {TEN} WHERE substr(a, 1, 30000) REGEXP '^(a*)*\\1b'",
    "instr": f"{WITH_LONG} SELECT sum(instr(a, substr(a, 1, 500000) || 'b')) FROM t, {TEN} x, {TEN} y, {TEN} z",
    "replace": f"{WITH_LONG} SELECT sum(length(replace(a, substr(a, 1, 500000) || 'b', ''))) FROM t, {TEN} x, {TEN} y, {TEN} z",
    "replace makes more": f"SELECT length(replace({LONG}, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaa'))",
    "trim": f"{WITH_LONG} SELECT sum(length(trim(a, replace(a, 'a', 'b') || 'a'))) FROM t, {TEN}",
    "printf": "SELECT length(printf('%*c', 2000000000, 'x')) IS NULL",
    "printf of digits": "SELECT length(printf('%.*f', 99999999, 1e300)) IS NULL",
    "calls in a row": f"{WITH_LONG} SELECT " + ", ".join("max(" + ", ".join(["upper(a)"] * 45) + ")" for _ in range(190)) + " FROM t",
    "JSON that nests": "SELECT count(*) FROM json_tree(replace(hex(zeroblob(200000)), '0', '['))",
    "JSON, crossed": f"WITH t(a) AS MATERIALIZED (SELECT '[' || substr(replace(hex(zeroblob(240000)), '0', '1,'), 1, 950001) || ']') SELECT count(*) FROM t, json_each(a) x, json_each(a) y, json_each(a) z",
    "parentheses": "SELECT " + "(" * 40000 + "1" + ")" * 40000,
    "additions": "SELECT " + "1 + " * 30000 + "1",
    "selects in selects": "SELECT " + "(SELECT " * 5000 + "1" + ")" * 5000,
    "tables in tables": "SELECT * FROM " + "(SELECT * FROM " * 3000 + "marks" + ")" * 3000,
    "planning: pairs": f"SELECT count(*) FROM {sixty('marks')} WHERE {pairs('pid', 'time_ns')}",
    "planning: pairs of sites": f"SELECT count(*) FROM {sixty('sites')} WHERE {pairs('stack', 'line')}",
    "planning: pairs of arrays": f"SELECT count(*) FROM {sixty(TEN)} WHERE {pairs('key', 'value')}",
    "planning: pairs of parts": f"WITH c(a, b) AS MATERIALIZED (SELECT 1, 2) SELECT count(*) FROM {sixty('c')} WHERE {pairs('a', 'b')}",
    "planning: alternatives": "SELECT count(*) FROM allocations WHERE " + balanced([f"bytes = {i}" for i in range(5000)], " OR "),
    "doubled joins": doubled("SELECT 1 FROM {0}, {0} AS b"),
    "doubled unions": doubled("SELECT x FROM {0} UNION ALL SELECT x FROM {0}"),
    "doubled subqueries": doubled("SELECT (SELECT x FROM {0}) + (SELECT x FROM {0})"),
    "a long list": "SELECT 1 IN (" + ", ".join(str(i) for i in range(15000)) + ")",
    "a megabyte of columns": "SELECT " + "1," * 500000 + "1",
    "a megabyte of text": "SELECT '" + "x" * 1000000 + "'",
    "columns": "SELECT " + "1," * 1000 + "1",
    "unions": " UNION ALL ".join(["SELECT 1"] * 400),
}
