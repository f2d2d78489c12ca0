# SPDX-License-Identifier: MIT
"""What SQL over a trace must answer: the same statement, asked of the file that `silt export --format sqlite` writes. Blocks are made from its events here,
by SQLite and nothing of silt's. And statements to ask both: any that the tables allow."""

import sqlite3

# A column that is computed is cast, because texts compare with columns of numbers as numbers. One row for each allocation: whoever released the block is the event that names it, in the process that allocated it.
BLOCKS = """
CREATE TEMP TABLE releases AS
  SELECT rowid AS n, block, process, time_ns, thread, 0 AS by_realloc FROM events WHERE op = 'free'
  UNION ALL
  SELECT rowid, old_block, process, time_ns, thread, 1 FROM events WHERE op = 'realloc' AND old_block IS NOT NULL;
CREATE INDEX temp.releases_block ON releases (block, process);
CREATE TEMP TABLE asks AS SELECT rowid AS n, thread FROM events WHERE op <> 'free';
CREATE INDEX temp.asks_thread ON asks (thread, n);
CREATE TEMP TABLE allocations AS
  SELECT e.block AS id, e.time_ns, e.bytes, e.stack, e.process, e.thread,
    CAST(coalesce(r.time_ns, p.end_ns, (SELECT value FROM trace WHERE key = 'to_ns')) - e.time_ns AS INTEGER) AS lifetime_ns,
    r.time_ns AS freed_ns, r.thread AS freed_by,
    CAST(coalesce(r.thread = e.thread AND r.n <= (SELECT coalesce(min(a.n), 9e18) FROM asks a WHERE a.thread = e.thread AND a.n > e.rowid), 0) AS INTEGER) AS is_temporary,
    CAST(CASE WHEN (SELECT value FROM trace WHERE key = 'sample_bytes') = 0 THEN e.op = 'realloc' END AS INTEGER) AS by_realloc, e.stands_for, e.address
  FROM events e LEFT JOIN releases r ON r.block = e.block AND r.process = e.process
  LEFT JOIN processes p ON p.id = e.process
  WHERE e.op <> 'free';
CREATE INDEX temp.allocations_id ON allocations (id);
CREATE INDEX temp.allocations_stack ON allocations (stack);
"""

COLUMNS = {
    "sites": ["stack", "allocations", "allocated_bytes", "frees", "freed_bytes", "peak_blocks", "peak_bytes", "start_blocks", "start_bytes",
              "end_blocks", "end_bytes", "temporary", "reallocations", "function", "file", "line", "module"],
    "stacks": ["id", "parent", "location"],
    "frames": ["location", "depth", "function", "file", "line", "module", "address", "is_inlined"],
    "modules": ["id", "path", "build_id"],
    "processes": ["id", "pid", "image", "parent", "exe", "command", "start_ns", "end_ns"],
    "threads": ["id", "process", "tid", "name", "start_ns"],
    "trace": ["key", "value"],
    "notes": ["time_ns", "text"],
    "events": ["time_ns", "op", "process", "thread", "block", "bytes", "stack", "stands_for", "old_block", "old_bytes", "old_stack", "address"],
    "allocations": ["id", "time_ns", "bytes", "stack", "process", "thread", "lifetime_ns", "freed_ns", "freed_by", "is_temporary", "by_realloc",
                    "stands_for", "address"],
    # as a subquery in the truth: alive before what happens at that moment
    "live": ["id", "time_ns", "bytes", "stack", "process", "thread", "stands_for", "freed_ns", "age_ns"],
}
OF_EVENTS = ("events", "allocations", "live")

# What names the same thing in two tables.
LINKS = [("allocations.stack", "sites.stack"), ("allocations.thread", "threads.id"), ("allocations.freed_by", "threads.id"),
         ("allocations.process", "processes.id"), ("events.stack", "sites.stack"), ("events.block", "allocations.id"),
         ("events.old_block", "allocations.id"), ("events.thread", "threads.id"), ("sites.stack", "stacks.id"), ("stacks.parent", "stacks.id"),
         ("stacks.location", "frames.location"), ("frames.module", "modules.id"), ("threads.process", "processes.id"),
         ("processes.parent", "processes.id"), ("sites.module", "modules.path"), ("sites.function", "frames.function"),
         ("live.stack", "sites.stack"), ("live.id", "allocations.id"), ("allocations.stack", "stacks.id"),
         ("allocations.time_ns", "events.time_ns"), ("sites.function", "sites.function"), ("live.thread", "threads.id")]


# Of SQLite's program, for one statement. Tables joined by what hundreds of rows have in common need more memory than silt gives a statement.
MAX_STEPS = 10_000_000


