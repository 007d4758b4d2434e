import { randomBytes } from 'node:crypto';
import { Unreachable } from '../actors/ports/errors.ts';
import type { GenerateSecret } from '../adapters/cli/generate-secret.ts';
import { connect, type Identity } from '../adapters/kubernetes/client/connection.ts';
import { loadConfig, ownNamespace } from '../adapters/kubernetes/client/kube-config.ts';
import { ensureSecret } from '../adapters/kubernetes/writer/generated-secret.ts';
import { systemClock } from '../adapters/system/clock.ts';
import type { Terminal } from './terminal.ts';
import { untilAnswered } from './until-answered.ts';

const BYTES = 32;

/** `routedip-operator generate-secret`. Resolves with the exit code. Stopping it before the API server answers ends the process. */
export async function generateSecret(
  { secret, key, namespace, kubeconfig }: GenerateSecret,
  { out, problem }: Terminal,
  identity: Identity,
): Promise<number> {
  try {
    const config = loadConfig(kubeconfig);
    const wanted = { namespace: namespace ?? ownNamespace(config), name: secret, key };
    const connection = connect(config, identity);
    try {
      // Only an unreachable server is waited for: a refusal needs a user's fix.
      const refused = (error: unknown) => {
        if (error instanceof Unreachable) throw error;
        return { error };
      };
      const answer = await untilAnswered(() => ensureSecret(connection, wanted, () => randomBytes(BYTES).toString('hex')).catch(refused), {
        clock: systemClock(),
        stopping: new Promise(() => undefined),
        failed: (error) => problem(`waits for the API server: ${messageOf(error)}`),
      });
      if (typeof answer === 'object') throw answer?.error;
      out(`Secret ${wanted.namespace}/${secret} ${answer === 'made' ? 'was made' : 'is there'}, with the key ${key}\n`);
      return 0;
    } finally {
      await connection.close();
    }
  } catch (error) {
    problem(`the Secret ${secret} cannot be made sure of: ${messageOf(error)}`);
    return 1;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
