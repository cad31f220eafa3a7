/**
 * A connection to the simulated broker behind amqplib's interface, both its ends: what a worker's process sees of it.
 * Frames keep their order and are lost with it; a forced close says nothing on `error`.
 */
import { EventEmitter } from 'node:events';

import { IllegalOperationError, type ChannelModel } from 'amqplib';

import type { ServerProperties } from '../../src/adapters/rabbitmq/broker-version.ts';
import type { Dial } from '../../src/adapters/rabbitmq/connection.ts';
import { SimulatedChannel, type AmqpWatch, type ChannelCarrier } from './amqp-channel.ts';
import type { SimulatedBroker } from './broker.ts';
import type { SimulatedProcess } from './machine.ts';
import { inWords, latencyMs, type World } from './network.ts';

/** How long heartbeats take to notice that a machine is gone. */
const HEARTBEATS_MS = 20_000;

export function dialFor(
  world: World,
  broker: SimulatedBroker,
  process: SimulatedProcess,
  watch: AmqpWatch,
): Dial {
  const { time, random, faults, trace } = world;
  return (_endpoint, role, signal) =>
    new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      const fault = faults.at('broker.dial');
      trace.note(time.nowMs, process.name, () => `broker.dial ${role}${inWords(fault)}`);
      if (fault?.kind === 'no-answer') return;
      if (fault?.kind === 'kill-before') {
        time.quietlyAfter(0, () => {
          world.kill(process);
        });
        return;
      }
      time.after(latencyMs(random), () => {
        process.enter(() => {
          if (signal.aborted || broker.isAway || fault?.kind === 'refused') {
            reject(new Error('connect ECONNREFUSED'));
            return;
          }
          const connection = new SimulatedConnection(world, broker, process, watch, role);
          signal.addEventListener('abort', () => {
            connection.abort();
          });
          resolve(connection as unknown as ChannelModel);
        });
      });
    });
}

class SimulatedConnection extends EventEmitter implements ChannelCarrier {
  readonly connection: { readonly serverProperties: ServerProperties; blocked: boolean };
  readonly world: World;
  readonly broker: SimulatedBroker;
  readonly process: SimulatedProcess;
  readonly watch: AmqpWatch;
  readonly #role: string;
  /** By which end they are open. */
  readonly #channelsHere = new Set<SimulatedChannel>();
  readonly #channelsThere = new Set<SimulatedChannel>();
  /** Frames that the broker does not read while it blocks publishing. */
  #held: (() => void)[] | undefined;
  /** The two ends learn of the end of the connection at different times. */
  #isOpenHere = true;
  #isOpenThere = true;
  #thereMs = 0;
  #hereMs = 0;
  #losesWrites = false;

  constructor(
    world: World,
    broker: SimulatedBroker,
    process: SimulatedProcess,
    watch: AmqpWatch,
    role: string,
  ) {
    super();
    this.world = world;
    this.broker = broker;
    this.process = process;
    this.watch = watch;
    this.#role = role;
    const isBlocked = role === 'publish' && broker.isBlocked;
    this.connection = { serverProperties: { product: 'RabbitMQ', version: '3.10.8' }, blocked: isBlocked };
    if (isBlocked) this.#held = [];
    broker.connections.add(this);
    process.onKill(() => {
      world.time.quietlyAfter(process.hasVanished ? HEARTBEATS_MS : 1, () => {
        this.#endThere();
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpenHere;
  }

  /** What is written from now on is lost, like everything behind a lost frame. */
  loseWrites(): void {
    this.#losesWrites = true;
  }

  /** A frame to the broker; it is lost when the connection ends before it arrives. */
  toBroker(lateMs: number, arrived: () => void): void {
    if (this.#losesWrites) return;
    const { time, random } = this.world;
    this.#thereMs = Math.max(this.#thereMs, time.nowMs + latencyMs(random) + lateMs);
    time.lateAfter(this.#thereMs - time.nowMs, () => {
      if (!this.#isOpenThere) return;
      if (this.#held === undefined) arrived();
      else this.#held.push(arrived);
    });
  }

  /** A frame to the process; those before it come first. */
  toProcess(lateMs: number, arrived: () => void): void {
    if (!this.#isOpenThere) return;
    const { time, random } = this.world;
    this.#hereMs = Math.max(this.#hereMs, time.nowMs + latencyMs(random) + lateMs);
    this.process.later(this.#hereMs - time.nowMs, () => {
      if (this.#isOpenHere) arrived();
    });
  }

  /** Both ends break: the broker knows at once, the process a little later. */
  cut(because: string): void {
    if (!this.#isOpenThere) return;
    this.#endThere();
    this.process.later(latencyMs(this.world.random), () => {
      this.endHere(new Error(because));
    });
  }

  /** The process destroys its socket. */
  abort(): void {
    if (!this.#isOpenHere) return;
    this.world.time.quietlyAfter(latencyMs(this.world.random), () => {
      this.#endThere();
    });
    this.endHere(new Error('aborted'));
  }

  endHere(error?: Error): void {
    if (!this.#isOpenHere) return;
    this.#isOpenHere = false;
    for (const channel of this.#channelsHere) channel.endHere();
    this.emit('close', error);
  }

  setBlocked(isBlocked: boolean): void {
    if (this.#role !== 'publish') return;
    if (!isBlocked) {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const arrived of held) arrived();
    } else this.#held ??= [];
    this.process.later(latencyMs(this.world.random), () => {
      if (!this.#isOpenHere) return;
      this.connection.blocked = isBlocked;
      this.emit(isBlocked ? 'blocked' : 'unblocked', 'low on memory');
    });
  }

  createChannel(): Promise<SimulatedChannel> {
    const channel = new SimulatedChannel(this);
    if (!this.#isOpenHere) return Promise.reject(new IllegalOperationError('Connection closed'));
    this.#channelsHere.add(channel);
    this.#channelsThere.add(channel);
    return channel.open();
  }

  createConfirmChannel(): Promise<SimulatedChannel> {
    return this.createChannel();
  }

  close(): Promise<void> {
    if (!this.#isOpenHere) return Promise.reject(new IllegalOperationError('Connection closed'));
    return new Promise((resolve) => {
      this.toBroker(0, () => {
        this.toProcess(0, () => {
          this.endHere();
          resolve();
        });
        this.#endThere();
      });
    });
  }

  endedHere(channel: SimulatedChannel): void {
    this.#channelsHere.delete(channel);
  }

  endedThere(channel: SimulatedChannel): void {
    this.#channelsThere.delete(channel);
  }

  #endThere(): void {
    this.#isOpenThere = false;
    this.broker.connections.delete(this);
    for (const channel of this.#channelsThere) channel.endThere();
  }
}
