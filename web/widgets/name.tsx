// SPDX-License-Identifier: MIT
// A function's name that is cut in the middle if there is no room: the beginning says whose it is, the end what it does.
import { splitName } from "../model/spread";

/** A beginning this short is not cut. */
const SHORT = 5;

export function Name({ text }: { text: string }) {
  const [head, tail] = splitName(text);
  return (
    <span class="name">
      {head !== "" && <span class={head.length > SHORT ? "name-head is-cut" : "name-head"}>{head}</span>}
      <span class="name-tail">{tail}</span>
    </span>
  );
}
