// SPDX-License-Identifier: MIT
// Every call path, or whatever they are grouped by, with all metrics: the table that sorts, filters and copies.
import { useMemo } from "preact/hooks";
import { hasSource, type ViewProps } from "../api/ask";
import type { Table as TableAnswer } from "../api/table";
import { useAnswer } from "../api/use";
import { FILE_GROUPS } from "../model/columns_table";
import { isTimeMetric } from "../model/metric";
import { tableSentence } from "../model/sentence";
import { get, question } from "../model/state";
import { formatSort, parseSort } from "../model/table_rows";
import { NoBlocks } from "../widgets/empty";
import { FoundLine } from "../widgets/found_line";
import { Pending } from "../widgets/pending";
import { Table } from "../widgets/table";
import { GROUP_WORDS, siteColumns } from "./site_columns";

/** Asked first, with their histories: what is in sight. All others follow. */
const FIRST_ROWS = 200;
const MAX_ROWS = 200000;

export function SitesView({ state, ask }: ViewProps) {
  const groupBy = get(state, "group-by") ?? "site";
  const keys = question(state, { "group-by": groupBy, rows: FIRST_ROWS, sparks: ask.isDragging ? null : FIRST_ROWS });
  const first = useAnswer(ask, "table", keys);
  const hasMore = first.answer !== null && !first.isStale && first.answer.rows_in_all > first.answer.rows && !ask.isDragging;
  const all = useAnswer(ask, "table", hasMore ? question(state, { "group-by": groupBy, rows: MAX_ROWS }) : null);
  return (
    <div class="filling" aria-busy={hasMore && all.isStale}>
      <Pending of={first}>
        {(answer) => <SitesTable state={state} ask={ask} first={answer} all={hasMore && !all.isStale ? all.answer : null} groupBy={groupBy} isMoreComing={hasMore && all.isStale} />}
      </Pending>
    </div>
  );
}

/** Rows are places in code: they have source. */
function isCode(answer: TableAnswer): boolean {
  return answer.group_by === "site" || answer.group_by === "function" || answer.group_by === "line";
}

interface SitesTableProps extends ViewProps {
  readonly first: TableAnswer;
  readonly all: TableAnswer | null;
  readonly groupBy: string;
  readonly isMoreComing: boolean;
}

function SitesTable({ state, ask, first, all, groupBy, isMoreComing }: SitesTableProps) {
  const answer = all ?? first;
  const isSampled = ask.trace.mode !== "exact";
  const hasWindow = get(state, "from") !== undefined || get(state, "to") !== undefined || answer.metric === "growth";
  const columns = useMemo(() => siteColumns(answer, first, { isSampled, hasWindow }), [answer, first, isSampled, hasWindow]);
  const text = useMemo(() => {
    const lower = answer.names.map((name) => name.toLowerCase());
    return (row: number): string => `${lower[answer.label[row]]} ${lower[answer.function[row]]} ${lower[answer.file[row]]}:${answer.line[row]} ${lower[answer.module[row]]}`;
  }, [answer]);
  const pickOf = (row: number): string | null => {
    const key = answer.names[answer.key[row]] ?? "";
    if (answer.filter_key && key !== "") return `${answer.filter_key}:${key}`;
    return answer.site[row] > 0 && answer.call_paths[row] === 1 ? `site:${answer.site[row]}` : null; // one call path alone is the row
  };
  const pick = get(state, "pick");
  const filter = get(state, "search") ?? "";
  const words = GROUP_WORDS[groupBy] ?? groupBy;
  const sentence = useMemo(() => tableSentence(answer, isSampled), [answer, isSampled]);
  return (
    <>
      {sentence !== null && <p class="first-sentence">{sentence}</p>}
      <Table
        label={`${isTimeMetric(answer.metric) ? "Time" : "Memory"} by ${words}`}
        n={answer.rows}
        columns={columns}
        sort={parseSort(get(state, "sort"), answer.metric)}
        onSort={(sort) => ask.go({ set: { sort: formatSort(sort) } })}
        filter={filter}
        text={text}
        isPicked={(row) => pick !== undefined && pickOf(row) === pick}
        onOpen={(row) => {
          const to = pickOf(row), file = answer.names[answer.file[row]] ?? "", line = answer.line[row], label = answer.names[answer.label[row]] ?? "";
          if (to) ask.go({ set: { pick: to } });
          else if (answer.group_by === "line" && file !== "" && line > 0 && !ask.isFile) ask.go({ view: "source", set: { what: `${file}:${line}` } });
          else if (answer.group_by === "crate" && label !== "") ask.go({ set: { "group-by": "function", search: label, sort: null } });
        }}
        onKey={(event, row) => {
          const name = answer.names[answer.function[row]] ?? "";
          if (event.key !== "s" || !isCode(answer) || !hasSource(ask, name)) return false;
          ask.go({ view: "source", set: { what: name } });
          return true;
        }}
        tools={
          <>
            <label class="field">
              group by{" "}
              <select value={groupBy} onChange={(event) => ask.go({ set: { "group-by": event.currentTarget.value, sort: null } })}>
                {ask.trace.group_by.filter((name) => !ask.isFile || (FILE_GROUPS as readonly string[]).includes(name)).map((name) => (
                  <option key={name} value={name}>{GROUP_WORDS[name] ?? name}</option>
                ))}
              </select>
            </label>
            <input
              class="field-text"
              type="search"
              placeholder="type to filter"
              aria-label="Filter the rows"
              value={filter}
              onKeyDown={(event) => {
                if (event.key !== "ArrowDown" && event.key !== "Enter") return;
                event.preventDefault();
                event.currentTarget.closest(".table")?.querySelector<HTMLElement>("[role=grid]")?.focus();
              }}
              onInput={(event) => ask.go({ set: { search: event.currentTarget.value || null } }, "replace")}
            />
          </>
        }
        nInAll={answer.rows_in_all > answer.rows ? answer.rows_in_all : undefined}
        note={
          <>
            {!isMoreComing && answer.rows_in_all > answer.rows && <span class="quiet">the largest are here: a filter leads to the others</span>}
            {isCode(answer) && <FoundLine state={state} ask={ask} />}
          </>
        }
        empty={
          <NoBlocks state={state} ask={ask} />
        }
      />
    </>
  );
}
