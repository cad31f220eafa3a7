/**
 * Everything that a command prints under `--json`. One zod schema is the source of the value's type, of the published
 * JSON Schema (`cardauth schema`, schemas/cli.json) and of the check that the tests make.
 *
 * To add one:
 * 1. Export a `z.object` for it, with a `description`: in src/ops beside the function that makes the value, or in
 *    src/cli/json for what only the command line knows. Type the value with `z.infer`.
 * 2. Add its line below, under the command's name without `cardauth`.
 * 3. Print it with `printJson(context.terminal, '<name>', value)`.
 * 4. `npx cardauth schema --all > schemas/cli.json`.
 * Every run of `cli([..., '--json'])` in the tests is then held against the schema, and a command that has `--json`
 * and no line here fails test/cli/json-outputs.test.ts.
 *
 * The rules of the values: camelCase; amounts in minor units as text (64 bits); times in ISO 8601, durations in
 * milliseconds with `Ms` in the name; what is not known is null, not absent; lists come with the cursor of the next page
 * where there are pages. Fields are only ever added, so the schemas allow more than they name.
 */
import type * as z from 'zod';
import type { DeepReadonly } from '../ops/deep-readonly.ts';
import type { Terminal } from './terminal.ts';

/** `document`: one JSON value; `lines`: NDJSON, one value a line. */
export interface JsonOutput {
  readonly form: 'document' | 'lines';
  readonly schema: () => Promise<z.ZodType>;
}

export const jsonOutputs = {
  'audit list': document(async () => (await import('../ops/list-audit.ts')).auditPage),
  'breaker show': document(async () => (await import('../ops/status-view.ts')).workerValves),
  'config show': document(async () => (await import('./json/config.ts')).shownSettings),
  demo: document(async () => (await import('./json/demo.ts')).demoResult),
  doctor: document(async () => (await import('../ops/doctor.ts')).doctorReport),
  'migrate status': document(async () => (await import('./json/migrate.ts')).migrationStatus),
  'migrate up': document(async () => (await import('./json/migrate.ts')).migrationsApplied),
  'notifications list': document(
    async () => (await import('../ops/resend-notifications.ts')).unannouncedPage,
  ),
  'notifications resend': lines(async () => (await import('../ops/operated-order.ts')).operatedOrder),
  'orders explain': document(async () => (await import('../ops/explain-order.ts')).orderExplanation),
  'orders list': document(async () => (await import('../ops/list-orders.ts')).orderList),
  'orders publish': document(async () => (await import('./json/orders.ts')).publishSummary),
  'orders reopen': lines(async () => (await import('../ops/operated-order.ts')).operatedOrder),
  'orders show': document(async () => (await import('../ops/show-order.ts')).orderView),
  'orders validate': document(async () => (await import('../ops/validate-orders.ts')).validationReport),
  pause: document(async () => (await import('../ops/status-view.ts')).intakeChange),
  reconcile: document(async () => (await import('../ops/reconcile/run.ts')).reconciliation),
  resume: document(async () => (await import('../ops/status-view.ts')).intakeChange),
  // One line, and with --watch one after the other.
  status: lines(async () => (await import('../ops/status-view.ts')).statusView),
  'unknown list': document(async () => (await import('../ops/list-unknown.ts')).unknownPage),
  'unknown resolve': lines(async () => (await import('../ops/operated-order.ts')).operatedOrder),
  'parked discard': document(async () => (await import('../ops/parked/discard-parked.ts')).discardResult),
  'parked export': lines(async () => (await import('../ops/parked/parked-view.ts')).parkedDetail),
  'parked groups': document(async () => (await import('../ops/parked/group-parked.ts')).parkedGroups),
  'parked list': document(async () => (await import('../ops/parked/list-parked.ts')).parkedList),
  'parked replay': document(async () => (await import('../ops/parked/batch-view.ts')).replayResult),
  'parked show': document(async () => (await import('../ops/parked/parked-view.ts')).parkedDetail),
} satisfies Readonly<Record<string, JsonOutput>>;

export type JsonOutputName = keyof typeof jsonOutputs;

/** What may be printed under a name. */
export type JsonValue<Name extends JsonOutputName> = DeepReadonly<
  z.output<Awaited<ReturnType<(typeof jsonOutputs)[Name]['schema']>>>
>;

export function allJsonOutputs(): readonly (readonly [name: string, output: JsonOutput])[] {
  return Object.entries(jsonOutputs);
}

/** One line on stdout: the whole document, or one value of a stream. */
export function printJson<Name extends JsonOutputName>(
  terminal: Terminal,
  _name: Name,
  value: JsonValue<Name>,
): void {
  terminal.out(`${JSON.stringify(value)}\n`);
}

function document<Schema extends z.ZodType>(schema: () => Promise<Schema>) {
  return { form: 'document', schema } as const;
}

function lines<Schema extends z.ZodType>(schema: () => Promise<Schema>) {
  return { form: 'lines', schema } as const;
}
