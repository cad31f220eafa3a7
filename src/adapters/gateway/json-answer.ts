import type { AnswerHeaders, Answered } from './http-exchange.ts';

/** undefined for what is not JSON. V8's SyntaxError quotes its input, so it goes no further. */
export function readJson({ headers, body }: Answered): unknown {
  if (!isJson(headers) || !['', 'identity'].includes(headers['content-encoding'] ?? '')) return undefined;
  try {
    return JSON.parse(body.reveal());
  } catch {
    return undefined;
  }
}

export function isJson(headers: AnswerHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
