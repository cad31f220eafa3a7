/**
 * The parameters of `POST /v1/payment_intents`, checked as Stripe checks them before it executes anything:
 * https://docs.stripe.com/api/payment_intents/create. What fails here is a 400 and leaves the key free.
 *
 * Deliberately looser than Stripe: no minimum amount (Stripe's depends on the settlement currency), and no
 * `return_url` is demanded.
 */
import { badRequest, type ErrorAnswer } from './answer.ts';
import { membersOf, topLevelName, type FormParams } from './form.ts';
import { cardOfToken, type Card } from './issuer.ts';

export interface ChargeOrder {
  readonly kind: 'charge-order';
  readonly amountMinor: number;
  /** Lower case. */
  readonly currency: string;
  readonly card: Card;
  /** The test token that stood for the card. */
  readonly token: string | undefined;
  readonly captureMethod: string;
  readonly confirm: boolean;
  /** Nobody is there to authenticate: a challenge is a decline. */
  readonly unattended: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

export function readChargeOrder(params: FormParams): ChargeOrder | ErrorAnswer {
  const amountMinor = readAmount(params.get('amount'));
  if (typeof amountMinor !== 'number') return amountMinor;
  const currency = readCurrency(params.get('currency'));
  if (typeof currency !== 'string') return currency;
  const metadata = membersOf(params, 'metadata');
  const refused =
    fractionOfCurrency(amountMinor, currency) ??
    unknownParam(params) ??
    oversizedMetadata(metadata) ??
    leakedCard(params);
  if (refused !== undefined) return refused;
  const captureMethod = params.get('capture_method') ?? 'automatic';
  if (!CAPTURE_METHODS.has(captureMethod)) return invalidChoice('capture_method', CAPTURE_METHODS);
  const paid = readCard(params);
  if (paid.kind === 'error') return paid;
  return {
    kind: 'charge-order',
    amountMinor,
    currency,
    card: paid.card,
    token: paid.token,
    captureMethod,
    confirm: params.get('confirm') === 'true',
    unattended:
      UNATTENDED.has(params.get('off_session') ?? '') || params.get('error_on_requires_action') === 'true',
    metadata,
  };
}

function readAmount(text: string | undefined): number | ErrorAnswer {
  if (text === undefined) return missing('amount');
  if (!/^-?\d+$/.test(text)) return badRequest('Invalid integer.', 'amount', 'parameter_invalid_integer');
  const amountMinor = Number(text);
  if (amountMinor < 1) {
    const message = 'This value must be greater than or equal to 1.';
    return badRequest(message, 'amount', 'parameter_invalid_integer');
  }
  if (amountMinor <= MAX_AMOUNT_MINOR) return amountMinor;
  return badRequest('Amount must be no more than 99999999.', 'amount', 'amount_too_large');
}

function readCurrency(text: string | undefined): string | ErrorAnswer {
  if (text === undefined) return missing('currency');
  if (CURRENCIES.has(text.toUpperCase())) return text.toLowerCase();
  return badRequest('Invalid currency. It must be a three-letter ISO 4217 code.', 'currency');
}

/** https://docs.stripe.com/currencies, "special cases" and "three-decimal currencies" */
function fractionOfCurrency(amountMinor: number, currency: string): ErrorAnswer | undefined {
  const step = ['isk', 'ugx'].includes(currency) ? 100 : THREE_DECIMALS.has(currency) ? 10 : 1;
  if (amountMinor % step === 0) return undefined;
  const message = `Invalid amount. Amounts in ${currency} must be evenly divisible by ${step}.`;
  return badRequest(message, 'amount', 'invalid_charge_amount_no_decimal_compatible');
}

const THREE_DECIMALS: ReadonlySet<string> = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);

type Paid = { readonly kind: 'card'; readonly card: Card; readonly token: string | undefined };

