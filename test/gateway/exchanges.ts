import { Secret } from '../../src/domain/card.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { Exchange } from '../../src/adapters/gateway/http-exchange.ts';
import type { Judgement } from '../../src/adapters/gateway/judgement.ts';
import { VISA } from './orders.ts';

export function answered(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Exchange {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    sent: true,
    result: {
      kind: 'answered',
      status,
      headers: { 'content-type': 'application/json', ...headers },
      body: new Secret(text),
    },
  };
}

export function html(status: number): Exchange {
  return answered(status, `<html>${VISA}</html>`, { 'content-type': 'text/html' });
}

export function failed(
  sent: boolean,
  fault: 'timeout' | 'connection' | 'malformed' | 'tls',
  code: string,
): Exchange {
  return { sent, result: { kind: 'failed', fault, code } };
}

export function cutShort(
  status: number,
  fault: 'timeout' | 'connection' | 'malformed' | 'too_large',
): Exchange {
  const headers = { 'content-type': 'application/json' };
  return { sent: true, result: { kind: 'cut_short', status, headers, fault, code: 'SOME_CODE' } };
}

/** `kind/cause`, `kind/reason` and so on, with the class and code of a decline; then what else must be there. */
export function summary(judgement: Judgement): string {
  if (judgement.kind === 'settled') return outcomeSummary(judgement.outcome);
  const { kind, otherwise } = judgement;
  if (kind === 'resend') return `resend, else ${outcomeSummary(otherwise)}`;
  return `cancel ${judgement.reference}: ${outcomeSummary(judgement.confirmed)}, else ${outcomeSummary(otherwise)}`;
}

function outcomeSummary(outcome: AuthorizationOutcome): string {
  switch (outcome.kind) {
    case 'approved':
      return `approved ${outcome.reference}`;
    case 'declined':
      return (
        `declined ${outcome.reason} ${outcome.class} ${outcome.code} ${outcome.reference ?? '-'}` +
        (outcome.retryAfterMs === undefined ? '' : ` after ${outcome.retryAfterMs} ms`)
      );
    case 'contradicted':
      return `contradicted ${outcome.reason} ${outcome.reference ?? '-'}`;
    case 'rejected':
      return `rejected ${outcome.code}`;
    case 'unavailable':
    case 'unknown': {
      const wait = outcome.retryAfterMs === undefined ? '' : ` after ${outcome.retryAfterMs}`;
      return `${outcome.kind} ${outcome.cause}${wait}`;
    }
  }
}
