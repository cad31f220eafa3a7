/** Answers from in front of the gateway: rate limiter, key check, proxy. Nothing was executed. */
import type { ErrorAnswer, Rendered } from './answer.ts';
import { renderFor } from './dialects.ts';
import type { EdgeFault } from './fault-script.ts';
import type { GatewayRequest } from './gateway-request.ts';

/** The faults at the edge that answer at all. */
export type EdgeAnswerFault = Exclude<EdgeFault, { kind: 'drop-before-charge' | 'hold-before-charge' }>;

export function edgeAnswer(fault: EdgeAnswerFault, request: GatewayRequest): Rendered {
  const render = (answer: ErrorAnswer): Rendered => renderFor(request.dialect, answer);
  switch (fault.kind) {
    case '429':
      return render(rateLimited(fault.retryAfter));
    case '401':
      return render(refusal(401, 'Invalid API Key provided.'));
    case '403':
      return render(refusal(403, 'The provided key does not have access to this resource.'));
    case '404':
      return render(refusal(404, 'Unrecognized request URL.'));
    case 'redirect':
      return { status: fault.status ?? 307, headers: { Location: '/__redirected' }, body: '' };
    case 'echo-pan':
      return render(quotingTheCard(fault.status ?? 400, request.cardNumber));
    case 'html-502':
      return BAD_GATEWAY;
  }
}

/** What a reverse proxy says when the server behind it does not. */
export const BAD_GATEWAY: Rendered = {
  status: 502,
  headers: { 'Content-Type': 'text/html' },
  body:
    '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n' +
    '<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
};

function rateLimited(retryAfter: number | string | undefined): ErrorAnswer {
  const { error } = refusal(429, 'Request rate limit exceeded.');
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  return { kind: 'error', status: 429, error: { ...error, code: 'rate_limit' }, headers };
}

function quotingTheCard(status: number, cardNumber = 'of no card'): ErrorAnswer {
  const { error } = refusal(status, `The request with card ${cardNumber} could not be processed.`);
  return { kind: 'error', status, error: { ...error, param: 'payment_method_data[card][number]' } };
}

function refusal(status: number, message: string): ErrorAnswer {
  return { kind: 'error', status, error: { type: 'invalid_request_error', message } };
}
