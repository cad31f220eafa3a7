import { setTimeout as sleep } from 'node:timers/promises';
import type { Channel, ConsumeMessage } from 'amqplib';
import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import { systemClock, systemRandom } from '../../src/topology/system-clock.ts';
import { silent } from './silent-log.ts';

/** A downstream that survives its broker node: it consumes a queue over any of several nodes until it is closed. */
export interface SteadyReceiver {
  close(): Promise<void>;
}

const PREFETCH = 100;
const PAUSE_MS = 200;

/** Each message is acked after `onMessage` has returned; one that it throws on comes again. */
export function openSteadyReceiver(options: {
  readonly urls: string;
  readonly queue: string;
  /** Declares what it consumes; runs on every new channel. */
  readonly prepare: (channel: Channel) => Promise<unknown>;
  readonly onMessage: (message: ConsumeMessage) => void;
}): SteadyReceiver {
  const { urls, queue, prepare, onMessage } = options;
  const means = { clock: systemClock, random: systemRandom(), log: silent };
  const connection = new BrokerConnection({ ...means, role: 'consume', endpoints: parseAmqpUrls(urls) });
  const closing = new AbortController();

  async function consumeOnce(): Promise<void> {
    const link = await connection.whenOpen(closing.signal);
    const opened = await link.openChannel();
    const { channel } = opened;
    try {
      await prepare(channel);
      await channel.prefetch(PREFETCH);
      await channel.consume(queue, (message) => {
        if (message === null) void opened.close();
        else {
          onMessage(message);
          channel.ack(message);
        }
      });
      await opened.ended;
    } finally {
      void opened.close();
    }
  }

  async function consumeAlways(): Promise<void> {
    while (!closing.signal.aborted) {
      await consumeOnce().catch(() => undefined);
      await sleep(PAUSE_MS);
    }
  }

  connection.start();
  const ended = consumeAlways();
  return {
    async close() {
      closing.abort();
      await connection.close();
      await ended;
    },
  };
}
