/** One authorization, the same in every dialect: ask, ask once more where that decides, give up what must not stand. */
import type { Order, OrderId } from '../../domain/order.ts';
import type { AuthorizationOutcome } from '../../domain/outcome.ts';
import type { AuthorizationRequest } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import { AMOUNT_NOT_EXPRESSIBLE, inGatewayUnits, type AmountRules } from './amount-rules.ts';
import { afterResend, type Judgement } from './judgement.ts';
import type { Wall } from './wall.ts';

export interface Dialect {
  readonly amounts: AmountRules;
  /** Where a decline code that nobody knows is to be classed: a file's name, for the log. */
  readonly declines: string;
  /** One exchange under the key, judged; the order's amount is in the gateway's units. */
  ask(order: Order, idempotencyKey: string, wall: Wall): Promise<Judgement>;
  /** Asks for the payment to be given up, and says so in the log. Resolves to whether the gateway confirms it. */
  giveUp(payment: PaymentToGiveUp, wall: Wall): Promise<boolean>;
}

/** `idempotencyKey` is the one that the payment was asked for with. */
export interface PaymentToGiveUp {
  readonly reference: string;
  readonly orderId: OrderId;
  readonly idempotencyKey: string;
}

/** Everything that is sent shares the wall, first come, first served. */
export async function authorizeBy(
  dialect: Dialect,
  { order: asked, idempotencyKey }: AuthorizationRequest,
  wall: Wall,
  log: Log,
): Promise<AuthorizationOutcome> {
  const order = inGatewayUnits(asked, dialect.amounts);
  if (order === undefined) return AMOUNT_NOT_EXPRESSIBLE;
  const { orderId } = order.terms;
  const first = await dialect.ask(order, idempotencyKey, wall);
  const judgement =
    first.kind === 'resend'
      ? afterResend(await dialect.ask(order, idempotencyKey, wall), first.otherwise)
      : first;
  const outcome = await settleBy(dialect, judgement, { orderId, idempotencyKey }, wall);
  if (outcome.kind === 'declined' && outcome.class === 'unknown') {
    const fields = { orderId, code: outcome.code };
    log.warn(fields, `declined with a code that nobody knows: class it in ${dialect.declines}`);
  }
  return outcome;
}

/** Sends what the judgement still asks for, and resolves to what stands then. */
export async function settleBy(
  dialect: Pick<Dialect, 'giveUp'>,
  judgement: Judgement,
  payment: Omit<PaymentToGiveUp, 'reference'>,
  wall: Wall,
): Promise<AuthorizationOutcome> {
  if (judgement.kind === 'settled') return judgement.outcome;
  if (judgement.kind === 'resend') return judgement.otherwise;
  const { reference, confirmed, otherwise } = judgement;
  return (await dialect.giveUp({ ...payment, reference }, wall)) ? confirmed : otherwise;
}
