import type { JsonValue } from '../cli/json-outputs.ts';
import type { Books } from './books.ts';
import type { Timings } from './sightings.ts';

const MOST_PROBLEMS = 20;

/** The closing table, or the same as one JSON object. */
export function demoReport(books: Books, timings: Timings, json: boolean): string {
  if (json) {
    const result: JsonValue<'demo'> = { ...books, ...timings, balanced: books.problems.length === 0 };
    return `${JSON.stringify(result)}\n`;
  }
  const rows: readonly (readonly [string, string | number])[] = [
    ['orders in', books.orders],
    ['  messages, copies included', books.messages],
    ['ready-to-ship', books.readyToShip],
    ['denied', books.denied],
    ['parked for a person', books.parked],
    ['authorizations at the gateway', books.authorizations],
    ['charged twice', books.chargedTwice],
    ['lost', books.lost],
    ['notified', books.notified],
    ['latency p50 / p99', `${timings.p50Ms} ms / ${timings.p99Ms} ms`],
    ['orders/s', timings.ordersPerSecond],
  ];
  const table = rows.map(([name, value]) => `  ${name.padEnd(32)}${String(value).padStart(18)}\n`).join('');
  return `\n${table}\n${verdict(books)}`;
}

function verdict({ problems }: Books): string {
  if (problems.length === 0)
    return '  The books balance: ledger, database and receipts agree on every order.\n';
  const shown = problems.slice(0, MOST_PROBLEMS).map((problem) => `  - ${problem}\n`);
  const more = problems.length > MOST_PROBLEMS ? `  - and ${problems.length - MOST_PROBLEMS} more\n` : '';
  return `  The books do NOT balance:\n${shown.join('')}${more}`;
}

const BAR_WIDTH = 30;
const LINE_EVERY_MS = 2_000;

/** A bar on a terminal; elsewhere a line now and then, and whenever something else begins. */
export function progressShower(total: number): (done: number, doing: string) => void {
  let lastLineAt = 0;
  let lastDoing = '';
  return (done, doing) => {
    const text = `${done}/${total} orders, ${doing}`;
    if (process.stderr.isTTY) {
      const filled = Math.round((BAR_WIDTH * done) / Math.max(1, total));
      const bar = '#'.repeat(filled) + '.'.repeat(BAR_WIDTH - filled);
      process.stderr.write(`\r\x1b[K[${bar}] ${text}${done >= total ? '\n' : ''}`);
    } else if (doing !== lastDoing || performance.now() - lastLineAt > LINE_EVERY_MS) {
      lastLineAt = performance.now();
      lastDoing = doing;
      process.stderr.write(`demo: ${text}\n`);
    }
  };
}
