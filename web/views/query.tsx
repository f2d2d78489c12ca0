// SPDX-License-Identifier: MIT
// Query: a statement of SQL about the trace, its answer as a table or a chart, and recipes to begin with. docs/sql.md has the tables.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Refused, ViewProps } from "../api/ask";
import type { Recipe, Rows, SqlSchema } from "../api/rows";
import { useAnswer } from "../api/use";
import { valueOf, withParameters } from "../model/query";
import { exactText, linkOf, resultChart, resultColumns, rowLink, valueText } from "../model/result";
import { parametersOf } from "../model/sql_text";
import { change, get, isFilter, isParameter, toFragment, type Change, type Pair, type State } from "../model/state";
import { nextSort, type Sort } from "../model/table_rows";
import { count, plural } from "../model/units";
import { visible } from "../model/visible";
import { Empty } from "../widgets/empty";
import { Pending } from "../widgets/pending";
import { ResultPicture } from "../widgets/result_chart";
import { SqlEditor } from "../widgets/sql_editor";
import { Table, type Column } from "../widgets/table";

const USUAL_ROWS = 1000;
const MOST_ROWS = 10000;
const BEGINNING = "SELECT name, end_bytes, peak_bytes, allocations, stack\nFROM sites\nORDER BY end_bytes DESC\nLIMIT 20";

/** What was typed and not run survives a look at another view. */
let draft: { readonly of: string; readonly text: string } | null = null;

export function QueryView({ state, ask }: ViewProps) {
  if (ask.isFile) return <Empty title="Query" why="Questions in SQL need the recording itself, which is not in this file: start silt view FILE." />;
  return <Query state={state} ask={ask} />;
}

function Query({ state, ask }: ViewProps) {
  const process = get(state, "process") ?? null;
  const known = useAnswer(ask, "sql-schema", process === null ? [] : [["process", process]]);
  const schema = known.answer;
  const recipe = schema?.recipes.find((one) => one.name === get(state, "recipe")) ?? null;
  const run = get(state, "sql") ?? recipe?.statement ?? "";
  const [text, setText] = useState(() => (draft !== null && draft.of === run ? draft.text : run === "" ? BEGINNING : run));
  const [isStopped, stop] = useState(false);
  const [rows, setRows] = useState(USUAL_ROWS);
  const before = useRef(run);
  useEffect(() => {
    if (before.current === run) return;
    before.current = run; // the address says something else now
    setText(run === "" ? BEGINNING : run);
    setRows(USUAL_ROWS);
    stop(false);
  }, [run]);
  useEffect(() => {
    draft = { of: run, text };
  }, [run, text]);

  const values = useMemo(() => parametersOf(run).map((name): Pair => [`p-${name}`, valueOf(state, recipe, name, ask.trace)]), [run, state, recipe, ask.trace]);
  const isAsked = run !== "" && !isStopped && (get(state, "recipe") === undefined || schema !== null);
  const given = state.keys.filter(([key]) => isParameter(key) && recipe?.parameters.some((one) => `p-${one.name}` === key));
  const what: readonly Pair[] = recipe && get(state, "sql") === undefined ? [["recipe", recipe.name], ...given] : [["sql", run], ...values];
  const question: Pair[] = [...(process === null ? [] : [["process", process] as const]), ["rows", String(rows)], ...what];
  const asked = useAnswer(ask, "sql", isAsked ? question : null);

  const form = useRef<HTMLFormElement>(null);
  const start = (): void => {
    stop(false);
    if (text.trim() === "" || !form.current) return;
    const fields = new FormData(form.current);
    const parameters = withParameters(parametersOf(text), (name) => fields.get(name)?.toString() ?? "", recipe);
    ask.go({ set: { ...parameters, sql: recipe && text === recipe.statement ? null : text } });
  };
  const choose = (one: Recipe): void => {
    setText(one.statement);
    stop(false);
    const old = state.keys.filter(([key]) => key.startsWith("p-")).map(([key]) => [key, null] as const);
    ask.go({ set: { ...Object.fromEntries(old), sql: null, recipe: one.name, shape: null } });
  };
  const trouble = asked.error ?? (known.error && !schema ? known.error : null);
  return (
    <div class="query">
      <div class="query-top">
        <form ref={form} class="query-write" onSubmit={(event) => { event.preventDefault(); start(); }}>
          <SqlEditor text={text} schema={schema} onText={setText} onRun={start} isWrong={asked.error !== null && text === run} />
          <p id="sql-trouble" class="query-trouble" role="alert">{trouble && !asked.isStale ? troubleText(trouble) : ""}</p>
          <Parameters text={text} state={state} recipe={recipe} ask={ask} />
          <div class="query-buttons">
            <button type="submit" class="button is-main" title="Ctrl Enter">Run</button>
            {asked.isStale && isAsked && <button type="button" class="button" onClick={() => stop(true)}>Stop</button>}
            <span class="quiet">{hintWords(state, run)}</span>
          </div>
        </form>
        {schema && schema.recipes.length > 0 && <Recipes recipes={schema.recipes} chosen={recipe?.name ?? null} onChoose={choose} />}
      </div>
      {isStopped && run !== "" && <p class="quiet">Stopped.</p>}
      {!asked.error && isAsked && (
        <Pending of={asked}>{(answer) => <Result answer={answer} state={state} ask={ask} rows={rows} onMore={() => setRows(MOST_ROWS)} />}</Pending>
      )}
      {run === "" && schema && <Tables schema={schema} onChoose={(name) => setText(`SELECT *\nFROM ${name}\nLIMIT 100`)} />}
    </div>
  );
}