class Truth:
    def __init__(self, path, has_events=True, has_live=True):
        self.db = sqlite3.connect(path)
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        self.tables = dict(COLUMNS)
        if has_events:
            self.db.executescript(BLOCKS)
        if not has_live:
            self.tables.pop("live")
        if not has_events:
            for name in OF_EVENTS:
                self.tables.pop(name, None)
        self.end_ns = self.db.execute("SELECT value FROM trace WHERE key = 'to_ns'").fetchone()[0]
        self.samples = {}
        self.db.set_progress_handler(lambda: 1, MAX_STEPS)
        for table, columns in self.tables.items():
            if table == "live":
                continue
            rows = self.db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid * 7919 % 1009 LIMIT 60"
                                   if table != "frames" else f"SELECT {', '.join(columns)} FROM frames LIMIT 60").fetchall()
            for i, column in enumerate(columns):
                self.samples[table, column] = sorted({row[i] for row in rows if row[i] is not None}, key=repr)
        for column in self.tables.get("live", []):
            self.samples["live", column] = self.samples.get(("allocations", column if column != "age_ns" else "lifetime_ns"), [])

    def answer(self, statement):
        """Rows of one text each, in no order; None where SQLite refuses the statement, or it takes too many steps."""
        try:
            return sorted(row[0] for row in self.db.execute(statement))
        except sqlite3.OperationalError:
            return None


