import { moneyText } from '../../domain/money-text.ts';
import type { OrderView } from '../../ops/show-order.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import { nothingKnown, refuseImpossibleId } from '../order-id.ts';
import { oneLine } from '../table.ts';

type ShowFlags = ConfigOptions & { readonly json?: true };

export const addShowCommand: AddCommand = (orders, context) => {
  const { orderHistory } = context.parts;
  if (orderHistory === undefined) return;
  addConfigOptions(orders.command('show <id>'))
    .summary('show what became of an order')
    .description(
      'Shows the order of that id, its authorizations, and everything that happened to it in the order of time: ' +
        'claims, answers, notifications, parkings, what operators did. No card data. Needs the database only.',
    )
    .option('--json', 'print it as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth orders show 1234\n  cardauth orders show 1234 --json | jq .money\n',
    )
    .action(async (orderId: string, options: ShowFlags) => {
      refuseImpossibleId(orderId);
      const { showOrder } = await import('../../ops/show-order.ts');
      const history = await (await orderHistory())(await configFor(context, options, ['database']));
      try {
        const order = await showOrder(history, orderId);
        if (order === undefined) throw nothingKnown(orderId);
        if (options.json === true) printJson(context.terminal, 'orders show', order);
        else context.terminal.out(orderText(order));
      } finally {
        await history.close();
      }
    });
};

function orderText(order: OrderView): string {
  const parts = [
    `${oneLine(order.explanation)}\n`,
    factsText(order),
    section('authorizations', authorizationLines(order)),
    section('history (UTC)', timeline(order)),
  ];
  return parts.join('\n');
}

function factsText(order: OrderView): string {
  const { money } = order;
  const facts: readonly (readonly [name: string, value: string | number | null])[] = [
    ['order', order.orderId],
    ['customer', order.customerId],
    ['amount', amountText(order)],
    ['card', order.card],
    ['status', told(order.status, order.statusReason)],
    ['money', `${money.verdict}: held ${money.moved}, next ${money.nextAction}`],
    ['reference', order.gatewayReference],
    ['attempts', order.attempts],
    ['seen', order.seenAt],
    ['decided', order.decidedAt],
    ['announced', order.notifiedAt],
    ['tried again', order.retryAt],
  ];
  return facts.map(([name, value]) => `${name.padEnd(13)}${oneLine(String(value ?? '-'))}\n`).join('');
}

function amountText({ amountMinor, currency }: OrderView): string | null {
  if (amountMinor === null || currency === null) return null;
  return moneyText({ amountMinor: BigInt(amountMinor), currency });
}

function authorizationLines({ authorizations }: OrderView): readonly string[] {
  return authorizations.map(({ generation, idempotencyKey, state, claim, lastOutcome, gatewayReference }) => {
    const claims = claim === 1 ? '1 claim' : `${claim} claims`;
    const answer = told(lastOutcome ?? 'no answer yet', gatewayReference);
    return `${generation}. ${idempotencyKey}  ${state}  ${claims}  ${answer ?? ''}`;
  });
}

/** Everything with a time, from wherever it is recorded. */
function timeline({ events, parked, operatorActions }: OrderView): readonly string[] {
  const moments: (readonly [at: string, text: string])[] = [
    ...events.map((event) => [event.at, eventText(event)] as const),
    ...parked.map(({ at, reason, attempts, error }) => {
      return [at, `parked after ${attempts} replays  ${reason}  ${error}`] as const;
    }),
    ...parked.flatMap(({ closedAt, state, reason }) =>
      closedAt === null ? [] : [[closedAt, `parked copy ${state}  ${reason}`] as const],
    ),
    ...operatorActions.map(({ at, actor, action, reason }) => {
      return [at, `operator ${actor}: ${action}  ${JSON.stringify(reason)}`] as const;
    }),
  ];
  return moments
    .toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([at, text]) => `${at.replace('T', ' ').replace('Z', '')}  ${text}`);
}

function eventText(event: OrderView['events'][number]): string {
  const { fact, statusBefore, statusAfter, outcome, detail, alarm } = event;
  const moved =
    statusBefore === statusAfter ? undefined : `${statusBefore ?? 'new'} -> ${statusAfter ?? 'none'}`;
  const parts = [fact, moved, outcome, detail, alarm === null ? undefined : `ALARM: ${alarm}`];
  return parts.filter((part) => part !== undefined && part !== null).join('  ');
}

function section(title: string, lines: readonly string[]): string {
  const shown = lines.length === 0 ? ['-'] : lines;
  return `${title}\n${shown.map((line) => `  ${oneLine(line)}\n`).join('')}`;
}

function told(what: string | null, more: string | null): string | null {
  return what === null || more === null ? what : `${what} (${more})`;
}
