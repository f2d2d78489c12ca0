// SPDX-License-Identifier: MIT
// Who points to the blocks of a holder, and what these point to: two short tables below a sentence.
import type { Ask } from "../api/ask";
import type { Neighbour, Neighbours } from "../api/holders";
import { useAnswer, useSaid } from "../api/use";
import type { Keys } from "../model/state";
import { bytes, count } from "../model/units";
import { visible } from "../model/visible";
import { openFunction } from "./flame_items";
import { Name } from "./name";
import { Pending } from "./pending";

export function NeighboursPane({ ask, keys, onClose }: { ask: Ask; keys: Keys; onClose: () => void }) {
  const asked = useAnswer(ask, "neighbours", keys);
  const sentence = useSaid(asked, (answer) => answer.sentence);
  return (
    <section class="neighbours" aria-label="Neighbours">
      <div class="neighbours-head">
        <p>{sentence && visible(sentence)}</p>
        <button type="button" class="button" onClick={onClose}>Close</button>
      </div>
      <Pending of={asked}>{(answer) => <Sides answer={answer} ask={ask} />}</Pending>
    </section>
  );
}

function Sides({ answer, ask }: { answer: Neighbours; ask: Ask }) {
  return (
    <div class="neighbours-sides">
      {answer.kind === "blocks" && <Side title="pointed to by" nothing="nothing else" rows={answer.held_by} inAll={answer.held_by_in_all} ask={ask}
        from={{ title: "from", hint: "blocks that point, or words of a variable or a stack" }} to={{ title: "to", hint: "how many of these blocks they point to" }} />}
      <Side title="points to" nothing="nothing else" rows={answer.holds} inAll={answer.holds_in_all} ask={ask}
        from={{ title: "from", hint: "how many of these blocks point there" }} to={{ title: "blocks", hint: "blocks that they point to" }} />
    </div>
  );
}

interface Heading {
  readonly title: string;
  readonly hint: string;
}

function functionOf(row: Neighbour): string {
  return row.stack?.find((frame) => frame.function !== "" && !frame.guess)?.function ?? "";
}

function Side({ title, nothing, rows, inAll, from, to, ask }: { title: string; nothing: string; rows: readonly Neighbour[]; inAll: number; from: Heading; to: Heading; ask: Ask }) {
  return (
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number" title={from.hint}>{from.title}</th>
          <th scope="col" class="number" title={to.hint}>{to.title}</th>
          <th scope="col" class="number">bytes</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <td title={visible(row.label)}>
              {functionOf(row) ? <button type="button" class="link" onClick={() => openFunction(ask, functionOf(row))}><Name text={visible(row.label)} /></button> : <Name text={visible(row.label)} />}
            </td>
            <td class="number">{count(row.from)}</td>
            <td class="number">{count(row.to)}</td>
            <td class="number">{bytes(row.to_bytes)}</td>
          </tr>
        ))}
        {rows.length === 0 && <tr><td class="quiet" colSpan={4}>{nothing}</td></tr>}
        {inAll > rows.length && <tr><td class="quiet" colSpan={4}>and {count(inAll - rows.length)} more with fewer bytes</td></tr>}
      </tbody>
    </table>
  );
}