class Draw:
    """Draws statements. Each is two texts: as silt is asked, and as the truth is."""

    def __init__(self, truth, chance):
        self.truth, self.chance = truth, chance
        self.subqueries = 0

    # ---- values

    def number(self, table, column):
        c = self.chance
        known = [v for v in self.truth.samples.get((table, column), []) if isinstance(v, int)]
        n = c.choice(known) if known and c.random() < 0.85 else c.choice([0, 1, -1, 2, 1000, 1 << 31, (1 << 63) - 1, -(1 << 63) + 1])
        kind = c.random()
        if kind < 0.70:
            return str(n + c.choice([0, 0, 0, 1, -1]) if abs(n) < 1 << 60 else n)
        if kind < 0.80:
            return c.choice([f"{n}.5", f"{n}.0", f"{n}.25e0", "1e19", "-1e19", "9223372036854775807.0", "1e300", "0.5", "-0.0"])
        if kind < 0.88:
            # a text that is no number is refused (docs/sql.md), and would end the batch
            return c.choice([f"'{n}'", f"'{n}.5'", f"' {n} '"])
        if kind < 0.92:
            return c.choice(["NULL", "x'00'", "x'31'", f"CAST({n} AS TEXT)", f"+{n}" if n >= 0 else str(n), f"({n} | 0)", f"CAST('{n}' AS BLOB)"])
        return str(n)

    def text(self, table, column):
        c = self.chance
        known = [v for v in self.truth.samples.get((table, column), []) if isinstance(v, str) and "\0" not in v]
        v = c.choice(known) if known and c.random() < 0.9 else c.choice(["", "main", "nobody", "a'b", "5"])
        if len(v) > 200 or any(0xd800 <= ord(x) < 0xe000 for x in v):
            v = "main"
        if c.random() < 0.1:
            v = c.choice([v.upper(), v + " ", v[:-1]])
        quoted = "'" + v.replace("'", "''") + "'"
        return quoted if c.random() < 0.95 else c.choice(["NULL", "5", "5.0", "x'6d61696e'"])

    def pattern(self, table, column, many, one):
        c = self.chance
        known = [v for v in self.truth.samples.get((table, column), []) if isinstance(v, str)] or ["main"]
        v = c.choice(known)[:60]
        if any(0xd800 <= ord(x) < 0xe000 or x == "\0" for x in v):
            v = "main"
        at = c.randrange(len(v) + 1)
        made = c.choice([v[:at] + many, many + v[at:], many + v[at:at + 3] + many, v[:at] + one + v[at + 1:], many, v, v.upper(), many + one + many + v[-1:]])
        return "'" + made.replace("'", "''") + "'"

    def is_text(self, table, column):
        return any(isinstance(v, str) for v in self.truth.samples.get((table, column), [])[:3])

    def value(self, table, column):
        return self.text(table, column) if self.is_text(table, column) else self.number(table, column)

    # ---- tables

    def source(self, table, alias):
        """FROM …: a table, by its name here and by its name there."""
        if table != "live":
            return f"{table} {alias}", f"{table} {alias}"
        at = self.chance.choice([0, self.truth.end_ns, self.chance.randrange(max(self.truth.end_ns, 1)), self.truth.end_ns // 2])
        there = (f"(SELECT id, time_ns, bytes, stack, process, thread, stands_for, freed_ns, CAST({at} - time_ns AS INTEGER) AS age_ns"
                 f" FROM allocations WHERE time_ns < {at} AND (freed_ns IS NULL OR freed_ns >= {at})) {alias}")
        return self.chance.choice([f"live({at}) {alias}", f"(SELECT * FROM live({at})) {alias}", f"(SELECT * FROM live WHERE at = {at}) {alias}"]), there

    def column(self, table):
        return self.chance.choice(self.truth.tables[table])

    # ---- conditions; in each, what is the same on both sides is one text

    def leaf(self, table, alias, depth):
        c = self.chance
        column = self.column(table)
        x = f"{alias}.{column}"
        kind = c.random()
        if kind < 0.40:
            left, right = x, self.value(table, column)
            if c.random() < 0.1:
                left, right = right, left
            return f"{left} {c.choice(['=', '=', '<', '<=', '>', '>=', '<>', 'IS', 'IS NOT'])} {right}"
        if kind < 0.55:
            values = ", ".join(self.value(table, column) for _ in range(c.choice([1, 2, 3, 8])))
            return f"{x} {c.choice(['', '', 'NOT '])}IN ({values})"
        if kind < 0.65:
            return f"{x} {c.choice(['', '', 'NOT '])}BETWEEN {self.value(table, column)} AND {self.value(table, column)}"
        if kind < 0.72:
            return f"{x} IS {c.choice(['', 'NOT '])}NULL"
        if kind < 0.80:
            # of its kind: SQLite puts the text that one is said to be in the place of the other, and a number is compared with no text
            other = c.choice([one for one in self.truth.tables[table] if self.is_text(table, one) == self.is_text(table, column)])
            return f"{x} {c.choice(['=', '<', '>=', 'IS'])} {alias}.{other}"
        if kind < 0.87 and self.is_text(table, column):
            return c.choice([f"{x} LIKE {self.pattern(table, column, '%', '_')}", f"{x} GLOB {self.pattern(table, column, '*', '?')}",
                             f"{x} = {self.text(table, column)} COLLATE NOCASE", f"length({x}) > {c.randrange(20)}",
                             f"instr({x}, {self.text(table, column)}) > 0", f"trim({x}, 'maie') <> {x}"])
        if kind < 0.93:
            a, b = self.column(table), self.column(table)
            return f"({alias}.{a}, {alias}.{b}) {c.choice(['<', '>=', '='])} ({self.value(table, a)}, {self.value(table, b)})"
        if kind < 0.97 and depth:
            return self.subquery(table, alias)
        return f"{x} % 3 = 1" if not self.is_text(table, column) else f"{x} > ''"

    def subquery(self, table, alias):
        """A condition that asks another table, with or without this row."""
        c = self.chance
        links = [(a, b) for a, b in LINKS + [(b, a) for a, b in LINKS] if a.split(".")[0] == table and b.split(".")[0] in self.truth.tables
                 and b.split(".")[0] != "live"]
        if not links or self.subqueries >= 2:
            return "1"
        self.subqueries += 1
        a, b = c.choice(links)
        inner, key = b.split(".")
        mine = f"{alias}.{a.split('.')[1]}"
        name = f"s{self.subqueries}"
        if c.random() < 0.5:
            return f"{mine} {c.choice(['', 'NOT '])}IN (SELECT {name}.{key} FROM {inner} {name} WHERE {self.leaf(inner, name, 0)})"
        if c.random() < 0.6:
            return f"{c.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {inner} {name} WHERE {name}.{key} = {mine} AND {self.leaf(inner, name, 0)})"
        return f"(SELECT count(*) FROM {inner} {name} WHERE {name}.{key} = {mine} AND {self.leaf(inner, name, 0)}) > {c.randrange(3)}"

    def condition(self, tables, depth=2):
        c = self.chance
        if depth and c.random() < 0.45:
            both = f"{self.condition(tables, depth - 1)} {c.choice(['AND', 'AND', 'OR'])} {self.condition(tables, depth - 1)}"
            return f"({both})" if c.random() < 0.85 else f"NOT ({both})"
        table, alias = c.choice(tables)
        return self.leaf(table, alias, depth)

    # ---- statements

    def aggregate(self, table, alias):
        c = self.chance
        column = f"{alias}.{self.column(table)}"
        return c.choice(["count(*)", f"count({column})", f"count(DISTINCT {column})", f"min({column})", f"max({column})", f"sum({alias}.{self.small(table)})",
                         f"total({alias}.{self.small(table)})", f"avg({alias}.{self.small(table)})", f"sum({column} IS NULL)", f"max({column}) - min({column})"])

    def small(self, table):
        """Whose sum is exact, whatever the order."""
        names = [x for x in self.truth.tables[table] if x in ("bytes", "stands_for", "depth", "line", "parent", "end_bytes", "allocations", "is_temporary",
                                                              "id", "stack", "by_realloc", "frees", "temporary", "image", "process")]
        return self.chance.choice(names or [self.truth.tables[table][0]])

    def tables(self):
        """One to three of them, linked. [(table, alias)], FROM here, FROM there."""
        c = self.chance
        names = list(self.truth.tables)
        weights = [4 if x in ("allocations", "events", "sites") else 2 if x == "live" else 1 for x in names]
        first = c.choices(names, weights)[0]
        tables = [(first, "a")]
        here, there = self.source(first, "a")
        for alias in ("b", "c")[:c.choice([0, 0, 0, 1, 1, 2])]:
            links = [(t, x, y) for t in tables for x, y in LINKS + [(y, x) for x, y in LINKS]
                     if x.split(".")[0] == t[0] and y.split(".")[0] in self.truth.tables]
            if not links:
                break
            (_, with_alias), x, y = c.choice(links)
            table = y.split(".")[0]
            how = c.choice(["JOIN", "JOIN", "LEFT JOIN", "CROSS JOIN" if alias == "b" else "JOIN"])
            more_here, more_there = self.source(table, alias)
            on = f"{alias}.{y.split('.')[1]} {c.choice(['=', '=', '=', 'IS'])} {with_alias}.{x.split('.')[1]}"
            if c.random() < 0.3:
                on += f" AND {self.leaf(table, alias, 0)}"
            here += f" {how} {more_here} ON {on}"
            there += f" {how} {more_there} ON {on}"
            tables.append((table, alias))
        return tables, here, there

    def select(self, n_columns=None):
        c = self.chance
        tables, here, there = self.tables()
        where = f" WHERE {self.condition(tables)}" if c.random() < 0.9 else ""
        kind = c.random()
        if kind < 0.40 or n_columns:
            columns = [f"{alias}.{self.column(table)}" for table, alias in c.choices(tables, k=n_columns or c.choice([1, 2, 4]))]
            if not n_columns and c.random() < 0.15:
                columns.append(f"row_number() OVER (ORDER BY {', '.join(columns)})")
            distinct = c.choice(["", "", "DISTINCT "])
            body = f"SELECT {distinct}{', '.join(columns)} FROM", where
            tail = ""
            if not n_columns:
                order = [f"{i + 1}{c.choice(['', ' DESC'])}" for i in range(len(columns))]
                c.shuffle(order)
                tail = f" ORDER BY {', '.join(order)} LIMIT {c.choice([1, 10, 100])}" + c.choice(["", " OFFSET 3"])
        elif kind < 0.70:
            columns = [self.aggregate(*c.choice(tables)) for _ in range(c.choice([1, 2, 4]))]
            body, tail = (f"SELECT {', '.join(columns)} FROM", where), ""
        else:
            keys = [f"{alias}.{self.column(table)}" for table, alias in c.choices(tables, k=c.choice([1, 2]))]
            columns = keys + [self.aggregate(*c.choice(tables)) for _ in range(c.choice([1, 2]))]
            having = f" HAVING {self.aggregate(*c.choice(tables))} > {c.choice([0, 1, 10])}" if c.random() < 0.3 else ""
            order = ", ".join(f"{i + 1}{c.choice(['', ' DESC'])}" for i in range(len(columns)))
            body = f"SELECT {', '.join(columns)} FROM", f"{where} GROUP BY {', '.join(keys)}{having}"
            tail = f" ORDER BY {order} LIMIT 200"
        return len(columns), f"{body[0]} {here}{body[1]}{tail}", f"{body[0]} {there}{body[1]}{tail}"

    def statement(self):
        self.subqueries = 0
        if self.chance.random() < 0.06:
            word = self.chance.choice(["UNION", "INTERSECT", "EXCEPT"])
            n, *first = self.select(2)
            _, *second = self.select(2)
            here, there = (f"SELECT * FROM ({a} {word} {b}) ORDER BY 1, 2 LIMIT 200" for a, b in zip(first, second))
        else:
            n, here, there = self.select()
        names = ", ".join(f"x{i}" for i in range(n))
        return tuple(f"WITH q({names}) AS ({text}) SELECT json_array({names}) AS answer FROM q" for text in (here, there))
