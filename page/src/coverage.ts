// How much of the CPU time and of the time the samples saw: stands beside every chart of phases.
import { percent } from "./format";
import type { Model } from "./model";

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

export function coverage(model: Model): { ratio: number | null; span: number | null } {
  const { coverage: c, session } = model;
  const elapsed = numberOf(c["elapsed_s"]) ?? numberOf(session["elapsed_s"]);
  const sampled = numberOf(c["sampled_span_s"]);
  return { ratio: numberOf(c["ratio"]), span: sampled !== null && elapsed ? sampled / elapsed : null };
}

export function coverageLine(model: Model): string {
  const { ratio, span } = coverage(model);
  if (ratio === null) return "How much of the CPU time that is was not measured.";
  return `Samples cover ${percent(ratio)} of the CPU time${span === null ? "" : ` and ${percent(span)} of the time that passed`}.`;
}