function troubleText(error: Refused): string {
  return visible(error.fix ? `${error.message}: ${error.fix}` : error.message);
}

/** What is chosen above holds where a statement says so. */
function hintWords(state: State, run: string): string {
  const hasWindow = ["from", "to", "at"].some((key) => get(state, key) !== undefined);
  const names = parametersOf(run);
  const usesWindow = names.includes("from") || names.includes("to");
  if (hasWindow && !usesWindow) return "The window holds in statements with :from and :to.";
  if (state.keys.some(([key]) => isFilter(key))) return "Filters do not hold here: a statement has conditions of its own.";
  return "Ctrl Enter runs, Ctrl Space completes.";
}

// ---- recipes -------------------------------------------------------------------------------------

function Recipes({ recipes, chosen, onChoose }: { recipes: readonly Recipe[]; chosen: string | null; onChoose: (one: Recipe) => void }) {
  const [typed, type] = useState("");
  const words = typed.toLowerCase();
  const shown = recipes.filter((one) => one.trouble === null && `${one.name} ${one.help}`.toLowerCase().includes(words));
  return (
    <section class="query-recipes" aria-label="Recipes">
      <input class="field-text" type="search" placeholder={`${plural(recipes.length, "recipe")}: type to find one`} aria-label="Find a recipe" value={typed} onInput={(event) => type(event.currentTarget.value)} />
      <ul>
        {shown.map((one) => (
          <li key={one.name}>
            <button type="button" class={one.name === chosen ? "recipe is-chosen" : "recipe"} aria-pressed={one.name === chosen} onClick={() => onChoose(one)}>
              <span>{visible(one.help)}</span> <span class="quiet mono">{visible(one.name)}</span>
            </button>
          </li>
        ))}
        {shown.length === 0 && <li class="quiet">No recipe has “{typed}”.</li>}
      </ul>
    </section>
  );
}

function Parameters({ text, state, recipe, ask }: { text: string; recipe: Recipe | null } & ViewProps) {
  const names = parametersOf(text);
  if (names.length === 0) return null;
  return (
    <div class="query-parameters">
      {names.map((name) => {
        const about = recipe?.parameters.find((one) => one.name === name);
        const value = get(state, `p-${name}`) ?? "";
        return (
          <label key={`${name}=${value}`} class="field" title={about ? visible(about.help) : undefined}>
            <span class="mono">:{name}</span>
            <input class="field-text" name={name} type="text" placeholder={about?.without || valueOf(state, recipe, name, ask.trace) || (about ? "needed" : "NULL")} defaultValue={value} spellcheck={false} autocomplete="off" />
            {about && <span class="quiet query-about">{visible(about.help)}</span>}
          </label>
        );
      })}
    </div>
  );
}

