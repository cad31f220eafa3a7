import { InvalidArgumentError } from 'commander';
import type { AuditedActionView, AuditPageView } from '../../ops/list-audit.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo, timeOf } from '../limits.ts';

interface ListFlags extends ConfigOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly since?: number;
  readonly before?: string;
  readonly limit: number;
  readonly json?: true;
}

export const addAuditCommand: AddCommand = (program, context) => {
  const { auditTrail } = context.parts;
  if (auditTrail === undefined) return;
  const audit = program.command('audit').summary('see what operators did');
  addConfigOptions(audit.command('list'))
    .description('Lists what operators changed, the latest first: who, when, what, why, before and after.')
    .option('--actor <name>', 'only what this person did')
    .option('--action <name>', 'only this, e.g. pause')
    .option('--subject <subject>', 'only what was done to it: order:1234, intake, parked:17')
    .option('--since <time>', 'not before: an age like 24h, or a time', (text) =>
      timeOf(text, context.nowMs()),
    )
    .option('--before <id>', 'go on where the page before ended', idOf)
    .option('--limit <n>', 'how many at most, 1-1000', countUpTo(1_000), 50)
    .option('--json', 'print {"actions":[...],"next":"17"}')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth audit list --since 24h\n  cardauth audit list --subject order:1234 --json\n',
    )
    .action(async (options: ListFlags) => {
      const { listAudit } = await import('../../ops/list-audit.ts');
      const config = await configFor(context, options, ['database']);
      const trail = await (await auditTrail())(config);
      try {
        const { actor, action, subject, since, before, limit } = options;
        const filter = { actor, action, subject, sinceMs: since, beforeId: before, limit };
        const page = await listAudit(trail, filter);
        if (options.json === true) printJson(context.terminal, 'audit list', page);
        else context.terminal.out(pageText(page));
        if (options.json !== true && page.next !== null)
          context.terminal.err(`there are more: --before ${page.next}\n`);
      } finally {
        await trail.close();
      }
    });
};

function idOf(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('Expected the id of an action.');
  return text;
}

function pageText({ actions }: AuditPageView): string {
  if (actions.length === 0) return 'nothing was done\n';
  return actions.map(actionText).join('');
}

function actionText({ at, actor, action, subject, reason, before, after }: AuditedActionView): string {
  const change = `${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
  return `${at}  ${actor}  ${action}  ${subject}  ${JSON.stringify(reason)}\n    ${change}\n`;
}
