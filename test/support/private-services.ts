/** Typed doors to scripts/services, which run before anything is built and are therefore no TypeScript. */
export interface Kept {
  readonly pid: number;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** See scripts/services/keeper.mjs: whatever it started ends when this process does, however that happens. */
export interface Keeper {
  spawn(request: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly cwd: string;
    /** Appended to. */
    readonly logFile: string;
    readonly stopSignals: readonly NodeJS.Signals[];
  }): Promise<Kept>;
  stop(): Promise<void>;
}

export interface RabbitmqPrograms {
  readonly server: string;
  readonly ctl: string;
  readonly epmd: string;
}

export type NodeEnvironment = Readonly<Record<string, string>>;

interface RabbitmqScript {
  startEpmd: (options: {
    keeper: Keeper;
    binaries: RabbitmqPrograms;
    directory: string;
    epmdPort: number;
  }) => Promise<Kept>;
  startNode: (options: {
    keeper: Keeper;
    binaries: RabbitmqPrograms;
    env: NodeEnvironment;
    logFile: string;
  }) => Promise<Kept>;
  nodeEnvironment: (options: {
    home: string;
    nodeName: string;
    amqpPort: number;
    distributionPort: number;
    epmdPort: number;
    /** More lines of rabbitmq.conf. */
    settings: readonly string[];
  }) => NodeEnvironment;
}

export const { startKeeper } = (await load('services/keeper.mjs')) as { startKeeper: () => Keeper };
export const { findRabbitmq } = (await load('services/find-binaries.mjs')) as {
  findRabbitmq: () => RabbitmqPrograms | undefined;
};
export const { findPostgres } = (await load('services/find-binaries.mjs')) as {
  /** The folder of its programs. */
  findPostgres: () => string | undefined;
};
export const { preparePostgres } = (await load('services/postgres.mjs')) as {
  preparePostgres: (options: {
    keeper: Keeper;
    binaries: string;
    directory: string;
    port: number;
    fsync: boolean;
  }) => Promise<{ readonly url: string; readonly start: () => Promise<Kept> }>;
};
export const { freePorts } = (await load('services/free-ports.mjs')) as {
  freePorts: (count: number) => Promise<number[]>;
};
export const { startEpmd, startNode, nodeEnvironment } = (await load(
  'services/rabbitmq.mjs',
)) as RabbitmqScript;
export const { speaksAmqp } = (await load('services/ready.mjs')) as {
  speaksAmqp: (port: number) => Promise<boolean>;
};
/** A new directory for private services, removed by the keeper in the end. */
export const { makeDirectory } = (await load('services.mjs')) as {
  makeDirectory: (keeper: Keeper) => string;
};

function load(name: string): Promise<unknown> {
  return import(new URL(`../../../scripts/${name}`, import.meta.url).href);
}
