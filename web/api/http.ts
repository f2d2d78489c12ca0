// SPDX-License-Identifier: MIT
// Answers of `silt view`: docs/http-api.md.
import { toQuery, type Keys } from "../model/state";
import { addressOf, checkAnswer, error as errorCheck, type AnswerName, type Answers } from "./answers";
import { Refused, type OnProgress, type Source } from "./ask";
import { Unfit } from "./check";

const PROGRESS_AFTER_MS = 300;
const PROGRESS_EVERY_MS = 250;

let lastId = 0;

/** Letters and digits, unlike any other page's. */
const ownId = Math.random().toString(36).slice(2, 12);

function refusalOf(status: number, body: unknown): Refused {
  try {
    const said = errorCheck(body, "");
    return new Refused(said.error, said.fix, said.key, status);
  } catch {
    if (status === 401) return new Refused("this page has no access any more", "open the address that silt view printed", null, status);
    return new Refused(`silt view answered with status ${status}`, "look at the terminal it runs in", null, status);
  }
}

async function fetchJson(address: string, signal: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, { signal, credentials: "same-origin", headers: { Accept: "application/json" } });
  } catch (failure: unknown) {
    if (signal.aborted) throw failure;
    throw new Refused("silt view does not answer", "start it again, and open the address it prints");
  }
  let body: unknown = null;
  try {
    body = await response.json();
  } catch (failure: unknown) {
    if (signal.aborted) throw failure;
    if (response.ok) throw new Refused("the answer of silt view was cut off", "ask again");
  }
  if (!response.ok) throw refusalOf(response.status, body);
  return body;
}

/** Asks how far a question is until it is answered. */
function watch(base: string, id: string, signal: AbortSignal, onProgress: OnProgress): () => void {
  let timer = setTimeout(look, PROGRESS_AFTER_MS);
  let isOver = false;
  function look(): void {
    fetchJson(`${base}progress?id=${id}`, signal).then(
      (body) => {
        if (isOver) return;
        const { done, total, parts } = checkAnswer("progress", body);
        if (total > 0 || parts.length > 0) onProgress(total > 0 ? Math.min(1, done / total) : null, parts);
        timer = setTimeout(look, PROGRESS_EVERY_MS);
      },
      () => undefined, // it was answered meanwhile
    );
  }
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

export function httpSource(base = "api/1/"): Source {
  return {
    isFile: false,
    async answer<N extends AnswerName>(name: N, keys: Keys, signal: AbortSignal, onProgress?: OnProgress): Promise<Answers[N]> {
      const id = `${ownId}${++lastId}`;
      const query = toQuery(onProgress ? [...keys, ["id", id]] : keys);
      const stop = onProgress ? watch(base, id, signal, onProgress) : () => undefined;
      try {
        return checkAnswer(name, await fetchJson(`${base}${addressOf(name)}${query ? `?${query}` : ""}`, signal));
      } catch (failure: unknown) {
        if (failure instanceof Unfit) throw new Refused(`the answer '${addressOf(name)}' is not what this page expects: ${failure.message}`, "reload the page");
        throw failure;
      } finally {
        stop();
      }
    },
  };
}
