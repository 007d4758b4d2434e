import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { giveToken, rolledOut } from '../node/install.ts';
import { OPERATOR, podsOf, untilLed } from '../node/pods.ts';
import { callsCloud, NAMESPACE, type NodeStage } from '../node/stage.ts';
import type { Builds } from '../upgrade/builds.ts';
import type { ProcessRecord, Version } from '../upgrade/history.ts';

const DEPLOYMENT = 'deployment/routedip-operator';

/** Two versions of the operator as Deployments of one cluster: each from its own manifests, with its own image. */
export class Deployed {
  readonly #stage: NodeStage;
  readonly #builds: Builds;
  readonly #complaints = new Map<string, ProcessRecord>();

  constructor(stage: NodeStage, builds: Builds) {
    this.#stage = stage;
    this.#builds = builds;
  }

  /** Into a cluster without one. */
  async install(version: Version): Promise<void> {
    await this.#stage.kubectl('apply', '--filename', join(this.#builds.folder[version], 'deploy/namespace.yaml'));
    await giveToken(this.#stage);
    await this.apply(version);
  }

  /** Everything of a version, definitions and roles too. Resolves when its Deployment is rolled out. */
  async apply(version: Version): Promise<void> {
    await this.#stage.kubectl('apply', '--kustomize', this.#overlay(version));
    await rolledOut(this.#stage);
  }

  /** The Deployment alone goes back to what it was before. */
  async undo(): Promise<void> {
    await this.#stage.kubectl('--namespace', NAMESPACE, 'rollout', 'undo', DEPLOYMENT);
    await rolledOut(this.#stage);
  }

  async restart(): Promise<void> {
    await this.#stage.kubectl('--namespace', NAMESPACE, 'rollout', 'restart', DEPLOYMENT);
    await rolledOut(this.#stage);
  }

  async uninstall(version: Version): Promise<void> {
    await this.#stage.kubectl('delete', '--kustomize', this.#overlay(version), '--ignore-not-found');
  }

  /** The version of all replicas. @throws Error when they are not of one */
  async version(): Promise<Version> {
    const images = (await podsOf(this.#stage, OPERATOR)).map(({ spec }) => spec.containers[0]?.image ?? '');
    const [version, ...others] = new Set(images.map((image) => image.replace(/.*:/s, '')));
    if ((version !== 'old' && version !== 'new') || others.length > 0) throw new Error(`the replicas are of ${images.join(', ')}`);
    return version;
  }

  /** Whoever leads now does so with the records taken over. */
  async led(): Promise<string> {
    const { metadata } = await untilLed(this.#stage);
    await this.#stage.until('the leader is ready', async () =>
      (await podsOf(this.#stage, OPERATOR)).every(({ status }) => status.containerStatuses?.every(({ ready }) => ready) ?? false),
    );
    return metadata.name;
  }

  /** Notes what the replicas that run now have complained of so far: their logs go with them. */
  async listen(version: Version): Promise<void> {
    for (const { metadata, status } of await podsOf(this.#stage, OPERATOR)) {
      const log = (await this.#stage.kubectl('--namespace', NAMESPACE, 'logs', metadata.name, '--tail=-1')).trim().split('\n');
      const restarts = status.containerStatuses?.reduce((sum, { restartCount }) => sum + restartCount, 0) ?? 0;
      this.#complaints.set(metadata.name, {
        name: metadata.name,
        version,
        complaints: [...log.filter(isComplaint), ...(restarts > 0 ? [`it was restarted ${restarts} times`] : [])],
        setAside: log.filter((line) => line.includes('stored records are set aside')).length,
        unready: [],
        ended: null,
        wanted: null,
      });
    }
  }

  get records(): readonly ProcessRecord[] {
    return [...this.#complaints.values()];
  }

  #overlay(version: Version): string {
    const path = mkdtempSync(join(tmpdir(), `overlay-${version}-`));
    const kustomization = {
      resources: [relative(path, join(this.#builds.folder[version], 'deploy'))],
      images: [{ name: 'routedip-operator', newTag: version }],
      patches: [callsCloud(this.#stage.cloud.url)],
    };
    writeFileSync(join(path, 'kustomization.yaml'), stringify(kustomization));
    return path;
  }
}

function isComplaint(line: string): boolean {
  try {
    return (JSON.parse(line) as { readonly level: string }).level === 'error';
  } catch {
    return true;
  }
}
