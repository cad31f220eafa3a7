import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { amqpFrames, type AmqpFrame } from './amqp-frames.ts';
import { ProxyFlow, type Policy, type Unit, type Verdict } from './proxy-flow.ts';

/** `toServer` is what the client sends. */
export type Direction = 'toServer' | 'toClient';

export interface Proxy<U extends Unit> {
  /** The target's URL with our host and port in it. */
  readonly url: string;
  readonly connections: { readonly open: number; readonly total: number };
  /** Each unit arrives this much later, in order. */
  setLatency(latencyMs: number): void;
  /** A black hole: nothing is read or written, no connection ends. Both directions unless one is named. */
  freeze(direction?: Direction): void;
  thaw(direction?: Direction): void;
  /**
   * Asks `judge` about each unit before it is written:
   * - `pass`: goes on;
   * - `hold`: waits, with all that follows in its direction of its connection, for `release()`;
   * - `drop`: is lost, what follows goes on;
   * - `cut`: it and both directions of its connection are lost, by reset.
   */
  rule(direction: Direction, judge: (unit: U) => Verdict): void;
  /** Resolves when something is being held. */
  held(): Promise<void>;
  /** What is held passes, and what follows it is judged again. */
  release(): void;
  /** Writes bytes that nobody sent to the end of `direction` of all connections, between two units. */
  inject(direction: Direction, bytes: Buffer): void;
  /** Resets all connections (RST, not FIN), but for directions that were ended; what was held or frozen is lost. */
  cut(): void;
  /** Sends FIN in one direction of all connections and leaves the other open. */
  halfClose(direction: Direction): void;
  /** New connections are refused; those that are open stay. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Cuts and refuses, for good. */
  close(): Promise<void>;
}

interface ProxyOptions {
  /** URL of the server, e.g. `tcp://127.0.0.1:1234` or an AMQP or PostgreSQL URL. */
  readonly target: string;
}

interface AmqpProxyOptions extends ProxyOptions {
  /** Sees each frame as it is written to the other side, or dropped. Connections are numbered from 1. */
  readonly watch?: FrameWatch;
}

export type FrameWatch = (
  connection: number,
  direction: Direction,
  frame: AmqpFrame,
  verdict: Verdict,
) => void;

/** A TCP proxy on a free port of 127.0.0.1, which judges chunks as they are read from the socket. */
export function startProxy(options: ProxyOptions): Promise<Proxy<Unit>> {
  return startSplittingProxy(options, () => (chunk) => [{ bytes: chunk }]);
}

/** As `startProxy`, and judges each AMQP frame by itself. */
export function startAmqpProxy({ target, watch }: AmqpProxyOptions): Promise<Proxy<AmqpFrame>> {
  return startSplittingProxy({ target }, amqpFrames, watch);
}

interface Connection<U extends Unit> {
  readonly flows: Readonly<Record<Direction, ProxyFlow<U>>>;
  cut(): void;
}

async function startSplittingProxy<U extends Unit>(
  { target }: ProxyOptions,
  splitter: () => (chunk: Buffer) => U[],
  watch?: (connection: number, direction: Direction, unit: U, verdict: Verdict) => void,
): Promise<Proxy<U>> {
  const pass = (): Verdict => 'pass';
  const policies: Record<Direction, Policy<U>> = {
    toServer: { frozen: false, latencyMs: 0, judge: pass },
    toClient: { frozen: false, latencyMs: 0, judge: pass },
  };
  const connections = new Set<Connection<U>>();
  /** Also of connections whose client is gone, and whose server does not let go. */
  const sockets = new Set<Socket>();
  let total = 0;
  let awaitingHold: (() => void)[] = [];

  const server = createServer({ allowHalfOpen: true }, (client) => {
    total += 1;
    const number = total;
    const upstream = connectTo(target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    const connection = join(client, upstream, policies, splitter, {
      onHeld: () => {
        for (const resolve of awaitingHold) resolve();
        awaitingHold = [];
      },
      onJudged: (direction, unit, verdict) => watch?.(number, direction, unit, verdict),
    });
    connections.add(connection);
    client.once('close', () => connections.delete(connection));
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;

  const flows = (): ProxyFlow<U>[] => [...connections].flatMap((one) => Object.values(one.flows));
  const change = (direction: Direction | undefined, change: (policy: Policy<U>) => void): void => {
    const directions: Direction[] = direction === undefined ? ['toServer', 'toClient'] : [direction];
    for (const one of directions) change(policies[one]);
    for (const flow of flows()) flow.pump();
  };
  const proxy: Proxy<U> = {
    url: withPort(target, port),
    get connections() {
      return { open: connections.size, total };
    },
    setLatency: (latencyMs) => {
      change(undefined, (policy) => (policy.latencyMs = latencyMs));
    },
    freeze: (direction) => {
      change(direction, (policy) => (policy.frozen = true));
    },
    thaw: (direction) => {
      change(direction, (policy) => (policy.frozen = false));
    },
    rule: (direction, judge) => {
      policies[direction].judge = judge;
    },
    held: () =>
      new Promise((resolve) => {
        if (flows().some((flow) => flow.isHolding)) resolve();
        else awaitingHold.push(resolve);
      }),
    release: () => {
      for (const flow of flows()) flow.release();
    },
    inject: (direction, bytes) => {
      for (const connection of connections) connection.flows[direction].inject(bytes);
    },
    cut: () => {
      for (const connection of connections) connection.cut();
    },
    halfClose: (direction) => {
      for (const connection of connections) connection.flows[direction].halfClose();
    },
    // Listening ends at once; the "close" event would wait for the open connections.
    refuse: () => {
      server.close();
      return Promise.resolve();
    },
    accept: () => listen(port),
    close: async () => {
      const closed = server.listening ? once(server, 'close') : undefined;
      server.close();
      proxy.cut();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return proxy;
}

function join<U extends Unit>(
  client: Socket,
  upstream: Socket,
  policies: Record<Direction, Policy<U>>,
  splitter: () => (chunk: Buffer) => U[],
  listeners: {
    readonly onHeld: () => void;
    readonly onJudged: (direction: Direction, unit: U, verdict: Verdict) => void;
  },
): Connection<U> {
  const cut = (): void => {
    for (const flow of Object.values(flows)) flow.discard();
    for (const socket of [client, upstream]) letGo(socket);
  };
  const flow = (source: Socket, destination: Socket, direction: Direction): ProxyFlow<U> =>
    new ProxyFlow({
      source,
      destination,
      policy: policies[direction],
      split: splitter(),
      onHeld: listeners.onHeld,
      onCut: cut,
      onJudged: (unit, verdict) => {
        listeners.onJudged(direction, unit, verdict);
      },
    });
  const flows = {
    toServer: flow(client, upstream, 'toServer'),
    toClient: flow(upstream, client, 'toClient'),
  };
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true);
    // Refused, reset or gone on one side: reset on the other.
    socket.on('error', cut);
  }
  return { flows, cut };
}

/**
 * By reset, unless it was ended: a reset while the end is still on its way fails in libuv, after which Node 20 has
 * forgotten the descriptor without closing it, and spins for ever when the process is to exit.
 */
function letGo(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function connectTo(target: string): Socket {
  const { hostname, port, protocol } = new URL(target);
  return connect({ host: hostname, port: Number(port || defaultPorts[protocol]), allowHalfOpen: true });
}

const defaultPorts: Readonly<Record<string, number>> = {
  'amqp:': 5672,
  'postgres:': 5432,
  'postgresql:': 5432,
};

function withPort(target: string, port: number): string {
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
