/**
 * One supervised connection to the broker, for consuming or for publishing: under a memory alarm acks freeze on a
 * connection that also publishes, so the two are never shared.
 *
 * - Every attempt goes through all endpoints, shuffled, before it counts as failed; each has a connect deadline,
 *   which covers name lookup, TCP, TLS and the AMQP handshake. Waiting between attempts is KeepOpen's.
 * - amqplib's own `recovery` is not used: it crashes or sticks when the link dies during setup.
 * - `epoch` counts openings; whoever holds something of an older link must not use it on a newer one.
 * - `close` says goodbye within a deadline, then destroys the socket.
 */
import type { ChannelModel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { nextBelow, type RandomSource } from '../../topology/random.ts';
import { connectHeard } from './connect-heard.ts';
import { withDeadline } from './deadline.ts';
import { connectOptions, labelOf, type Endpoint } from './endpoint.ts';
import { KeepOpen, type OpenEvent } from './keep-open.ts';
import { openedLink, type Link } from './link.ts';
import { ReportedAvailability } from './reported-availability.ts';

export interface ConnectionOptions {
  readonly role: 'consume' | 'publish' | 'record' | 'doctor';
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly connectTimeoutMs?: number;
  /** Opens one connection; aborting `signal` destroys its socket, before and after it is open. */
  readonly dial?: Dial | undefined;
}

export type Dial = (endpoint: Endpoint, role: string, signal: AbortSignal) => Promise<ChannelModel>;

const CONNECT_TIMEOUT_MS = 5_000;

export class BrokerConnection {
  readonly availability: ReportedAvailability;
  readonly #options: ConnectionOptions;
  readonly #keeper: KeepOpen<Link>;
  readonly #openWaiters = new Set<() => void>();
  readonly #blockedListeners = new Set<() => void>();
  #epoch = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#keeper = new KeepOpen({
      open: (signal) => this.#openAny(signal),
      onChange: (event) => {
        this.#changed(event);
      },
      clock: options.clock,
      random: options.random,
    });
    this.availability = new ReportedAvailability(`broker (${options.role})`, () => this.unavailableBecause());
  }

  start(): void {
    this.#keeper.start();
  }

  /** The open link, if there is one. */
  get link(): Link | undefined {
    const link = this.#keeper.current;
    return link?.isOpen() === true ? link : undefined;
  }

  unavailableBecause(): string | undefined {
    return this.#keeper.trouble ?? this.link?.blockedBecause();
  }

  /** Waits as long as it takes; rejects when `signal` is aborted. */
  async whenOpen(signal: AbortSignal): Promise<Link> {
    for (;;) {
      signal.throwIfAborted();
      const link = this.link;
      if (link !== undefined) return link;
      await this.#nextOpening(signal);
    }
  }

  /** Calls `listener` after the broker blocked or unblocked publishing. */
  onBlockedChange(listener: () => void): () => void {
    this.#blockedListeners.add(listener);
    return () => {
      this.#blockedListeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    await this.#keeper.close();
    await this.#keeper.over();
  }

  async #openAny(signal: AbortSignal): Promise<Link> {
    let lastFailure: unknown;
    for (const endpoint of shuffled(this.#options.endpoints, this.#options.random)) {
      signal.throwIfAborted();
      try {
        return await this.#openOne(endpoint, signal);
      } catch (error) {
        const because = error instanceof Error ? error.message : String(error);
        lastFailure = new Error(`cannot connect to RabbitMQ at ${labelOf(endpoint)}: ${because}`);
      }
    }
    throw lastFailure;
  }

  async #openOne(endpoint: Endpoint, signal: AbortSignal): Promise<Link> {
    const { clock, role, dial = dialBroker, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    const socket = new AbortController();
    const destroy = () => {
      socket.abort();
    };
    signal.addEventListener('abort', destroy, { once: true });
    try {
      const dialled = dial(endpoint, role, socket.signal);
      const model = await withDeadline(clock, connectTimeoutMs, 'connecting', dialled);
      return this.#adopt(model, endpoint, destroy);
    } catch (error) {
      destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', destroy);
    }
  }

  #adopt(model: ChannelModel, endpoint: Endpoint, destroy: () => void): Link {
    const { clock, log, role } = this.#options;
    const label = labelOf(endpoint);
    this.#epoch += 1;
    const epoch = this.#epoch;
    const onBlockedChange = () => {
      this.#blockedChanged();
    };
    const link = openedLink(model, { epoch, label, clock, log, destroy, onBlockedChange });
    const { product, version: brokerVersion, concern } = link.broker;
    log.info({ broker: label, role, brokerVersion, epoch }, `connected to ${product} ${brokerVersion}`);
    if (concern !== undefined) log.warn({ broker: label, brokerVersion }, concern);
    return link;
  }

  #nextOpening(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#openWaiters.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#openWaiters.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #changed(event: OpenEvent): void {
    if (event.kind === 'opened') {
      for (const wake of [...this.#openWaiters]) wake();
    } else if (event.kind !== 'closed') {
      const { kind, ...fields } = event;
      this.#options.log.warn({ role: this.#options.role, ...fields }, `RabbitMQ connection ${kind}`);
    }
    this.availability.review();
  }

  #blockedChanged(): void {
    this.availability.review();
    for (const listener of this.#blockedListeners) listener();
  }
}

async function dialBroker(endpoint: Endpoint, role: string, signal: AbortSignal): Promise<ChannelModel> {
  const { options, socket } = connectOptions(endpoint);
  // node:net and node:tls both take a signal; amqplib hands its socket options over to them.
  const socketOptions = { ...socket, signal, clientProperties: { connection_name: `cardauth ${role}` } };
  return connectHeard(options, socketOptions);
}

function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = nextBelow(random, last + 1);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
