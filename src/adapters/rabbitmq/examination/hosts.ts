import { findingsOf, type Finding } from '../../../ports/examination.ts';
import type { Log } from '../../../ports/log.ts';
import type { Clock } from '../../../topology/clock.ts';
import type { RandomSource } from '../../../topology/random.ts';
import { BrokerConnection } from '../connection.ts';
import { labelOf, type Endpoint } from '../endpoint.ts';
import type { Link } from '../link.ts';

export interface Means {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

/** One host of AMQP_URL, asked by itself. */
export interface Host {
  readonly endpoint: Endpoint;
  /** undefined: not connected. */
  readonly link: Link | undefined;
  /** The first thing that went wrong, in one line. */
  readonly trouble: string | undefined;
  close(): Promise<void>;
}

const CONNECT_WALL_MS = 6_000;

/** Connects once; resolves either way. */
export async function visit(endpoint: Endpoint, means: Means): Promise<Host> {
  const connection = new BrokerConnection({ ...means, role: 'doctor', endpoints: [endpoint] });
  const giveUp = new AbortController();
  const wall = means.clock.setTimer(CONNECT_WALL_MS, () => {
    giveUp.abort();
  });
  let trouble: string | undefined;
  connection.availability.onChange(() => {
    trouble ??= connection.link === undefined ? connection.unavailableBecause() : undefined;
    if (trouble !== undefined) giveUp.abort();
  });
  connection.start();
  const link = await connection.whenOpen(giveUp.signal).catch(() => undefined);
  wall.cancel();
  return { endpoint, link, trouble, close: () => connection.close() };
}

/** All hosts down is an error, some of them a warning: the worker goes to the others. */
export function hostFindings(hosts: readonly Host[]): readonly Finding[] {
  const { ok, warning, error, unreachable } = findingsOf('broker.host');
  const isOneUp = hosts.some(({ link }) => link !== undefined);
  return hosts.map(({ endpoint, link, trouble }) => {
    const label = labelOf(endpoint);
    if (link !== undefined) return ok(`${label} answers: ${link.broker.product} ${link.broker.version}`);
    const what = trouble ?? `${label} did not answer within ${CONNECT_WALL_MS} ms`;
    if (isOneUp) return warning(what, 'bring it back, or take it out of AMQP_URL');
    return isRefusal(what)
      ? error(what, REMEDY_LOGIN)
      : unreachable(what, 'bring it back, or correct AMQP_URL');
  });
}

/** It answered, and said no. */
function isRefusal(trouble: string): boolean {
  return /ACCESS.REFUSED|NOT.ALLOWED|CERT|certificate/i.test(trouble);
}

const REMEDY_LOGIN =
  'check user, password and vhost in AMQP_URL: `rabbitmqctl authenticate_user USER`, ' +
  '`rabbitmqctl list_permissions --vhost VHOST`; for TLS the CA';

/** What can be seen of a connection itself. */
export function connectionFindings(link: Link, messageTimeoutMs: number): readonly Finding[] {
  return [
    versionFinding(link),
    heartbeatFinding(link.heartbeatSeconds, messageTimeoutMs),
    frameFinding(link),
  ];
}

function versionFinding({ broker }: Link): Finding {
  const { ok, warning } = findingsOf('broker.version');
  if (broker.concern !== undefined) return warning(broker.concern, 'use RabbitMQ 3.10 or newer');
  const limit = broker.defaultDeliveryLimit;
  const returns =
    limit === undefined
      ? 'quorum queues without a delivery limit keep messages for ever'
      : `quorum queues without a delivery limit drop messages after ${limit} deliveries`;
  return ok(`${broker.product} ${broker.version}: ${returns}`);
}

function heartbeatFinding(seconds: number, messageTimeoutMs: number): Finding {
  const { ok, warning } = findingsOf('broker.heartbeat');
  const remedy = 'set ?heartbeat=10 in AMQP_URL';
  if (seconds === 0) return warning('there is no heartbeat: a dead peer is never noticed', remedy);
  // A peer is given up after two beats.
  const text = `a dead peer is noticed within ${seconds * 2} s`;
  return seconds * 2_000 > messageTimeoutMs
    ? warning(`${text}, later than the message timeout`, remedy)
    : ok(text);
}

/** A header block of a parked copy has to fit into one frame; see parking-lot.ts for what happens otherwise. */
const LARGEST_HEADERS_BYTES = 65_536;

function frameFinding({ broker, frameMaxBytes }: Link): Finding {
  const { ok, warning } = findingsOf('broker.frame-max');
  const text = `frames hold up to ${frameMaxBytes} bytes`;
  if (frameMaxBytes >= LARGEST_HEADERS_BYTES) return ok(text);
  const what = `${text}: copies of messages with large headers go without these`;
  return warning(what, `set frame_max = 131072 (at least ${broker.smallestFrameMaxBytes})`);
}
