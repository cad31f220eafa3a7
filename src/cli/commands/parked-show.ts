import type { ParkedDetail } from '../../ops/parked/parked-view.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { oneLine } from '../table.ts';
import { parkedOf, parkIdOf, termsOf } from './parked-selection.ts';

type ShowFlags = ConfigOptions & { readonly json?: true };

export const addShowCommand: AddCommand = (parked, context) => {
  addConfigOptions(parked.command('show <park-id>'))
    .summary('show a parked order and all that may be seen of its message')
    .description(
      'Shows why an order was parked, whether its money has moved, what a replay would come to, and its message: ' +
        'headers, error and body without card data. Needs the database only.',
    )
    .option('--json', 'print it as JSON')
    .addHelpText('after', '\nExample:\n  cardauth parked show 0190163d-8694-739b-aea5-966c26f8ad91 --json\n')
    .action(async (text: string, flags: ShowFlags) => {
      const parkId = parkIdOf(text);
      const { showParked } = await import('../../ops/parked/list-parked.ts');
      const config = await configFor(context, flags, ['broker', 'database']);
      const search = (await parkedOf(context)).openParkedSearch(config);
      try {
        const detail = await showParked(search, parkId, termsOf(config));
        if (detail === undefined)
          throw new CommandError(exitCodes.failed, `there is no parked order ${parkId}`);
        if (flags.json === true) printJson(context.terminal, 'parked show', detail);
        else context.terminal.out(detailText(detail));
      } finally {
        await search.close();
      }
    });
};

function detailText(detail: ParkedDetail): string {
  const { money, replay, advice, redactedBody, replayFrom } = detail;
  const facts: readonly (readonly [name: string, value: string | number | null])[] = [
    ['parked', `${detail.parkId} (${detail.state})`],
    ['order', `${detail.orderId ?? '-'} (${detail.orderStatus ?? 'not stored'})`],
    ['customer', detail.customerId],
    ['card', detail.card],
    ['reason', `${detail.reason} (${detail.class})`],
    ['error', detail.error],
    ['cause', detail.cause],
    ['replays', detail.attempts],
    ['money', `${money.verdict}: held ${money.moved}`],
    ['reference', money.reference],
    ['replay', advice === null ? replay : `${replay}: ${advice}`],
    ['message', replayFrom === null ? 'nowhere any more' : `in the ${replayFrom.replace('-', ' ')}`],
    ['first seen', detail.firstSeenAt],
    ['parked at', detail.parkedAt],
    ['closed at', detail.closedAt],
    ['batch', detail.batchId],
    ['queue', detail.queue],
    ['message id', detail.messageId],
    ['type', detail.contentType],
    ['worker', detail.workerVersion],
    ['correlation', detail.correlationId],
    ['headers', JSON.stringify(detail.headers)],
    ['body', redactedBody ?? `${detail.bodyBytes} bytes, kept encrypted`],
  ];
  return facts.map(([name, value]) => `${name.padEnd(12)}${oneLine(String(value ?? '-'))}\n`).join('');
}
