/** Parked messages become rows, by the bolt that does so in every worker, a moment after they were parked. */
import type { ConsumeMessage } from 'amqplib';

import { readParkedMessage } from '../../src/adapters/rabbitmq/parked-messages.ts';
import { redactedBody } from '../../src/adapters/rabbitmq/redaction.ts';
import { RecordParkedOrder } from '../../src/bolts/record-parked-order.ts';
import { admit } from '../../src/domain/admission.ts';
import type { BrokerMessage } from './broker.ts';
import { START_WALL_MS } from './machine.ts';
import { silent } from '../support/silent-log.ts';
import type { RunParts } from './run-parts.ts';
import { ADMISSION_RULES } from './worker.ts';

const RECORDED_AFTER_MS = 5;

export function recorderOf(run: RunParts): (message: BrokerMessage) => void {
  const bolt = new RecordParkedOrder({
    records: { record: (record) => Promise.resolve(run.database.parked.record(record)) },
    unsealed: { keep: () => Promise.reject(new Error('bug: bodies of simulations are sealed')) },
    book: {
      availability: { name: 'none', unavailableBecause: () => undefined, onChange: () => () => undefined },
      apply: () => Promise.reject(new Error('bug: in simulations only workers park')),
    },
    admit: (body) => admit(body, ADMISSION_RULES),
    open: (admission) => Promise.resolve(admission),
    seal: (body) => Promise.resolve(sealed(body)),
    copyBody: (body) => Promise.resolve(body),
    redact: redactedBody,
    log: silent,
  });
  return (message) => {
    run.time.after(RECORDED_AFTER_MS, () => {
      const parked = readParkedMessage(asDelivered(message), START_WALL_MS + run.time.nowMs);
      bolt.execute({ values: { parked } } as Parameters<typeof bolt.execute>[0]).catch((error: unknown) => {
        run.violated('bug', `a parked message is not recorded: ${String(error)}`);
      });
    });
  };
}

/** Stands in for a JWE: what matters here is that it comes back as it was. */
function sealed(body: Uint8Array): string {
  return Buffer.from(body).toString('base64url');
}

export function unsealed(text: string): Promise<Uint8Array> {
  return Promise.resolve(Buffer.from(text, 'base64url'));
}

function asDelivered({ content, exchange, properties, routingKey }: BrokerMessage): ConsumeMessage {
  const fields = { consumerTag: 'c', deliveryTag: 1, redelivered: false, exchange, routingKey };
  return { content, fields, properties } as unknown as ConsumeMessage;
}
