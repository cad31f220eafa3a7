/** The simulated gateway keeps the contract of a gateway's adapter: the same suite, over it. */
import type { Order } from '../../src/domain/order.ts';
import {
  describeGatewayConformance,
  type GatewayUnderTest,
  type SimulatedFault,
} from '../conformance/gateway.ts';
import type { Fault, FaultKind, Faults } from './faults.ts';
import { SimulatedGateway, type Fate } from './gateway.ts';
import { nextTurn, RealTime, worldIn } from './real-time.ts';

describeGatewayConformance('the simulated gateway', open, {
  reusedKey: 'contradicted key_reused',
  // What an error's body holds does not get this far.
  without: ['echo-pan'],
});

function open(wallMs: number): Promise<GatewayUnderTest> {
  const time = new RealTime();
  const arranged: SimulatedFault[] = [];
  const fates = new Map<string, Fate>();
  const simulated = new SimulatedGateway(worldIn(time, oneAtATime(arranged)), {
    retentionMs: 86_400_000,
    searchLagMs: 0,
    fateOf: (orderId) => fates.get(orderId) ?? 'approved',
  });
  const port = simulated.portFor(time.process('worker'), wallMs);
  return Promise.resolve({
    gateway: {
      authorize: (request) => {
        const [next] = arranged;
        fates.set(request.order.terms.orderId, FATES[next?.kind ?? ''] ?? fateOf(request.order));
        return port.authorize(request);
      },
    },
    arrange: (fault) => {
      arranged.push(fault);
      return Promise.resolve();
    },
    release: nextTurn,
    holds: (orderId) =>
      Promise.resolve(
        simulated
          .holdsOf(orderId)
          .filter(({ voidedAtMs }) => voidedAtMs === undefined)
          .map(({ reference, amountMinor, currency }) => ({
            reference,
            amountMinor: Number(amountMinor),
            currency,
          })),
      ),
    arrivals: (orderId) => Promise.resolve(simulated.arrivals.get(orderId) ?? 0),
    close: () => {
      time.stop();
      return Promise.resolve();
    },
  });
}

/** The next request for an authorization meets what was arranged. */
function oneAtATime(arranged: SimulatedFault[]): Faults {
  return {
    at: (site): Fault | undefined => {
      if (site !== 'gateway.authorize') return undefined;
      const fault = arranged.shift();
      const kind = fault && kindOf(fault);
      return kind && { site, nth: 1, kind, ms: SPANS_MS[kind] ?? 0 };
    },
    timed: [],
    heal: () => undefined,
    struck: [],
    calls: new Map(),
  };
}

/** How the faults of the gateway simulator's script are called here. */
const KINDS: Readonly<Record<string, FaultKind>> = {
  'hold-in-flight': 'slow',
  hold: 'no-answer-after',
  'stalled-headers': 'no-answer-after',
  'stalled-body': 'no-answer-after',
  'drop-before-charge': 'cut-before',
  '429': 'rate-limited',
  '401': 'misconfigured',
  '403': 'misconfigured',
  '404': 'misconfigured',
  redirect: 'misconfigured',
  'charge-then-drop': 'cut-after',
  'cut-body': 'cut-after',
  garbage: 'garbled',
  'empty-body': 'garbled',
  'wrong-content-type': 'garbled',
  'huge-body': 'garbled',
  'cached-500': 'server-error',
  'charge-then-500': 'server-error-after',
  'wrong-amount': 'wrong-amount',
  'wrong-currency': 'wrong-currency',
  partial: 'partial',
  pending: 'pending',
  'unknown-status': 'pending',
};

const SPANS_MS: Readonly<Partial<Record<FaultKind, number>>> = { slow: 300, pending: 3_600_000 };

function kindOf({ kind, ...options }: SimulatedFault): FaultKind | undefined {
  if (kind === 'html-502') return options['charged'] === true ? 'bad-gateway-after' : 'bad-gateway';
  if (kind in FATES) return undefined;
  const known = KINDS[kind];
  if (known === undefined) throw new Error(`the simulated gateway has no fault for ${kind}`);
  return known;
}

/** Of faults that are the issuer's word. */
const FATES: Readonly<Record<string, Fate>> = {
  'requires-action': 'challenged',
  'unknown-decline-code': 'declined for reasons unknown',
};

const FATES_BY_CARD: Readonly<Record<string, Fate>> = {
  '4000000000000002': 'declined softly',
  '4000000000009995': 'declined softly',
  '4000000000009987': 'declined hard',
  '4000000000009979': 'declined hard',
  '4000000000000069': 'declined hard',
  '4000000000000127': 'declined hard',
  '4000000000000119': 'declined softly',
  '4000002500003155': 'challenged',
};

function fateOf({ means }: Order): Fate {
  return (means.kind === 'card' ? FATES_BY_CARD[means.card.number.reveal()] : undefined) ?? 'approved';
}
