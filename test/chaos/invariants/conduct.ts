/** I19, and what has no number: workers never end by themselves, say nothing secret, and the storm was one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { demoOrders } from '../../../src/demo/orders.ts';
import { formsOf } from '../../e2e/canaries.ts';
import { chaosFaults } from '../faults.ts';
import type { Evidence } from '../evidence.ts';
import { examine, grouped, type Finding } from '../finding.ts';
import type { BlowKind } from '../blows.ts';
import type { WorkerExit } from '../supervised-worker.ts';

/** So many requests have to be expected to meet a kind of fault before its absence counts: e^-14 is once in a million. */
const ENOUGH_TO_EXPECT = 14;
/** In a line of a worker's log; each is said only of a bug. */
const SAID_OF_BUGS = /a bug|broke its contract|[Uu]nhandled|TypeError|ReferenceError|MaxListenersExceeded/;

export function conductFindings(evidence: Evidence): Finding[] {
  const { blows, exits, logs, plan, requests } = evidence;
  const planned = grouped(plan.blows, ({ blow }) => blow.kind);
  const faults = grouped(chaosFaults(plan.seed), ({ fault }) => fault.kind);
  const kinds = [...faults].filter(
    ([, rules]) =>
      plan.orders * sum(rules.map(({ match }) => (match?.nth === 1 ? (match.share ?? 1) : 0))) >=
      ENOUGH_TO_EXPECT,
  );
  return [
    examine(
      'I19',
      'no card number or secret in anything printed, stored or published',
      places(evidence),
      (place) => (place.found === undefined ? undefined : `${place.name}: ${place.found}`),
    ),
    examine('conduct', 'no worker ended but by our hand', exits, (exit) =>
      isOurs(exit) ? undefined : `worker ${exit.worker} ended with ${String(exit.code ?? exit.signal)}`,
    ),
    examine('conduct', 'no worker spoke of a bug', logs, ({ text }) =>
      SAID_OF_BUGS.test(text) ? text.slice(0, 300) : undefined,
    ),
    examine('storm', 'every blow fell as planned', planned, ([kind, all]) => {
      const { length } = blows.filter((blow) => blow.kind === kind && blow.failed === undefined);
      const failed = blows.find((blow) => blow.kind === kind && blow.failed !== undefined)?.failed;
      return length === all.length
        ? undefined
        : `${kind}: ${length} of ${all.length}${failed === undefined ? '' : `; ${failed}`}`;
    }),
    examine('storm', 'workers were really killed', planned.get('worker killed') ? [exits] : [], (all) => {
      const killed = all.filter(({ signal }) => signal === 'SIGKILL').length;
      const wanted = planned.get('worker killed' satisfies BlowKind)?.length ?? 0;
      return killed >= wanted ? undefined : `${killed} workers were killed instead of ${wanted}`;
    }),
    examine('storm', 'every kind of fault at the gateway was met', kinds, ([kind]) =>
      requests.some(({ fault }) => fault === kind) ? undefined : `no request met the fault ${kind}`,
    ),
  ];
}

function isOurs({ code, signal, sent }: WorkerExit): boolean {
  // Before it listens for signals it just ends; 143 says that something in flight had no outcome yet.
  const hasEnded = signal === 'SIGTERM' || code === 0 || code === 143;
  // What is killed may have been told to end before.
  if (sent === 'SIGKILL') return signal === 'SIGKILL' || hasEnded;
  return sent === 'SIGTERM' && hasEnded;
}

function* places(
  evidence: Evidence,
): Generator<{ readonly name: string; readonly found: string | undefined }> {
  const wanted = [...wantedIn(evidence)];
  for (const file of readdirSync(evidence.folder)) {
    const content = readFileSync(join(evidence.folder, file));
    const found = wanted.find(([, bytes]) => content.includes(bytes));
    yield { name: file, found: found?.[0] };
  }
}

/** Every form of every card that was used, and of every secret. */
function wantedIn({ plan, secrets }: Evidence): [string, Buffer][] {
  const cards = new Set(
    demoOrders(plan.orders).flatMap(({ body }) => /"creditCardNumber":(\d+)/.exec(body)?.[1] ?? []),
  );
  const texts = [
    ...[...cards].map((card) => [`card ending in ${card.slice(-4)}`, card] as const),
    ...Object.entries(secrets),
  ];
  return texts.flatMap(([name, text]) =>
    formsOf(text).map(([form, bytes]): [string, Buffer] => [`${name} (${form})`, bytes]),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
