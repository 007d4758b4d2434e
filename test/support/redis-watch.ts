import { monitorRedis } from './redis-monitor.ts';

/** A script of the record store that runs under a term, as Redis has seen it. */
export interface ScriptRun {
  /** The term that the caller writes under. */
  readonly term: number;
  /** Whether it has changed anything. */
  readonly wrote: boolean;
}

export interface ScriptWatch {
  /** Oldest first, since the watch began. */
  readonly runs: readonly ScriptRun[];
  close(): void;
}

/** What the scripts of ours only read with; every other command in them writes. */
const READS: ReadonlySet<string> = new Set(['hget', 'hlen', 'hmget', 'hgetall', 'hkeys', 'hexists', 'llen', 'lrange']);

/** Follows what reaches Redis, by MONITOR: each call that names the key of the term and bears a term, and whether it was let write. */
export async function watchScripts(url: string): Promise<ScriptWatch> {
  const runs: { term: number; wrote: boolean }[] = [];
  let open: { term: number; wrote: boolean } | null = null;
  // Redis runs one script at a time: the commands of a script follow it at once.
  const close = await monitorRedis(url, ({ args, source }) => {
    const [command = '', , count = '0', first = ''] = args;
    if (source === 'lua') {
      if (open && !READS.has(command.toLowerCase())) open.wrote = true;
      return;
    }
    const term = Number(args[3 + Number(count)]);
    const isOurs = /^eval(sha)?$/i.test(command) && /^\{[^{}]+\}:meta$/.test(first) && Number.isInteger(term);
    open = isOurs ? { term, wrote: false } : null;
    if (open) runs.push(open);
  });
  return { runs, close };
}