function Tables({ schema, onChoose }: { schema: SqlSchema; onChoose: (name: string) => void }) {
  return (
    <section class="query-tables">
      <h2>Tables</h2>
      <dl>
        {schema.tables.map((table) => (
          <div key={table.name}>
            <dt><button type="button" class="link mono" onClick={() => onChoose(table.name)}>{table.name}</button></dt>
            <dd>{table.help}<br /><span class="quiet mono">{table.columns.filter((column) => !column.is_argument).map((column) => column.name).join(", ")}</span></dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

// ---- the answer ----------------------------------------------------------------------------------

function Result({ answer, state, ask, rows, onMore }: { answer: Rows; rows: number; onMore: () => void } & ViewProps) {
  const columns = useMemo(() => resultColumns(answer), [answer]);
  const chart = useMemo(() => resultChart(answer, columns), [answer, columns]);
  const isChart = chart !== null && get(state, "shape") === "chart";
  const open = (row: number): void => {
    const link = rowLink(answer, answer.rows[row]!, ask.trace);
    if (link) ask.go(link.change);
  };
  return (
    <>
      {answer.says && <p class="first-sentence">{visible(answer.says)}</p>}
      {answer.doubts && <p class="notice">{visible(answer.doubts)}</p>}
      {chart && (
        <div class="either" role="group" aria-label="Show the answer as">
          <button type="button" aria-pressed={!isChart} onClick={() => ask.go({ set: { shape: null } })}>Table</button>
          <button type="button" aria-pressed={isChart} onClick={() => ask.go({ set: { shape: "chart" } })}>Chart</button>
        </div>
      )}
      {isChart && chart ? <ResultPicture chart={chart} label="The answer as a chart" onOpen={open} /> : <ResultTable answer={answer} columns={columns} state={state} ask={ask} onOpen={open} />}
      {answer.has_more && (
        <p class="query-more">
          {plural(answer.rows.length, "row")} of more.{" "}
          {rows < MOST_ROWS ? <button type="button" class="link" onClick={onMore}>Show up to {count(MOST_ROWS)}</button> : <span class="quiet">A page shows no more: silt sql has them all.</span>}
        </p>
      )}
    </>
  );
}

const LETTER_PX = 8;

/** As wide as what the first rows hold. */
function widthOf(texts: readonly string[], name: string): number {
  const longest = texts.reduce((most, one) => Math.max(most, one.length), name.length + 2);
  return Math.min(Math.max(56, longest * LETTER_PX), 280);
}

function ResultTable({ answer, columns, state, ask, onOpen }: { answer: Rows; columns: ReturnType<typeof resultColumns>; onOpen: (row: number) => void } & ViewProps) {
  const [sort, setSort] = useState<Sort | null>(null);
  useEffect(() => setSort(null), [answer.columns.map((column) => column.name).join("\n")]);
  const cells = useMemo(() => columns.map((column, i): Column => {
    const text = (row: number): string => valueText(column, answer.rows[row]![i] ?? null);
    const sample = answer.rows.slice(0, 100).map((_, row) => text(row));
    const isLinked = answer.rows.slice(0, 100).some((row) => linkOf(answer, i, row, ask.trace) !== null);
    const follow = (to: Change) => (event: MouseEvent): void => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      ask.go(to);
    };
    return {
      key: String(i), title: visible(column.name), minPx: widthOf(sample, column.name), grow: column.isNumber ? undefined : 1, isNumber: column.isNumber,
      values: column.numbers ?? answer.rows.map((row) => String(row[i] ?? "")),
      cell: (row) => {
        const link = isLinked ? linkOf(answer, i, answer.rows[row]!, ask.trace) : null;
        return link ? <a class={column.isNumber ? undefined : "cell-link"} href={toFragment(change(state, link.change))} onClick={follow(link.change)}>{visible(text(row)) || "·"}</a> : text(row);
      },
      tip: (row) => {
        const exact = exactText(column, answer.rows[row]![i] ?? null), link = linkOf(answer, i, answer.rows[row]!, ask.trace);
        return link ? `${exact}\n${link.words}` : exact;
      },
      copy: (row) => String(answer.rows[row]![i] ?? ""),
    };
  }), [answer, columns, state, ask.trace]);
  return (
    <Table
      label="Answer"
      n={answer.rows.length}
      columns={cells}
      sort={sort ?? { column: "", descending: true }}
      onSort={(next) => setSort(sort ? next : nextSort({ column: "", descending: true }, next.column))}
      filter={get(state, "search") ?? ""}
      text={(row) => answer.rows[row]!.join(" ").toLowerCase()}
      onOpen={onOpen}
      maxRows={24}
      empty={<p>The statement has no rows as its answer.</p>}
    />
  );
}
