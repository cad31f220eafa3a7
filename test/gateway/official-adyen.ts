import http from 'node:http';
import https from 'node:https';
import type { TestContext } from 'node:test';
import adyen from '@adyen/api-library';
import type { Card } from '../../src/domain/card.ts';
import type { Order, OrderTerms } from '../../src/domain/order.ts';

const { CheckoutAPI, Client, Config, EnvironmentEnum } = adyen;
const { AuthenticationData, CardDetails, PaymentRequest } = adyen.Types.checkout;

type OfficialRequest = Parameters<InstanceType<typeof CheckoutAPI>['PaymentsApi']['payments']>[0];

/**
 * The official client as it is, but that its connections end at `port` of this machine: it knows Adyen's hosts and
 * HTTPS only.
 */
export function officialAdyen(
  t: TestContext,
  port: number,
  apiKey: string,
): InstanceType<typeof CheckoutAPI> {
  t.mock.method(https, 'request', (options: http.RequestOptions) =>
    http.request({ ...options, protocol: 'http:', hostname: '127.0.0.1', port, agent: false }),
  );
  return new CheckoutAPI(new Client(new Config({ apiKey, environment: EnvironmentEnum.TEST })));
}

export const MERCHANT_ACCOUNT = 'ExampleCom';

/** The order as a user of the official client would write it. */
export function officialPayment({ terms, means }: Order): OfficialRequest {
  return Object.assign(new PaymentRequest(), {
    merchantAccount: MERCHANT_ACCOUNT,
    amount: { currency: terms.currency, value: Number(terms.amountMinor) },
    reference: terms.orderId,
    merchantOrderReference: terms.orderId,
    authenticationData: { attemptAuthentication: AuthenticationData.AttemptAuthenticationEnum.Never },
    additionalData: { manualCapture: 'true' },
    returnUrl: 'https://cardauth.invalid/',
    ...(means.kind === 'card' ? officialCard(means.card) : officialToken(means.paymentMethod, terms)),
  });
}

function officialCard(card: Card) {
  const paymentMethod = Object.assign(new CardDetails(), {
    type: CardDetails.TypeEnum.Scheme,
    number: card.number.reveal(),
    expiryMonth: String(card.expiryMonth).padStart(2, '0'),
    expiryYear: String(card.expiryYear),
    ...(card.cvv === undefined ? {} : { cvc: card.cvv.reveal() }),
  });
  return { paymentMethod, shopperInteraction: PaymentRequest.ShopperInteractionEnum.Ecommerce };
}

function officialToken(storedPaymentMethodId: string, { customerId }: OrderTerms) {
  const type = CardDetails.TypeEnum.Scheme;
  return {
    paymentMethod: Object.assign(new CardDetails(), { type, storedPaymentMethodId }),
    shopperInteraction: PaymentRequest.ShopperInteractionEnum.ContAuth,
    recurringProcessingModel: PaymentRequest.RecurringProcessingModelEnum.CardOnFile,
    shopperReference: customerId,
  };
}
