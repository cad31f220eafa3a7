/** Aligned columns for people, as wide as their terminal; in a pipe nothing is cut. */
export interface Column<Row> {
  readonly header: string;
  readonly text: (row: Row) => string;
  readonly align?: 'right';
  /** Left out, the last one first, when the terminal is too narrow for all. */
  readonly ifRoom?: true;
}

const GAP = '  ';
const NARROWEST = 8;

/** `width`: columns of the terminal; undefined where there is none. */
export function textTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | undefined,
): string {
  const table = columns.map((column) => {
    const cells = [column.header, ...rows.map((row) => oneLine(column.text(row)))];
    return { column, cells, width: Math.max(...cells.map(({ length }) => length)) };
  });
  const shown = width === undefined ? table : fitted(table, width);
  const lines = [undefined, ...rows].map((_, line) => {
    const cells = shown.map(({ column, cells, width: columnWidth }) => {
      const cell = cut(cells[line] ?? '', columnWidth);
      return column.align === 'right' ? cell.padStart(columnWidth) : cell.padEnd(columnWidth);
    });
    return `${cells.join(GAP).trimEnd()}\n`;
  });
  return lines.join('');
}

interface Laid {
  readonly column: { readonly ifRoom?: true };
  readonly width: number;
}

function fitted<Part extends Laid>(table: readonly Part[], width: number): readonly Part[] {
  const excess = widthOf(table) - width;
  if (excess <= 0) return table;
  const spare = table.findLastIndex(({ column }) => column.ifRoom === true);
  if (spare >= 0) return fitted(table.toSpliced(spare, 1), width);
  const widest = table.reduce((one, other) => (other.width > one.width ? other : one));
  if (widest.width <= NARROWEST) return table;
  const narrower = { ...widest, width: Math.max(NARROWEST, widest.width - excess) };
  return fitted(table.with(table.indexOf(widest), narrower), width);
}

function widthOf(table: readonly Laid[]): number {
  return table.reduce((sum, { width }) => sum + width, 0) + GAP.length * (table.length - 1);
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Escape sequences and line ends of whatever a gateway or an upstream said do nothing to a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]/gu, ' ');
}

const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
];

/** `3d`, `12m`, `40s`: in the largest unit of which there are at least two. */
export function ageText(ageMs: number): string {
  const [unit, ms] = UNITS.find(([, unitMs]) => ageMs >= 2 * unitMs) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ageMs / ms))}${unit}`;
}
