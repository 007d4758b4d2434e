/**
 * Who may import what, as docs/architecture.md says it. Data, so that a change to the architecture is a change of this file:
 * tools/generate-architecture.ts draws it.
 *
 * `what` lists patterns of what a file may name: a path from the root of the project (`machines/model/types.ts`), a package with its subpath
 * (`npm:xstate/graph`), or a module of Node (`node:fs`). Of the rules the first whose `files` match a file is the one that holds for it.
 */
export interface ImportRule {
  readonly files: RegExp;
  readonly name: string;
  readonly what: readonly RegExp[];
  /** Exceptions from `what`. */
  readonly never?: readonly RegExp[];
  /** Why, and what an author who needs the import can do instead. */
  readonly instead: string;
}

/** Libraries without I/O, clock or state that decisions may use. A new one is added here after a look at its source. */
export const PURE_LIBRARIES: readonly string[] = ['ipaddr.js'];

/** What each adapter is an adapter for. An adapter without an entry uses Node alone. */
export const SDKS: Readonly<Record<string, readonly string[]>> = {
  // Certificates, and the polyfill that their library wants.
  admission: ['@peculiar/x509', 'reflect-metadata'],
  // With the pages that show its queues.
  bullmq: ['bullmq', 'ioredis', '@bull-board/api', '@bull-board/fastify', 'fastify'],
  cli: ['commander'],
  cloudflare: ['undici'],
  digitalocean: ['digitalocean-js', 'axios'],
  inspector: ['@statelyai/inspect', 'fastify', '@fastify/websocket'],
  http: ['ipaddr.js'],
  kubernetes: ['@kubernetes/client-node', 'undici', 'yaml'],
  redis: ['ioredis'],
  telemetry: [
    'pino',
    'prom-client',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ],
};

/** The adapters that speak to somebody over HTTP: what one request is, and by which proxy it goes, is the same for all of them, and stands in adapters/http/. */
const OVER_HTTP: readonly string[] = ['cloudflare', 'digitalocean', 'kubernetes'];

/** The adapters that listen on an address: what a stranger may do to a server is the same for all of them, and stands in adapters/listener/. */
const LISTENING: readonly string[] = ['admission', 'dashboard', 'inspector', 'journal', 'telemetry'];

const packages = (names: readonly string[]): RegExp[] => names.map((name) => new RegExp(`^npm:${RegExp.escape(name)}(/|$)`));
const OWN_MAIN = /^main\.ts$/;
const COMPOSITION = /^composition\//;

