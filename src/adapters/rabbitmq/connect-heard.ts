/**
 * `connect` of amqplib 2.3, but somebody listens from the first frame on.
 *
 * amqplib hands a connection out after it has read everything that came with `connection.open-ok`. When the broker
 * closes the connection in that very packet (541, while it stops or a vhost of it fails), the connection emits an
 * `error` that nobody can hear yet, so that Node throws it out of a socket listener and the process dies. Therefore
 * the connection is built here, of amqplib's own parts, and is heard before it is opened.
 *
 * These parts are not exported, so they are loaded by path; `connection-broker.test.ts` fails when an update of
 * amqplib changes them.
 */
import { createRequire } from 'node:module';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { connect as connectTls } from 'node:tls';

import type { ChannelModel, Options, SocketOptions } from 'amqplib';

/** amqplib's Connection, as far as it is used here. */
interface RawConnection {
  on(event: 'error' | 'close', listener: (error?: Error) => void): void;
  open(fields: Readonly<Record<string, unknown>>, opened: (error: Error | null) => void): void;
}

const requireByPath = createRequire(import.meta.url);
const libFolder = join(dirname(requireByPath.resolve('amqplib')), 'lib');
const { Connection } = requireByPath(join(libFolder, 'connection.js')) as {
  Connection: new (socket: Socket) => RawConnection;
};
const { ChannelModel: Model } = requireByPath(join(libFolder, 'channel_model.js')) as {
  ChannelModel: new (connection: RawConnection) => ChannelModel;
};

/** Takes what `connect` of amqplib takes, as objects. Rejects when it cannot be opened, or was closed by then. */
export function connectHeard(options: Options.Connect, socketOptions: SocketOptions): Promise<ChannelModel> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(options, socketOptions, () => {
      socket.setNoDelay(true);
      writeTogether(socket);
      const connection = new Connection(socket);
      let end: Error | undefined;
      const onEnd = (error?: Error) => {
        end ??= error ?? new Error('the broker closed the connection at once');
      };
      connection.on('error', onEnd);
      connection.on('close', onEnd);
      connection.open(openingFields(options, socketOptions), (error) => {
        const refusal = error ?? end;
        if (refusal === undefined) {
          resolve(new Model(connection));
          return;
        }
        // A broker that refuses a login leaves the socket open.
        socket.destroy();
        reject(refusal);
      });
    });
    socket.once('error', reject);
  });
}

function openSocket(options: Options.Connect, socketOptions: SocketOptions, onConnect: () => void): Socket {
  const { hostname: host = '', port = 5672 } = options;
  if (options.protocol !== 'amqps') return connectTcp({ ...socketOptions, host, port }, onConnect);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ ...servername, ...socketOptions, host, port }, onConnect);
}

/**
 * amqplib writes one frame at a time, and each write is a system call of its own. What is written in one turn of the
 * event loop leaves together, at its end.
 */
function writeTogether(socket: Socket): void {
  const write = socket.write.bind(socket);
  let isFlushDue = false;
  const flush = () => {
    isFlushDue = false;
    socket.uncork();
  };
  socket.write = (chunk: Uint8Array) => {
    if (!isFlushDue) {
      isFlushDue = true;
      socket.cork();
      process.nextTick(flush);
    }
    return write(chunk);
  };
}

/** What the client says in start-ok, tune-ok and open. */
function openingFields(options: Options.Connect, socketOptions: SocketOptions): Record<string, unknown> {
  const { clientProperties, credentials } = socketOptions;
  return {
    clientProperties: { ...CLIENT_PROPERTIES, ...clientProperties },
    mechanism: credentials?.mechanism,
    response: credentials?.response(),
    locale: 'en_US',
    channelMax: 0,
    frameMax: FRAME_MAX_BYTES,
    heartbeat: options.heartbeat,
    virtualHost: decodeURIComponent(options.vhost ?? '%2F'),
    capabilities: '',
    insist: 0,
  };
}

const FRAME_MAX_BYTES = 131_072;
const CLIENT_PROPERTIES = {
  product: 'amqplib',
  platform: `Node.js ${process.version}`,
  capabilities: {
    publisher_confirms: true,
    exchange_exchange_bindings: true,
    'basic.nack': true,
    consumer_cancel_notify: true,
    'connection.blocked': true,
    authentication_failure_close: true,
  },
};