function readCard(params: FormParams): Paid | ErrorAnswer {
  const token = params.get('payment_method');
  if (token !== undefined) {
    const card = cardOfToken(token);
    if (card !== undefined) return { kind: 'card', card, token };
    return badRequest('No such PaymentMethod.', 'payment_method', 'resource_missing');
  }
  if (params.get('payment_method_data[type]') !== 'card') return missing('payment_method_data[type]');
  const number = params.get('payment_method_data[card][number]');
  if (number === undefined) return missing('payment_method_data[card][number]');
  const expMonth = readInteger(params, 'payment_method_data[card][exp_month]');
  if (typeof expMonth !== 'number') return expMonth;
  const expYear = readInteger(params, 'payment_method_data[card][exp_year]');
  if (typeof expYear !== 'number') return expYear;
  const cvc = params.get('payment_method_data[card][cvc]');
  const card = { number, expMonth, expYear: expYear < 100 ? 2000 + expYear : expYear, cvc };
  return { kind: 'card', card, token: undefined };
}

function readInteger(params: FormParams, name: string): number | ErrorAnswer {
  const text = params.get(name);
  if (text === undefined) return missing(name);
  return /^\d{1,4}$/.test(text)
    ? Number(text)
    : badRequest('Invalid integer.', name, 'parameter_invalid_integer');
}

function unknownParam(params: FormParams): ErrorAnswer | undefined {
  for (const name of params.keys()) {
    if (KNOWN_PARAMS.has(topLevelName(name))) continue;
    return badRequest(
      `Received unknown parameter: ${name.slice(0, 60)}`,
      name.slice(0, 60),
      'parameter_unknown',
    );
  }
  return undefined;
}

/** https://docs.stripe.com/api/metadata */
function oversizedMetadata(metadata: Readonly<Record<string, string>>): ErrorAnswer | undefined {
  const entries = Object.entries(metadata);
  if (entries.length > 50) return badRequest('Metadata can have up to 50 keys.', 'metadata');
  const tooLong = entries.some(([key, value]) => key.length > 40 || value.length > 500);
  return tooLong ? badRequest('Metadata keys hold 40 characters, values 500.', 'metadata') : undefined;
}

/** The simulator's own rule: metadata are stored and shown, so a card number in them must not go unseen. */
function leakedCard(params: FormParams): ErrorAnswer | undefined {
  const number = params.get('payment_method_data[card][number]');
  if (number === undefined || number.length < 12) return undefined;
  for (const [name, value] of params) {
    if (name === 'payment_method_data[card][number]' || !(name + value).includes(number)) continue;
    return badRequest(
      'A card number was sent outside payment_method_data[card][number].',
      topLevelName(name),
    );
  }
  return undefined;
}

function missing(name: string): ErrorAnswer {
  return badRequest(`Missing required param: ${name}.`, name, 'parameter_missing');
}

function invalidChoice(name: string, choices: ReadonlySet<string>): ErrorAnswer {
  return badRequest(`Invalid ${name}: must be one of ${[...choices].join(', ')}`, name);
}

/** Eight digits, Stripe's limit for most currencies. */
const MAX_AMOUNT_MINOR = 99_999_999;
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
const CAPTURE_METHODS: ReadonlySet<string> = new Set(['automatic', 'automatic_async', 'manual']);
const UNATTENDED: ReadonlySet<string> = new Set(['true', 'one_off', 'recurring']);
/** `payment_method_types` was named so before `allowed_payment_method_types`; both are taken. */
const KNOWN_PARAMS: ReadonlySet<string> = new Set(
  (
    'amount currency allowed_payment_method_types amount_details application_fee_amount ' +
    'automatic_payment_methods capture_method confirm confirmation_method customer customer_account ' +
    'description error_on_requires_action excluded_payment_method_types mandate mandate_data metadata ' +
    'off_session on_behalf_of payment_details payment_method payment_method_configuration ' +
    'payment_method_data payment_method_options payment_method_types radar_options receipt_email ' +
    'return_url setup_future_usage shipping statement_descriptor statement_descriptor_suffix ' +
    'transfer_data transfer_group use_stripe_sdk'
  ).split(' '),
);
