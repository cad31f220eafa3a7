/** What every request must bring before it is looked at. */
import { badRequest, type ErrorAnswer } from './answer.ts';
import type { GatewayRequest } from './gateway-request.ts';

/** Undefined: come in. */
export function admit(request: GatewayRequest): ErrorAnswer | undefined {
  const isAdyen = request.dialect === 'adyen';
  const refused = isAdyen ? unknownApiKey(request.apiKey) : unauthorized(request.authorization);
  return refused ?? unusableKey(request);
}

/** Any key will do in Adyen's dialect; its keys have no form that is told apart. */
function unknownApiKey(apiKey: string | undefined): ErrorAnswer | undefined {
  if (apiKey !== undefined && /^\S{8,}$/.test(apiKey)) return undefined;
  const message = 'HTTP Status Response - Unauthorized';
  return { kind: 'error', status: 401, error: { type: 'invalid_request_error', message } };
}

/** Any secret or restricted key will do, as a bearer token or as the user of Basic authentication. */
function unauthorized(authorization: string | undefined): ErrorAnswer | undefined {
  const [scheme, credentials = ''] = (authorization ?? '').split(' ', 2);
  const basic = scheme?.toLowerCase() === 'basic';
  const key = basic ? Buffer.from(credentials, 'base64').toString('latin1').split(':', 1)[0] : credentials;
  if (/^(sk|rk)_\S+$/.test(key ?? '')) return undefined;
  const message = key === '' ? 'You did not provide an API key.' : 'Invalid API Key provided.';
  return { kind: 'error', status: 401, error: { type: 'invalid_request_error', message } };
}

/** Keys are stored and shown, so one that holds the card number is refused; gateways limit their length. */
function unusableKey({ dialect, idempotencyKey, cardNumber }: GatewayRequest): ErrorAnswer | undefined {
  if (idempotencyKey === undefined) return undefined;
  const maxLength = dialect === 'adyen' ? 64 : 255;
  if (idempotencyKey.length > maxLength) {
    return badRequest(`An idempotency key has at most ${maxLength} characters.`);
  }
  if (cardNumber === undefined || cardNumber.length < 12 || !idempotencyKey.includes(cardNumber))
    return undefined;
  return badRequest('A card number was sent in the idempotency key.');
}
