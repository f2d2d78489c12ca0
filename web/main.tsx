// SPDX-License-Identifier: MIT
// The page begins here: asks what was recorded, then draws the frame.
import { render } from "preact";
import { httpSource } from "./api/http";
import { Page } from "./frame/page";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";

const place = document.getElementById("page");
if (place) {
  place.textContent = "";
  render(<Page source={httpSource()} />, place);
}
