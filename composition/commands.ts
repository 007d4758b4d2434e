import type { Command } from 'commander';
import { addGenerateSecret } from '../adapters/cli/generate-secret.ts';
import { addMigrate } from '../adapters/cli/migrate.ts';
import { addProbe } from '../adapters/cli/probe.ts';
import { type Identity, identityOf } from '../adapters/kubernetes/client/connection.ts';
import { generateSecret } from './generate-secret.ts';
import { migrateGSM } from './migrate-gsm.ts';
import { probe } from './probe.ts';
import type { Terminal } from './terminal.ts';

/** The commands besides `run`: `add` registers them on the command line, and `asked` returns the requested one, if any. */
export function otherCommands(
  terminal: Terminal,
  version: string,
): { readonly add: (program: Command) => void; readonly asked: () => Asked | null } {
  let asked: Asked | null = null;
  const by = (purpose: string): Identity =>
    identityOf({ program: 'routedip-operator', version, purpose, fieldManager: `routedip-operator-${purpose}` });
  return {
    add: (program) => {
      addMigrate(program, (options) => {
        asked = () => migrateGSM(options, terminal, by('migrate-gsm'));
      });
      addGenerateSecret(program, (options) => {
        asked = () => generateSecret(options, terminal, by('generate-secret'));
      });
      addProbe(program, (options) => {
        asked = () => probe(options, terminal, version);
      });
    },
    asked: () => asked,
  };
}

/** Resolves with the exit code. */
type Asked = () => Promise<number>;
