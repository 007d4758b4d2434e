import type { CloudflareSimulator } from '../../simulator/cloudflare/server.ts';
import { end, type Stage } from '../e2e/stage.ts';
import type { Operator } from '../support/operator.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import type { Builds } from './builds.ts';
import type { Sent } from './calls.ts';
import type { ProcessRecord, Unready, Version } from './history.ts';

export const CLOUDFLARE_TOKEN = 'cloudflare-test-token-0123456789';

/** A Lease that a busy machine does not lose, and locks that the job of a process that was killed is soon taken from. */
const FLAGS: readonly string[] = [
  '--lock-duration=8s',
  '--leader-elect-lease-duration=10s',
  '--leader-elect-renew-deadline=8s',
  '--leader-elect-retry-period=500ms',
  '--admission=off',
];
const PROBED_EVERY_MS = 250;
const WRITE = /^((?:POST|PUT|PATCH|DELETE) \S+) HTTP\/1\.1\r$/gm;

export interface Member {
  readonly name: string;
  readonly version: Version;
  readonly operator: Operator;
  leads(): Promise<boolean>;
}

interface Held extends Member {
  wanted: string | null;
  readonly unready: Unready[];
  isReady: boolean;
  probing: NodeJS.Timeout | undefined;
}

/** The processes of a play, each with a way of its own to the providers, so that it is known who called. */
export class Cast {
  readonly #stage: Stage;
  readonly #cloudflare: CloudflareSimulator;
  readonly #builds: Builds;
  readonly #members: Held[] = [];
  readonly #proxies: TcpProxy[] = [];
  readonly sent: Readonly<Record<'digitalocean' | 'cloudflare', Sent[]>> = { digitalocean: [], cloudflare: [] };

  constructor(stage: Stage, cloudflare: CloudflareSimulator, builds: Builds) {
    this.#stage = stage;
    this.#cloudflare = cloudflare;
    this.#builds = builds;
  }

  /** Resolves once it is ready. From then on it is asked again and again. */
  async start(version: Version): Promise<Member> {
    const count = this.#members.filter((member) => member.version === version).length + 1;
    const digitaloceanUrl = await this.#way('digitalocean', this.#stage.cloud.url, version);
    const cloudflareUrl = await this.#way('cloudflare', this.#cloudflare.url, version);
    const operator = await this.#stage.start({
      program: this.#builds.program[version],
      flags: FLAGS,
      digitaloceanUrl,
      env: { CLOUDFLARE_API_URL: cloudflareUrl, CLOUDFLARE_TOKEN },
    });
    const member: Held = {
      name: `${version} ${count}`,
      version,
      operator,
      leads: async () => /^routedip_leader 1$/m.test((await operator.metrics()).text),
      wanted: null,
      unready: [],
      isReady: true,
      probing: undefined,
    };
    this.#members.push(member);
    await operator.ready();
    member.probing = setInterval(() => void this.#probe(member), PROBED_EVERY_MS);
    return member;
  }

  /** Asks it to end, or kills it. Resolves when it has ended. */
  async end(member: Member, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const held = this.#members.find(({ name }) => name === member.name);
    if (!held) throw new Error(`${member.name} was never started`);
    clearInterval(held.probing);
    held.wanted = signal === 'SIGKILL' ? signal : '0';
    held.operator.kill(signal);
    await held.operator.exited;
  }

  async records(): Promise<readonly ProcessRecord[]> {
    return await Promise.all(this.#members.map(recordOf));
  }

  async close(): Promise<void> {
    for (const { probing } of this.#members) clearInterval(probing);
    await Promise.all(this.#members.map(({ operator }) => end(operator)));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  async #way(provider: 'digitalocean' | 'cloudflare', url: string, by: Version): Promise<string> {
    const sent = this.sent[provider];
    const proxy = await startProxy(Number(new URL(url).port), (text) => {
      for (const [, request = ''] of text.matchAll(WRITE)) sent.push({ request, by });
    });
    this.#proxies.push(proxy);
    return url.replace(/:\d+$/, `:${proxy.port}`);
  }

  async #probe(member: Held): Promise<void> {
    const from = Date.now();
    // One that ends meanwhile answers nothing.
    const answer = await member.operator.metrics('/readyz').catch(() => null);
    if (!answer || member.wanted !== null) return;
    const last = member.isReady ? undefined : member.unready.pop();
    member.isReady = answer.status === 200;
    if (last) member.unready.push({ ...last, to: Date.now() });
    else if (!member.isReady) member.unready.push({ answer: `${answer.status} ${answer.text.trim()}`, from, to: Date.now() });
  }
}

async function recordOf({ name, version, operator, wanted, unready }: Held): Promise<ProcessRecord> {
  const code = wanted === null ? null : await operator.exited;
  return {
    name,
    version,
    complaints: [...operator.log.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line)), ...operator.noise],
    setAside: operator.log.filter(({ msg }) => msg.startsWith('stored records are set aside')).length,
    unready: [...unready],
    ended: wanted === null ? null : (operator.signal() ?? String(code)),
    wanted,
  };
}
