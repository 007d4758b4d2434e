import type { MigrationJobInput, MigrationJobName, MigrationJobOutput } from '../../machines/migration/jobs.ts';
import type { Fence } from '../ports/fence.ts';
import type { MigrationWriter } from '../ports/migration.ts';

export interface MigrationJobContext<N extends MigrationJobName> {
  readonly input: MigrationJobInput<N>;
  readonly writer: MigrationWriter;
  readonly fence: Fence;
}

/** One try. Throws ProviderError, whose message becomes `status.message`, Fenced or Unreachable. */
export type MigrationJobBody<N extends MigrationJobName> = (
  context: MigrationJobContext<N>,
) => Promise<{ readonly kind: 'done'; readonly output: MigrationJobOutput<N> }>;

export type MigrationJobBodies = { readonly [N in MigrationJobName]: MigrationJobBody<N> };
