// SPDX-License-Identifier: MIT
// The report's headline, what was found, and where memory went: the first look.
import type { ViewProps } from "../api/ask";
import { useAnswer } from "../api/use";
import { question } from "../model/state";
import { Pending } from "../widgets/pending";

export function OverviewView({ state, ask }: ViewProps) {
  const asked = useAnswer(ask, "report", question(state, { by: null }));
  return (
    <Pending of={asked}>
      {(report) => <h1 class="headline">{report.headline}</h1>}
    </Pending>
  );
}
