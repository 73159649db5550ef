/** One figure, beside its bare limit from the same run where there is one. */
export interface Row {
  readonly name: string;
  readonly figure: number;
  /** Null: the bar bounds the figure itself. */
  readonly bare: number | null;
  readonly unit: "tasks/s" | "ms" | "bytes" | "MB" | "slots";
  /** The bound of figure ÷ bare, or of the figure: at least it for rates, at most it for everything else. */
  readonly bar: number;
  /** What should have come and did not; a row with such is not met, whatever its figure. */
  readonly missing?: number;
  readonly detail?: string;
}

export function ratio(row: Row): number | null {
  return row.bare === null ? null : row.figure / row.bare;
}

export function isMet(row: Row): boolean {
  if (row.missing !== undefined && row.missing !== 0) return false;
  const value = ratio(row) ?? row.figure;
  return row.unit === "tasks/s" ? value >= row.bar : value <= row.bar;
}

export function renderTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const times = ratio(row);
    return [
      row.name,
      `${round(row.figure)} ${row.unit}`,
      row.bare === null ? "" : `${round(row.bare)} ${row.unit}`,
      times === null ? "" : `${times.toFixed(2)} ×`,
      `${row.unit === "tasks/s" ? "≥" : "≤"} ${row.bar}${times === null ? "" : " ×"}`,
      isMet(row) ? "met" : `NOT MET${row.missing ? ` (${row.missing} missing)` : ""}`,
      row.detail ?? "",
    ];
  });
  const all = [["figure", "Airlock", "bare limit", "ratio", "bar", "", ""], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  return all
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
