/**
 * The parameters of `POST /payments`, checked as Adyen checks them before it executes anything; what fails here leaves
 * the key free. Source: https://docs.adyen.com/api-explorer/Checkout/72/post/payments
 *
 * Deliberately looser than Adyen: any merchant account exists, and any shopper has any test token.
 */
import { z } from 'zod';
import { adyenError } from './adyen-answer.ts';
import type { ErrorAnswer } from './answer.ts';
import type { ChargeOrder } from './charge-order.ts';
import { cardOfToken, type Card } from './issuer.ts';

export function readAdyenPayment(json: unknown): ChargeOrder | ErrorAnswer {
  if (json === undefined) return adyenError(400, '702', 'Problem reading or understanding request');
  const read = payment.safeParse(json);
  if (!read.success) return refusedField(read.error);
  const { amount, paymentMethod, reference, merchantAccount, ...rest } = read.data;
  if (!CURRENCIES.has(amount.currency)) return adyenError(422, '138', 'Unsupported currency specified');
  const paid = readMeans(paymentMethod);
  if (paid === undefined) return adyenError(422, '803', 'PaymentDetail not found');
  if (leaksCard(json, paid.card, paid.token)) {
    return adyenError(422, '702', 'A card number was sent outside paymentMethod.number.');
  }
  return {
    kind: 'charge-order',
    amountMinor: amount.value,
    currency: amount.currency.toLowerCase(),
    ...paid,
    captureMethod: rest.additionalData?.manualCapture === 'true' ? 'manual' : 'automatic',
    confirm: true,
    unattended:
      rest.shopperInteraction === 'ContAuth' || rest.authenticationData?.attemptAuthentication === 'never',
    metadata: {
      order_id: rest.merchantOrderReference ?? reference,
      reference,
      merchant_account: merchantAccount,
    },
  };
}

const digits = (pattern: RegExp) => z.string().regex(pattern);

const cardMethod = z.strictObject({
  type: z.literal('scheme'),
  number: z.string(),
  expiryMonth: digits(/^\d{1,2}$/),
  expiryYear: digits(/^\d{4}$/),
  cvc: z.string().optional(),
});

const storedMethod = z.strictObject({ type: z.literal('scheme'), storedPaymentMethodId: z.string() });

const payment = z
  .strictObject({
    merchantAccount: z.string().min(1),
    amount: z.strictObject({ currency: digits(/^[A-Z]{3}$/), value: z.int().min(1) }),
    reference: z.string().min(1).max(80),
    merchantOrderReference: z.string().max(1000).optional(),
    paymentMethod: z.union([cardMethod, storedMethod]),
    shopperInteraction: z.enum(['Ecommerce', 'ContAuth', 'Moto', 'POS']).optional(),
    recurringProcessingModel: z.enum(['CardOnFile', 'Subscription', 'UnscheduledCardOnFile']).optional(),
    shopperReference: z.string().min(3).max(256).optional(),
    authenticationData: z
      .strictObject({ attemptAuthentication: z.enum(['always', 'never']).optional() })
      .optional(),
    additionalData: z.strictObject({ manualCapture: z.enum(['true', 'false']).optional() }).optional(),
    returnUrl: z.string().min(1).max(8000),
  })
  .refine(
    ({ paymentMethod: means, ...rest }) =>
      !('storedPaymentMethodId' in means) ||
      (rest.shopperReference !== undefined && rest.recurringProcessingModel !== undefined),
    { path: ['shopperReference'], error: 'is required with a stored payment method' },
  );

function readMeans(
  means: z.infer<typeof payment>['paymentMethod'],
): { card: Card; token: string | undefined } | undefined {
  if ('storedPaymentMethodId' in means) {
    const card = cardOfToken(means.storedPaymentMethodId);
    return card === undefined ? undefined : { card, token: means.storedPaymentMethodId };
  }
  const { number, expiryMonth, expiryYear, cvc } = means;
  const card = { number, expMonth: Number(expiryMonth), expYear: Number(expiryYear), cvc };
  return { card, token: undefined };
}

/** The codes of https://docs.adyen.com/development-resources/error-codes; never with the value that was sent. */
function refusedField(error: z.ZodError): ErrorAnswer {
  const path = error.issues[0]?.path.join('.') ?? '';
  switch (path) {
    case 'merchantAccount':
      return adyenError(403, '901', 'Invalid Merchant Account');
    case 'reference':
      return adyenError(422, '130', 'Reference Missing');
    case 'amount.value':
      return adyenError(422, '137', 'Invalid amount specified');
    case 'amount.currency':
      return adyenError(422, '138', 'Unsupported currency specified');
    case 'paymentMethod':
      return adyenError(422, '14_006', "Required object 'paymentMethod' is not provided or invalid.");
    default:
      return adyenError(
        422,
        '702',
        `The request has a missing, wrong or unknown field: ${path.slice(0, 60)}`,
      );
  }
}

/** The simulator's own rule: what is not the card field is stored and shown. */
function leaksCard(json: unknown, { number }: Card, token: string | undefined): boolean {
  if (token !== undefined || number.length < 12) return false;
  return JSON.stringify(json).split(number).length > 2;
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
