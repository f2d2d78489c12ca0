// SPDX-License-Identifier: MIT
// silt.found/1: how much has a function of some name on its call path, folded away or not.
import { literal, number, object, string, type Checked } from "./check";

export const found = object({
  schema: literal("silt.found/1"), metric: string, whole: number, value: number, shown_value: number, call_paths: number, shown_call_paths: number,
});
export type Found = Checked<typeof found>;
