import { setTimeout as sleep } from 'node:timers/promises';
import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import { Publisher } from '../../src/adapters/rabbitmq/publisher.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { systemClock, systemRandom } from '../../src/topology/system-clock.ts';
import { silent } from './silent-log.ts';

/** How a publish ended: `confirmed`, or the class of its refusal (see publisher.ts). */
export interface PublishAttempt {
  readonly messageId: string;
  readonly outcome: string;
}

/** An upstream that never gives up: over any of several nodes, again and again until the broker has confirmed. */
export interface SteadyPublisher {
  /** Resolves when the broker has confirmed the message and a queue has taken it. */
  publish(message: { readonly body: Uint8Array; readonly messageId: string }): Promise<void>;
  close(): Promise<void>;
}

const PAUSE_MS = 200;
const DEADLINE_MS = 3_000;

export function openSteadyPublisher(options: {
  readonly urls: string;
  readonly queue: string;
  readonly onAttempt?: (attempt: PublishAttempt) => void;
}): SteadyPublisher {
  const { queue, onAttempt } = options;
  const means = { clock: systemClock, random: systemRandom(), log: silent };
  const connection = new BrokerConnection({
    ...means,
    role: 'publish',
    endpoints: parseAmqpUrls(options.urls),
  });
  const publisher = new Publisher({
    ...means,
    name: 'orders',
    connection,
    deadlineMs: DEADLINE_MS,
    prepare: () => Promise.resolve(),
  });
  connection.start();
  publisher.start();
  let isClosed = false;

  return {
    async publish({ body, messageId }) {
      const publication = { exchange: '', routingKey: queue, body, properties: { messageId } };
      while (!isClosed) {
        try {
          await publisher.publish(publication);
          onAttempt?.({ messageId, outcome: 'confirmed' });
          return;
        } catch (error) {
          if (!(error instanceof RetriableError)) throw error;
          onAttempt?.({ messageId, outcome: error.errorClass });
          await sleep(PAUSE_MS);
        }
      }
      throw new Error(`message ${messageId} was never confirmed`);
    },
    async close() {
      isClosed = true;
      await publisher.close();
      await connection.close();
    },
  };
}
