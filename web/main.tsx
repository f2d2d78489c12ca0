// SPDX-License-Identifier: MIT
// The page begins here: asks what was recorded, then draws the frame.
import { render } from "preact";
import type { Source } from "./api/ask";
import { fileSource, readFileData } from "./api/file";
import { httpSource } from "./api/http";
import { Page } from "./frame/page";
import { keepPlain } from "./frame/plain";
import { FleetPage } from "./views/fleet";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/overview.css";
import "./style/table.css";
import "./style/flame.css";
import "./style/memory.css";
import "./style/query.css";
import "./style/fleet.css";

const place = document.getElementById("page");
const data = document.getElementById("silt-data"); // of a page in one file

keepPlain();

function begin(source: Source, at: HTMLElement): void {
  at.textContent = "";
  const isFleet = document.querySelector('meta[name="silt-page"]')?.getAttribute("content") === "fleet"; // of silt fleet view
  render(isFleet ? <FleetPage source={source} /> : <Page source={source} />, at);
}

/** A file opens with what it was written for, unless its address says more. */
function openAtStart(): void {
  const start = document.getElementById("silt-start")?.textContent ?? "";
  if (start !== "" && location.hash.length < 2) history.replaceState(null, "", `#${start}`);
}

if (place && data) {
  openAtStart();
  readFileData(data.textContent ?? "").then(
    (read) => begin(fileSource(read), place),
    (failure: unknown) => (place.textContent = failure instanceof Error ? failure.message : String(failure)),
  );
} else if (place) {
  begin(httpSource(), place);
}
