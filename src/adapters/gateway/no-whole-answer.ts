/** The rows of the outcome table for a request to which no whole answer came; the same for every gateway. */
import type { Unavailable, Unknown } from '../../domain/outcome.ts';
import type { CutShort, Failed } from './http-exchange.ts';
import { unavailable, unknown } from './judgement.ts';

export function noAnswer(sent: boolean, failed: Failed): Unavailable | Unknown {
  return sent ? failedAfterSent(failed) : failedBeforeSent(failed);
}

function failedBeforeSent({ fault, code }: Failed): Unavailable {
  return fault === 'tls'
    ? unavailable('configuration', `no trusted TLS connection to the gateway: ${code}`)
    : unavailable('not_sent', `the request was not sent: ${code}`);
}

function failedAfterSent({ fault, code }: Failed): Unknown {
  return unknown(UNKNOWN_CAUSE[fault], `the request was sent and no answer came: ${code}`);
}

export function bodyLost({ status, fault, code }: CutShort): Unknown {
  return unknown(
    UNKNOWN_CAUSE[fault],
    `the body of an answer with HTTP ${status} did not come whole: ${code}`,
  );
}

const UNKNOWN_CAUSE = {
  timeout: 'no_answer',
  connection: 'connection_lost',
  tls: 'connection_lost',
  malformed: 'unreadable_answer',
  too_large: 'unreadable_answer',
} as const;
