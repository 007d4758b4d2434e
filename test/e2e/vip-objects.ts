import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { staged } from './served.ts';
import type { Stage } from './stage.ts';

const GROUP = 'paas.org/v1';

/** Services of type LoadBalancer and IPGroups on a stage, and what is there of them. */
export class Vips {
  readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  get #client(): Stage['target']['client'] {
    return this.stage.target.client;
  }

  start(flags: readonly string[] = []) {
    return this.stage.start({ flags: ['--controllers=vip', ...flags] });
  }

  async group(name: string, segment: string, excludedIPs: readonly string[] = []): Promise<void> {
    await this.#client.create({
      apiVersion: GROUP,
      kind: 'IPGroup',
      metadata: { name },
      spec: { segment, excludedIPs },
    } as unknown as JsonObject);
  }

  removeGroup(name: string): Promise<unknown> {
    return this.#client.delete({ apiVersion: GROUP, kind: 'IPGroup', name });
  }

  async service(name: string, spec: JsonObject = {}): Promise<void> {
    const ports = [{ name: 'web', port: 80, targetPort: 8080, protocol: 'TCP' }];
    await this.#client.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default' },
      spec: { type: 'LoadBalancer', selector: { app: name }, ports, ...spec },
    } as unknown as JsonObject);
  }

  patch(name: string, change: JsonObject): Promise<unknown> {
    return this.#client.patch({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name }, change);
  }

  remove(name: string): Promise<unknown> {
    return this.#client.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name });
  }

  async find(name: string): Promise<JsonObject | null> {
    return this.#client.get({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name }).then(
      (found) => found as unknown as JsonObject,
      () => null,
    );
  }

  /** The addresses that the Service lists, joined by a blank. */
  async listed(name: string): Promise<string> {
    const found = (await this.find(name)) as { status?: { loadBalancer?: { ingress?: readonly { ip?: string }[] } } } | null;
    return (found?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? '-').join(' ');
  }

  /** Address → owner of all IPs. */
  async reserved(): Promise<Readonly<Record<string, string>>> {
    const items = await this.#client.list(GROUP, 'IP');
    return Object.fromEntries(
      items.map(({ metadata }) => [
        metadata.name,
        (metadata.annotations as Record<string, string> | undefined)?.['virtualips.paas.il/owner'] ?? '',
      ]),
    );
  }

  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    return this.stage.until(what, holds);
  }

  async listing(name: string, address: string): Promise<void> {
    await this.until(`Service ${name} lists ${address || 'nothing'}`, async () => (await this.listed(name)) === address);
  }
}

/** A stage for Services for each test of the file. */
export function vipStage() {
  const { stage, target } = staged();
  return { vips: () => new Vips(stage()), target };
}