const adapter = (folder: string): ImportRule => ({
  name: `adapters/${folder}`,
  files: new RegExp(`^adapters/${RegExp.escape(folder)}/`),
  what: [
    new RegExp(`^adapters/${RegExp.escape(folder)}/`),
    /^node:/,
    ...packages(SDKS[folder] ?? []),
    ...(OVER_HTTP.includes(folder) ? [/^adapters\/http\//] : []),
    ...(LISTENING.includes(folder) ? [/^adapters\/listener\//] : []),
    /^actors\/ports\//,
    /^machines\/(events|jobs)\.ts$/,
    /^machines\/model\/(types|actor-id|address|port|service-ref|provider-key|visible|selector|matching)\.ts$/,
    /^machines\/(vip\/(objects|virtualip)|migration\/admission|spec\/limits|status\/inventory)\.ts$/,
    /^crds\/generated\//,
  ],
  instead:
    'An adapter knows its own system and the ports, so that it can be replaced alone. Ask for what is missing through a port in actors/ports/ ' +
    'and let main.ts pass it in; a value that both sides need belongs into machines/model/types.ts. A package is added to SDKS here when it is this system’s own client, ' +
    'a provider whose API is called over HTTP to OVER_HTTP, and what listens to LISTENING.',
});

const FIXED: readonly ImportRule[] = [
  {
    name: 'machines/*.machine.ts',
    files: /^machines\/.*\.machine\.ts$/,
    what: [/^npm:xstate(\/|$)/, /^machines\//],
    instead:
      'A chart is a pure value. Declare a job in machines/jobs.ts and write its body in actors/jobs/; let the outside reach the chart as an event; ' +
      'move what is computed into a decision beside it.',
  },
  {
    name: 'machines/* decisions and types',
    files: /^machines\//,
    what: [/^machines\//, ...packages(PURE_LIBRARIES)],
    never: [/\.machine\.ts$/],
    instead:
      'A decision outlives the engine: it takes everything as arguments, time too as a number. Pass the value in, move the code to actors/ or an adapter, ' +
      'or add a library to PURE_LIBRARIES here when it is pure.',
  },
  {
    name: 'actors/*',
    files: /^actors\//,
    what: [/^npm:xstate(\/|$)/, /^machines\//, /^actors\//],
    instead: 'The runtime knows ports, not products. Put the need into actors/ports/, write it in an adapter, and let main.ts pass it in.',
  },
  {
    name: 'plugin/*',
    files: /^plugin\//,
    what: [/^plugin\//, /^machines\//, /^actors\//, /^adapters\/memory\//, /^crds\/generated\//, /^npm:(commander|yaml)$/],
    instead:
      'A command of the plugin reads the cluster through plugin/ports.ts and decides with machines/, so that it can be shown in memory. ' +
      'Let composition/kubectl-routedip.ts pass in what needs an adapter or Node.',
  },
  {
    name: 'crds/generated',
    files: /^crds\/generated\//,
    what: [/^crds\/generated\//],
    instead: 'These types come from the YAML alone: change tools/generate-types.ts.',
  },
  {
    name: 'simulator/*',
    files: /^simulator\//,
    what: [/^simulator\//, /^crds\//, /^npm:/, /^node:/],
    instead:
      'The simulator stands for the outside world. What it shares with the operator it would also get wrong together with it: write it again here.',
  },
  {
    name: 'dashboard/*',
    files: /^dashboard\//,
    what: [/^dashboard\//],
    instead: 'The page is served to browsers: it gets JSON over HTTP. Serve what it needs from the adapter that serves the page.',
  },
  {
    name: 'demo/*',
    files: /^demo\//,
    what: [/^demo\//, /^simulator\//, /^tools\/free-ports\.mjs$/, /^npm:/, /^node:/],
    instead: 'The demo shows the operator as users run it, as a process. Start main.ts and look at what it does from outside.',
  },
  {
    name: 'the diagram generator',
    files: /^tools\/generate-(diagram|states)[^/]*\.ts$/,
    what: [/^tools\//, /^machines\//, /^npm:/, /^node:/],
    instead: 'It draws the charts: it needs them and xstate, nothing of what runs them.',
  },
  {
    name: 'the generator of the architecture',
    files: /^tools\/generate-architecture\.ts$/,
    what: [/^tools\//, /^node:/, /^test\/support\/import-table\.ts$/],
    instead: 'It draws this table: it needs that, and nothing of what the table is about.',
  },
  {
    name: 'deploy/chart/files/*',
    files: /^deploy\/chart\/files\//,
    what: [/^node:/],
    instead: 'It runs in a Pod by itself, from the text in its manifest: there is nothing beside it.',
  },
  {
    name: 'tools/*',
    files: /^tools\//,
    what: [/^tools\//, /^simulator\//, /^crds\//, /^npm:/, /^node:/],
    never: packages(['xstate']),
    instead: 'Tools build and check the project. What runs the operator goes through main.ts, as a process.',
  },
  {
    name: 'bin/*',
    files: /^bin\//,
    what: [/^node:/, /^a computed name$/],
    instead: 'It must start under any Node to say which one is needed: it loads the operator by a computed path.',
  },
  {
    name: 'main.ts, composition/*',
    files: /^(main\.ts$|composition\/)/,
    what: [/./],
    never: [OWN_MAIN],
    instead: 'main.ts is run, not imported. What its parts need of it, it passes to them.',
  },
  {
    name: 'test/*, bench/*',
    files: /^(test\/|bench\/|[^/]+\.config\.ts$)/,
    what: [/./],
    never: [OWN_MAIN, COMPOSITION],
    instead:
      'main.ts is run, not imported, and composition/ is a part of it: start the operator as a process, or put adapters together as the test needs them.',
  },
];

/** @param path from the root of the project, with forward slashes */
export const ruleFor = (path: string): ImportRule | null => {
  const folder = /^adapters\/([^/]+)\//.exec(path)?.[1];
  return folder === undefined ? (FIXED.find(({ files }) => files.test(path)) ?? null) : adapter(folder);
};

/** The rooms of a folder, each with those that it may import; what stands beside them (`.`) brings them together. */
export type Rooms = Readonly<Record<string, readonly string[]>>;

export const ROOMS: Readonly<Record<string, Rooms>> = {
  machines: {
    model: [],
    policy: ['model'],
    spec: ['model', 'policy'],
    firewall: ['model', '.'],
    dns: ['model', 'spec', '.'],
    vip: ['model', '.'],
    migration: ['model', 'vip', '.'],
    verification: ['model', '.'],
    address: ['model', 'firewall', '.'],
    pool: ['model', 'policy', 'spec', 'firewall', 'dns', 'vip', 'address', '.'],
    status: ['model', 'policy', 'spec', 'firewall', 'dns', 'vip', 'migration', 'address', 'pool', '.'],
    '.': ['model', 'spec', 'vip', 'migration', 'pool'],
  },
  actors: {
    ports: [],
    runtime: ['ports'],
    controllers: ['ports', 'runtime'],
    jobs: ['ports', 'runtime'],
    status: ['ports', 'runtime', 'controllers'],
    vip: ['ports', 'runtime', 'controllers', 'status'],
    leadership: ['ports', 'runtime', 'controllers', 'status', 'vip'],
    '.': ['ports', 'runtime', 'controllers', 'jobs', 'status', 'vip', 'leadership'],
  },
  'adapters/kubernetes': {
    client: [],
    cache: ['client'],
    source: ['client', 'cache'],
    writer: ['client', 'cache', 'source'],
    election: ['client'],
    jobs: ['client', 'cache'],
  },
};
