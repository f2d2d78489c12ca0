// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import type { SqlSchema } from "../api/rows";
import { accept, complete } from "./sql_complete";

const column = (name: string, is_argument = false) => ({ name, help: `the ${name}`, is_argument });
const SCHEMA: SqlSchema = {
  schema: "silt.sql-schema/1", has_other: true, recipes: [],
  tables: [
    { name: "sites", help: "call paths", columns: [column("stack"), column("end_bytes"), column("function")] },
    { name: "live", help: "blocks", columns: [column("id"), column("age_ns"), column("at", true)] },
    { name: "marks", help: "moments", columns: [column("time_ns"), column("name")] },
  ],
  functions: [{ name: "bytes", usage: "bytes(N)", help: "as people read it" }, { name: "REGEXP", usage: "X REGEXP PATTERN", help: "matches" }],
};

/** What is offered where the bar stands. */
function offered(text: string): string[] {
  const place = text.indexOf("|");
  return complete(text.replace("|", ""), place, SCHEMA).items.map((item) => item.text);
}

test("behind FROM and JOIN are tables", () => {
  assert.deepEqual(offered("SELECT * FROM |"), ["sites", "live", "marks", "other."]);
  assert.deepEqual(offered("SELECT * FROM si|"), ["sites"]);
  assert.deepEqual(offered("select * from sites join m|"), ["marks"]);
  assert.deepEqual(offered("SELECT * FROM sites s, m|"), ["marks"]);
  assert.deepEqual(offered("SELECT * FROM other.ma|"), ["marks"]);
  assert.deepEqual(offered("SELECT * FROM live('5s'), s|"), ["sites"]);
});

test("behind a table's name or its alias and a dot are its columns", () => {
  assert.deepEqual(offered("SELECT s.| FROM sites AS s"), ["stack", "end_bytes", "function"]);
  assert.deepEqual(offered("SELECT s.en| FROM sites s JOIN marks m"), ["end_bytes"]);
  assert.deepEqual(offered("SELECT m.| FROM sites s JOIN other.marks m"), ["time_ns", "name"]);
  assert.deepEqual(offered("SELECT l.a| FROM live('5s') l"), ["age_ns"]); // an argument is no column
  assert.deepEqual(offered("SELECT marks.n| FROM marks"), ["name"]);
  assert.deepEqual(offered("SELECT x.| FROM marks"), []);
});

test("elsewhere are columns of the tables, functions and keywords", () => {
  assert.deepEqual(offered("SELECT e| FROM sites"), ["end_bytes", "EXISTS", "ELSE", "END", "EXCEPT"]);
  assert.deepEqual(offered("SELECT by| FROM sites"), ["bytes("]);
  assert.deepEqual(offered("SELECT bytes(en|) FROM sites"), ["end_bytes", "END"]);
  assert.deepEqual(offered("SELECT * FROM sites ORD|"), ["ORDER BY"]);
  assert.deepEqual(offered("SELECT * FROM sites GROUP BY f|"), ["function", "FROM", "FILTER"]);
  assert.deepEqual(offered("SELECT stack, f| FROM sites"), ["function", "FROM", "FILTER"]); // this comma is not one of tables
  assert.deepEqual(offered("SELECT * FROM sites WHERE stack IN (1, f|)"), ["function", "FROM", "FILTER"]);
});

test("nothing in texts, comments, numbers and parameters, nor of a word that is there", () => {
  assert.deepEqual(offered("SELECT 'f| FROM sites"), []);
  assert.deepEqual(offered("SELECT 'f|' FROM sites"), []);
  assert.deepEqual(offered("SELECT 1 -- f|"), []);
  assert.deepEqual(offered("SELECT /* f| */ 1"), []);
  assert.deepEqual(offered("SELECT 12| FROM sites"), []);
  assert.deepEqual(offered("SELECT :f|"), []);
  assert.deepEqual(offered("SELECT * FROM sites|"), []);
});

test("what is taken stands in the place of the word", () => {
  const text = "SELECT by FROM sites";
  const completions = complete(text, 9, SCHEMA);
  assert.deepEqual(accept(text, 9, completions, completions.items[0]!), { text: "SELECT bytes( FROM sites", place: 13 });
  const called = "SELECT by(1)";
  assert.deepEqual(accept(called, 9, complete(called, 9, SCHEMA), completions.items[0]!), { text: "SELECT bytes(1)", place: 12 });
});
