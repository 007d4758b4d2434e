import { availableParallelism, cpus } from 'node:os';

/** On what is measured. */
export const machine = () => ({ cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.versions.node });

export const describeMachine = ({ cpu, cores, node }: ReturnType<typeof machine>): string =>
  `${cores} cores of ${cpu}, Node ${node}, Redis with its append-only file`;

export const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
