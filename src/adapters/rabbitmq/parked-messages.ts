/**
 * Reads what lies in the parking lot. Whatever it is, it gets an identity and a reason:
 *
 *     `x-death`               the broker dead-lettered it; headers of ours on it are from before and mean nothing now
 *     `cardauth-park-reason`  a worker parked it, or moved it on
 *     neither                 somebody put it there
 *
 * A worker's copy has its id in a header. The others get one made of what identifies them, so that a message that is
 * delivered again is recognized; two that agree in all of it are one row.
 */
import { createHash } from 'node:crypto';
import type { ConsumeMessage } from 'amqplib';

import type { ParkedClass, ParkedMessage, ReplayProperties } from '../../ports/parked-orders.ts';
import { deathOf, meaningOf, type Death } from './dead-letters.ts';
import { FIRST_SEEN_HEADER, publishersHeaders } from './delivery.ts';
import { LONGEST_ERROR_BYTES, PARK_ID_HEADER, PARK_REASON_HEADER, type ParkFacts } from './park-headers.ts';
import { scrubbedHeaders, scrubbedText } from './redaction.ts';
import { definedOnly } from './retry-copies.ts';

type Headers = Readonly<Record<string, unknown>>;

/** Never throws. `wallMs` stands in for times that the message does not tell. */
export function readParkedMessage(raw: ConsumeMessage, wallMs: number): ParkedMessage {
  const { content, properties } = raw;
  const headers = headersOf(raw);
  return {
    ...parkFactsOf(raw, headers, wallMs),
    messageId: idText(properties.messageId),
    contentType: shortText(properties.contentType),
    properties: replayPropertiesOf(raw, headers),
    body: content,
  };
}

function parkFactsOf(raw: ConsumeMessage, headers: Headers, wallMs: number): ParkFacts {
  const death = deathOf(headers);
  if (death !== undefined) return factsOfDeath(raw, headers, death, wallMs);
  const reason = headers[PARK_REASON_HEADER];
  if (typeof reason === 'string') return factsOfWorker(raw, headers, reason, wallMs);
  return {
    ...factsOfStranger(raw, headers, wallMs),
    reason: 'foreign',
    class: 'foreign',
    error: 'neither a worker nor the broker put it here: look who publishes to the parking lot',
  };
}

function factsOfWorker(raw: ConsumeMessage, headers: Headers, reason: string, wallMs: number): ParkFacts {
  const said = (name: string): unknown => headers[`cardauth-park-${name}`];
  const parkedAtMs = timeOf(said('parked-at'), wallMs) ?? wallMs;
  return {
    parkId: uuidOf(headers[PARK_ID_HEADER]) ?? derivedId(raw, headers),
    reason: /^[a-z_]{1,64}$/.test(reason) ? reason : 'foreign',
    class: classOf(said('class')),
    error: scrubbedText(textOf(said('error')) ?? '', LONGEST_ERROR_BYTES),
    orderId: orderIdOf(said('order-id')),
    attempts: countOf(said('attempts')),
    firstSeenMs: timeOf(said('first-seen'), wallMs) ?? parkedAtMs,
    parkedAtMs,
    origin: {
      queue: shortText(said('origin-queue')) ?? '',
      exchange: shortText(said('origin-exchange')) ?? '',
      routingKey: shortText(said('origin-routing-key')) ?? '',
    },
    workerVersion: shortText(said('worker-version')),
  };
}

function factsOfDeath(raw: ConsumeMessage, headers: Headers, death: Death, wallMs: number): ParkFacts {
  const parkedAtMs = death.atMs ?? wallMs;
  const { queue, exchange, routingKey, reason } = death;
  return {
    ...factsOfStranger(raw, headers, wallMs),
    reason,
    class: 'broker',
    error: meaningOf(death),
    firstSeenMs: timeOf(headers[FIRST_SEEN_HEADER], wallMs) ?? parkedAtMs,
    parkedAtMs,
    origin: { queue: scrubbed(queue), exchange: scrubbed(exchange), routingKey: scrubbed(routingKey) },
  };
}

function factsOfStranger(
  raw: ConsumeMessage,
  headers: Headers,
  wallMs: number,
): Omit<ParkFacts, 'reason' | 'class' | 'error'> {
  return {
    parkId: derivedId(raw, headers),
    orderId: undefined,
    attempts: countOf(headers['cardauth-attempt']),
    firstSeenMs: wallMs,
    parkedAtMs: wallMs,
    origin: {
      queue: '',
      exchange: scrubbed(raw.fields.exchange),
      routingKey: scrubbed(raw.fields.routingKey),
    },
    workerVersion: undefined,
  };
}

/** A version 8 UUID (RFC 9562: custom) from a hash; `x-delivery-count` differs from delivery to delivery. */
function derivedId({ content, properties }: ConsumeMessage, headers: Headers): string {
  const lasting = Object.entries(headers).filter(([name]) => !/^x-(?!death$)/i.test(name));
  const identity = [
    createHash('sha256').update(content).digest('hex'),
    properties.messageId ?? null,
    properties.timestamp ?? null,
    lasting.toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ];
  const hex = createHash('sha256').update(jsonOf(identity)).digest('hex');
  const variant = (Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8;
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant.toString(16)}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Header values may be anything that AMQP knows, 64-bit integers among them. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}

function replayPropertiesOf({ properties }: ConsumeMessage, headers: Headers): ReplayProperties {
  return {
    ...definedOnly({
      correlationId: idText(properties.correlationId),
      contentEncoding: shortText(properties.contentEncoding),
      type: shortText(properties.type),
      appId: shortText(properties.appId),
    }),
    headers: scrubbedHeaders(publishersHeaders(headers)),
  };
}

function headersOf({ properties }: ConsumeMessage): Headers {
  return properties.headers ?? {};
}

const CLASSES: readonly ParkedClass[] = ['input', 'review', 'exhausted', 'broker', 'foreign'];

function classOf(value: unknown): ParkedClass {
  return CLASSES.find((one) => one === value) ?? 'foreign';
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function uuidOf(value: unknown): string | undefined {
  return typeof value === 'string' && UUID.test(value) ? value : undefined;
}

/** The form of an order id (identifiers.ts). */
function orderIdOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value) ? value : undefined;
}

function countOf(value: unknown): number {
  const isCount = Number.isSafeInteger(value) && Number(value) >= 0;
  return isCount ? Math.min(Number(value), 1_000_000) : 0;
}

/** Not before the epoch, and not after a day from now: beyond that a sender's clock is no clock. */
function timeOf(value: unknown, wallMs: number): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return ms >= 0 && ms <= wallMs + 86_400_000 ? ms : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** AMQP's short strings have 255 bytes at the most. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' ? scrubbed(value) : undefined;
}

/** A UUID may look like a card number in places, and is none. */
function idText(value: unknown): string | undefined {
  return uuidOf(value) ?? shortText(value);
}

function scrubbed(text: string): string {
  return scrubbedText(text, 255);
}
