import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { NodeStage } from './stage.ts';

/** Where a Service is reached in the cluster: its address is one that kube-proxy's rules know. */
export async function serviceUrl({ client }: NodeStage, namespace: string, name: string): Promise<string> {
  const { spec } = (await client.get({ apiVersion: 'v1', kind: 'Service', namespace, name })) as unknown as {
    readonly spec: { readonly clusterIP: string; readonly ports: readonly [{ readonly port: number }] };
  };
  return `http://${spec.clusterIP}:${spec.ports[0].port}`;
}

/** Forwards a free port of loopback, as `kubectl port-forward TARGET :PORT` does, while `use` runs with its URL. */
export async function forwarded(
  stage: NodeStage,
  namespace: string,
  target: string,
  port: number,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const args = ['--kubeconfig', stage.kubeconfig, '--namespace', namespace, 'port-forward', target, `:${port}`];
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface(child.stdout)) {
      const [, found] = /127\.0\.0\.1:(\d+) ->/.exec(line) ?? [];
      if (found === undefined) continue;
      await use(`http://127.0.0.1:${found}`);
      return;
    }
    throw new Error(`kubectl port-forward ${target} ended before it forwarded anything`);
  } finally {
    child.kill();
    await ended;
  }
}
